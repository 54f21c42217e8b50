"""Sketches as partials: made by Spark in the JVM, merged here by the library both sides share.

Spark's sketch functions and the ``datasketches`` package write the same bytes, so nothing is converted. A merge of
sketches is a Python call per group, not per row; groups of one sketch are passed through untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import datasketches as ds
import polars as pl

from rheostat.windows.partials import Column, Partial, quoted

_ACCURATE = ds.frequent_items_error_type.NO_FALSE_NEGATIVES


@dataclass(frozen=True)
class Sketch(Partial):
    """A binary column that holds one sketch per key and granule."""

    column: str

    @property
    def _column(self) -> Column:
        settings = ",".join(str(v) for name, v in vars(self).items() if name != "column")
        return Column(f"p.{type(self).__name__.lower()}({self.column},{settings})", "binary")

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self._column,)

    @property
    def sql(self) -> tuple[str, ...]:
        raise NotImplementedError

    def merge(self) -> list[pl.Expr]:
        def merge_group(series: Sequence[pl.Series]) -> bytes | None:
            blobs = series[0].drop_nulls().to_list()
            if len(blobs) > 1:
                return self.union(blobs)
            return blobs[0] if blobs else None

        name = self._column.name
        merged = pl.map_groups([name], merge_group, return_dtype=pl.Binary, returns_scalar=True)
        return [merged.alias(name)]

    def union(self, blobs: list[bytes]) -> bytes:
        """One sketch of everything the given ones have seen."""
        raise NotImplementedError


@dataclass(frozen=True)
class Distinct(Sketch):
    """A HyperLogLog sketch. Relative error about 1.04 / sqrt(2 ** lg_k): 1.6 % at 12."""

    cast: str
    lg_k: int = 12

    @property
    def sql(self) -> tuple[str, ...]:
        return (f"hll_sketch_agg(cast({quoted(self.column)} as {self.cast}), {self.lg_k})",)

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        return (f"hll_union_agg({quoted(self._column.name)}, true)",)

    def union(self, blobs: list[bytes]) -> bytes:
        union = ds.hll_union(self.lg_k)
        for blob in blobs:
            union.update(ds.hll_sketch.deserialize(blob))
        return bytes(union.get_result(ds.HLL_8).serialize_updatable())

    @staticmethod
    def estimate(blob: bytes) -> int:
        """About how many distinct values the sketch has seen."""
        estimate: float = ds.hll_sketch.deserialize(blob).get_estimate()
        return round(estimate)


@dataclass(frozen=True)
class Quantile(Sketch):
    """A KLL sketch of doubles. Rank error about 1.33 % at k = 200."""

    k: int = 200

    @property
    def sql(self) -> tuple[str, ...]:
        return (f"kll_sketch_agg_double(cast({quoted(self.column)} as double), {self.k})",)

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        return (f"kll_merge_agg_double({quoted(self._column.name)}, {self.k})",)

    def union(self, blobs: list[bytes]) -> bytes:
        merged = ds.kll_doubles_sketch.deserialize(blobs[0])
        for blob in blobs[1:]:
            merged.merge(ds.kll_doubles_sketch.deserialize(blob))
        return bytes(merged.serialize())

    @staticmethod
    def estimate(blob: bytes, ranks: Sequence[float]) -> list[float] | None:
        """The values at these ranks, or None if the sketch has seen nothing."""
        sketch = ds.kll_doubles_sketch.deserialize(blob)
        if sketch.is_empty():
            return None
        # The smallest and largest value are known exactly, but are not among the values the sketch retains.
        ends = {0.0: sketch.get_min_value(), 1.0: sketch.get_max_value()}
        return [float(ends[r] if r in ends else sketch.get_quantile(r, True)) for r in ranks]


@dataclass(frozen=True)
class Frequent(Sketch):
    """A frequent-items sketch: counts of the most frequent values, never below the truth by more than its error."""

    cast: str
    capacity: int = 1_000

    @property
    def sql(self) -> tuple[str, ...]:
        return (f"approx_top_k_accumulate(cast({quoted(self.column)} as {self.cast}), {self.capacity}).sketch",)

    def union(self, blobs: list[bytes]) -> bytes:
        merged = self._read(blobs[0])
        for blob in blobs[1:]:
            merged.merge(self._read(blob))
        return bytes(merged.serialize() if self.cast == "string" else merged.serialize(ds.PyLongsSerDe()))

    def _read(self, blob: bytes) -> Any:
        if self.cast == "string":
            return ds.frequent_strings_sketch.deserialize(blob)
        return ds.frequent_items_sketch.deserialize(blob, ds.PyLongsSerDe())

    def estimate(self, blob: bytes, k: int) -> list[dict[str, Any]]:
        """The k most frequent values with their estimated counts; equal counts in order of the value."""
        items = self._read(blob).get_frequent_items(_ACCURATE)
        ranked = sorted(((item, count) for item, count, *_ in items), key=lambda pair: (-pair[1], pair[0]))
        return [{"item": item, "count": int(count)} for item, count in ranked[:k]]
