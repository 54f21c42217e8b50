"""The key that caused most work in a task, so that a key too busy for any slot can be named."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from rheostat.elastic.routing.table import shards_of
from rheostat.keyed.call_result import CallResult
from rheostat.topology.nodes import Process
from rheostat.windows.window_layout import HASH


def hottest_key(
    process: Process, rows: Mapping[str, pl.DataFrame], result: CallResult, shards: int
) -> tuple[int, str, float]:
    """The key with most work in the busiest shard: the shard, the key in words, and its share of the task's work.

    Args:
        process: the operator.
        rows: per stream, the rows it was called with.
        result: what the call gave; work is its measured seconds, or the number of rows if there are none.
        shards: the number of shards.
    """
    frame = rows[process.upstream] if len(rows[process.upstream]) else max(rows.values(), key=len)
    if result.costs is not None:
        hashes, weights = result.costs
    else:
        hashes = frame[HASH].to_numpy()
        weights = np.ones(len(hashes))
    where = shards_of(hashes, shards)
    busiest = int(np.bincount(where, weights=weights, minlength=shards).argmax())
    inside = where == busiest
    names, index = np.unique(hashes[inside], return_inverse=True)
    sums = np.bincount(index, weights=weights[inside])
    hottest = int(names[int(sums.argmax())])
    found = frame.filter(pl.col(HASH) == hottest).select(f"r.{k}" for k in process.keys).head(1).rows()
    text = ", ".join(f"{k}={v!r}" for k, v in zip(process.keys, found[0], strict=True)) if found else ""
    return busiest, text, float(sums.max() / max(float(weights.sum()), 1e-12))
