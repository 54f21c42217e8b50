"""The key that caused the most work in a task, so that a key too busy for any slot can be named."""

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
    """The key with the most work in the busiest shard: the shard, the key in words, and its share of the task's work.

    Args:
        process: the operator.
        rows: by stream, the rows of the call; at least one stream has rows.
        result: the result of the call. Work is its measured seconds, or the number of rows if there are none.
        shards: the number of shards.
    """
    if result.costs is not None:
        hashes, weights = result.costs
    else:
        hashes = np.concatenate([frame[HASH].to_numpy() for frame in rows.values()])
        weights = np.ones(len(hashes))
    shard_of = shards_of(hashes, shards)
    busiest = int(np.bincount(shard_of, weights=weights, minlength=shards).argmax())
    in_shard = shard_of == busiest
    keys, key_of = np.unique(hashes[in_shard], return_inverse=True)
    work = np.bincount(key_of, weights=weights[in_shard])
    share = float(work.max() / max(float(weights.sum()), 1e-12))
    return busiest, _describe(process, rows, int(keys[int(work.argmax())])), share


def _describe(process: Process, rows: Mapping[str, pl.DataFrame], key_hash: int) -> str:
    """The values of the key with this hash, as in ``word='a'``."""
    for frame in rows.values():
        values = frame.filter(pl.col(HASH) == key_hash).select(f"r.{k}" for k in process.keys).head(1).rows()
        if values:
            return ", ".join(f"{k}={v!r}" for k, v in zip(process.keys, values[0], strict=True))
    return ""
