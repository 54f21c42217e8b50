"""How much work every shard causes, from what the slots measured: means in which older epochs fade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.smoothing import LOAD_HALF_LIFE, blend, share_of


@dataclass(frozen=True, eq=False)
class ShardLoads:
    """Useful seconds and rows per epoch and shard of one operator.

    Attributes:
        seconds: useful seconds of every shard.
        epochs: how many epochs were measured.
        rows: rows of every shard, where they were counted; None before that.

    >>> loads = ShardLoads.none(4).with_epoch(np.array([0.0, 3.0, 0.0, 0.0]))
    >>> loads.seconds.tolist()
    [0.0, 3.0, 0.0, 0.0]
    >>> loads.with_epoch(np.array([0.0, 1.0, 0.0, 0.0])).to_pairs()
    ((1, 2.41),)
    """

    seconds: Floats
    epochs: int = 0
    rows: Floats | None = None

    @classmethod
    def none(cls, shards: int) -> ShardLoads:
        """Nothing measured yet."""
        return cls(np.zeros(shards))

    @classmethod
    def of(cls, shards: int, seconds: Iterable[tuple[int, float]]) -> ShardLoads:
        """As a checkpoint remembers it: shards that had any load, and their seconds."""
        loads = dense(dict(seconds), shards)
        return cls(loads, int(loads.any()))

    def with_epoch(self, measured: Floats, rows: Floats | None = None) -> ShardLoads:
        """After one more epoch: useful seconds by shard, and rows if they were counted."""
        share = share_of(LOAD_HALF_LIFE) if self.epochs else 1.0
        before, counted = (v if v is not None else np.zeros(len(self.seconds)) for v in (self.rows, rows))
        return ShardLoads(blend(self.seconds, measured, share), self.epochs + 1, blend(before, counted, share))

    def expected(self, rows: Floats) -> Floats:
        """What rows that are already counted will cost, by what a row of their shard, or of any, cost before.

        Without a measured cost per row, the rows themselves.

        >>> known = ShardLoads.none(3).with_epoch(np.array([1.0, 3.0, 0.0]), np.array([10.0, 10.0, 0.0]))
        >>> known.expected(np.array([20.0, 10.0, 5.0])).round(2).tolist()
        [2.0, 3.0, 1.0]
        """
        if self.rows is None or not self.rows.any():
            return rows
        usual = self.seconds.sum() / self.rows.sum()
        per_row: Floats = np.divide(self.seconds, self.rows, out=np.full(len(rows), usual), where=self.rows > 0)
        return rows * per_row

    def to_pairs(self) -> tuple[tuple[int, float], ...]:
        """The shards that have any load, to three digits, which is more than was measured."""
        return tuple((int(s), float(f"{self.seconds[s]:.3g}")) for s in np.flatnonzero(self.seconds))


def dense(values: Mapping[int, float], shards: int) -> Floats:
    """Values by shard as an array, with 0 for shards that have none.

    >>> dense({1: 2.5}, 3).tolist()
    [0.0, 2.5, 0.0]
    """
    found = np.zeros(shards)
    for shard, value in values.items():
        found[shard] = value
    return found


def spread_over_shards(useful: Floats, rows: Floats, routing: Ints) -> Floats:
    """Useful seconds by shard, where only those of slots were measured: each slot's, in proportion to rows.

    >>> spread_over_shards(np.array([3.0, 1.0]), np.array([4.0, 2.0, 7.0]), np.array([0, 0, 1])).tolist()
    [2.0, 1.0, 1.0]
    """
    totals = np.bincount(routing, weights=rows, minlength=len(useful))
    per_row: Floats = np.divide(useful, totals, out=np.zeros(len(useful)), where=totals > 0)
    return rows * per_row[routing]
