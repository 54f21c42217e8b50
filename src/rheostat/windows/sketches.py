"""Sketches as partials: Spark builds them in the JVM, the ``datasketches`` package merges them here.

Both write the same bytes, so nothing is converted. Merging sketches takes a Python call per group, not per row; groups
of a single sketch are returned unchanged.

``datasketches`` belongs to the extra ``sketches`` and is imported with the first sketch. So a missing package fails on
the driver, at the operator that declares the aggregate, and queries without sketches never import it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rheostat.extras import load
from rheostat.windows.partials import Column, Partial, quoted


def _datasketches() -> Any:
    return load("datasketches", "rh.approx_distinct, rh.quantiles and rh.top_k")


@dataclass(frozen=True)
class Sketch(Partial):
    """A binary column that holds one sketch per key and granule.

    Attributes:
        column: the input column.

    Raises:
        SetupError: the package ``datasketches`` is not installed.
    """

    column: str

    def __post_init__(self) -> None:
        _datasketches()

    @property
    def _column(self) -> Column:
        settings = ",".join(str(v) for name, v in vars(self).items() if name != "column")
        return Column(f"p.{type(self).__name__.lower()}({self.column},{settings})", "binary")

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self._column,)

    def merge(self) -> list[pl.Expr]:
        def merge_group(series: Sequence[pl.Series]) -> bytes | None:
            blobs = series[0].drop_nulls().to_list()
            if len(blobs) > 1:
                return self.union(blobs)
            return blobs[0] if blobs else None

        name = self._column.name
        merged = pl.map_groups([name], merge_group, return_dtype=pl.Binary, returns_scalar=True)
        return [merged.alias(name)]

    @abstractmethod
    def union(self, blobs: list[bytes]) -> bytes:
        """One sketch that has seen the values of all given sketches."""


@dataclass(frozen=True)
class Distinct(Sketch):
    """A HyperLogLog sketch: the approximate number of distinct values of a column.

    Attributes:
        cast: the Spark SQL type that values are cast to before they are hashed.
        lg_k: precision; the relative error is about 1.04 / sqrt(2 ** lg_k), 1.6 % at 12.
    """

    cast: str
    lg_k: int = 12

    @property
    def sql(self) -> tuple[str, ...]:
        return (f"hll_sketch_agg(cast({quoted(self.column)} as {self.cast}), {self.lg_k})",)

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        return (f"hll_union_agg({quoted(self._column.name)}, true)",)

    def union(self, blobs: list[bytes]) -> bytes:
        ds = _datasketches()
        union = ds.hll_union(self.lg_k)
        for blob in blobs:
            union.update(ds.hll_sketch.deserialize(blob))
        return bytes(union.get_result(ds.HLL_8).serialize_updatable())

    @staticmethod
    def estimate(blob: bytes) -> int:
        """The approximate number of distinct values that the sketch has seen."""
        estimate: float = _datasketches().hll_sketch.deserialize(blob).get_estimate()
        return round(estimate)


@dataclass(frozen=True)
class Quantile(Sketch):
    """A KLL sketch of doubles: approximate quantiles of a column.

    Attributes:
        k: precision; the rank error is about 1.33 % at 200.
    """

    k: int = 200

    @property
    def sql(self) -> tuple[str, ...]:
        return (f"kll_sketch_agg_double(cast({quoted(self.column)} as double), {self.k})",)

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        return (f"kll_merge_agg_double({quoted(self._column.name)}, {self.k})",)

    def union(self, blobs: list[bytes]) -> bytes:
        read = _datasketches().kll_doubles_sketch.deserialize
        merged = read(blobs[0])
        for blob in blobs[1:]:
            merged.merge(read(blob))
        return bytes(merged.serialize())

    @staticmethod
    def estimate(blob: bytes, ranks: Sequence[float]) -> list[float] | None:
        """The values at these ranks, from 0 to 1; None if the sketch has seen no values."""
        sketch = _datasketches().kll_doubles_sketch.deserialize(blob)
        if sketch.is_empty():
            return None
        # The sketch knows the smallest and the largest value exactly, but its quantiles do not use them.
        ends = {0.0: sketch.get_min_value(), 1.0: sketch.get_max_value()}
        return [float(ends[r] if r in ends else sketch.get_quantile(r, True)) for r in ranks]


@dataclass(frozen=True)
class Frequent(Sketch):
    """A frequent-items sketch: approximate counts of the most frequent values of a column.

    Attributes:
        cast: ``string`` or ``bigint``, the Spark SQL type that values are cast to.
        capacity: how many values the sketch tracks.
    """

    cast: str
    capacity: int = 1_000

    @property
    def sql(self) -> tuple[str, ...]:
        return (f"approx_top_k_accumulate(cast({quoted(self.column)} as {self.cast}), {self.capacity}).sketch",)

    def union(self, blobs: list[bytes]) -> bytes:
        ds = _datasketches()
        merged = self._read(ds, blobs[0])
        for blob in blobs[1:]:
            merged.merge(self._read(ds, blob))
        return bytes(merged.serialize() if self.cast == "string" else merged.serialize(ds.PyLongsSerDe()))

    def _read(self, ds: Any, blob: bytes) -> Any:
        if self.cast == "string":
            return ds.frequent_strings_sketch.deserialize(blob)
        return ds.frequent_items_sketch.deserialize(blob, ds.PyLongsSerDe())

    def estimate(self, blob: bytes, k: int) -> list[dict[str, Any]]:
        """The k most frequent values with their estimated counts; values with equal counts are sorted."""
        ds = _datasketches()
        items = self._read(ds, blob).get_frequent_items(ds.frequent_items_error_type.NO_FALSE_NEGATIVES)
        ranked = sorted(((item, count) for item, count, *_ in items), key=lambda pair: (-pair[1], pair[0]))
        return [{"item": item, "count": int(count)} for item, count in ranked[:k]]
