"""Processors that tests share, and what they must give."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

import rheostat as rh
from tests.spark.streams import Batches

RUNNING_STATE = rh.keyed_state("n bigint, s bigint, last bigint")
RUNNING_SCHEMA = "key string, n bigint, s bigint, last bigint"
TRACE_SCHEMA = "key string, n bigint, history string"


def running(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count, sum and last value per key since the beginning, over whole frames."""
    new = rows.group_by("key").agg(dn=pl.len().cast(pl.Int64), ds=pl.col("value").sum(), dl=pl.col("value").last())
    both = new.join(state, on="key", how="left", nulls_equal=True).select(
        "key",
        n=pl.col("dn") + pl.col("n").fill_null(0),
        s=pl.col("ds") + pl.col("s").fill_null(0),
        last=pl.col("dl"),
    )
    return both, both


class Trace(rh.KeyProcessor):
    """Every key's values in the order they came: the last five, and all of them by value."""

    n = rh.value("bigint", default=0)
    recent = rh.list_of("bigint")
    seen = rh.ordered_map("bigint", "bigint")

    def process(self, key: Any, rows: Any, context: rh.Context) -> Iterable[Any]:
        for row in rows:
            self.n += 1
            self.recent.append(row.value)
            self.seen[row.value] = self.seen.get(row.value, 0) + 1
            yield key.key, self.n, f"{self.recent} {dict(self.seen)}"
        self.recent = self.recent[-5:]


def expected_running(batches: Batches) -> pl.DataFrame:
    """The rows ``running`` gives over batches, epoch by epoch."""
    totals: dict[Any, tuple[int, int, int]] = {}
    out = []
    for frame in batches.frames:
        touched: dict[Any, None] = {}
        for _, key, value in frame.select("ts", "key", "value").rows():
            n, s, _ = totals.get(key, (0, 0, 0))
            totals[key] = (n + 1, s + value, value)
            touched[key] = None
        out += [(key, *totals[key]) for key in touched]
    return _frame(out, ["key", "n", "s", "last"])


def expected_trace(batches: Batches) -> pl.DataFrame:
    """The rows ``Trace`` gives over batches."""
    state: dict[Any, tuple[int, list[int], dict[int, int]]] = {}
    out = []
    for frame in batches.frames:
        touched = set()
        for _, key, value in frame.select("ts", "key", "value").rows():
            n, recent, seen = state.get(key, (0, [], {}))
            if key not in touched:
                recent = recent[-5:]
                touched.add(key)
            recent = [*recent, value]
            seen = dict(sorted({**seen, value: seen.get(value, 0) + 1}.items()))
            state[key] = (n + 1, recent, seen)
            out.append((key, n + 1, f"{recent} {seen}"))
    return _frame(out, ["key", "n", "history"])


def same(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    """Whether two frames have the same rows, in any order."""
    columns = sorted(right.columns)
    a, b = (f.select(columns).sort(columns, nulls_last=True) for f in (left, right))
    return a.equals(b)


def _frame(rows: list[tuple[Any, ...]], names: list[str]) -> pl.DataFrame:
    types = {"key": pl.String, "history": pl.String}
    return pl.DataFrame(rows, schema={n: types.get(n, pl.Int64) for n in names}, orient="row")
