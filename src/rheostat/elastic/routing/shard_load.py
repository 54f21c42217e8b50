"""How much work every shard causes: moving means of what the slots measured, epoch by epoch."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.smoothing import LOAD_HALF_LIFE, blend, share_of

_LEAST = 1e-19
"""Seconds below which a load is none."""


@dataclass(frozen=True, eq=False)
class ShardLoads:
    """Useful seconds and rows of every shard of one operator, as means per epoch.

    Attributes:
        seconds: useful seconds per epoch, by shard.
        epochs: the number of epochs measured.
        rows: rows per epoch, by shard; None if rows were never counted.

    >>> loads = ShardLoads.none(4).with_epoch(np.array([0.0, 3.0, 0.0, 0.0]))
    >>> loads.seconds.tolist()
    [0.0, 3.0, 0.0, 0.0]
    >>> loads.with_epoch(np.array([0.0, 1.0, 0.0, 0.0])).seconds.round(2).tolist()
    [0.0, 2.41, 0.0, 0.0]
    >>> ShardLoads.of_text(4, loads.to_text()).seconds.tolist()
    [0.0, 3.0, 0.0, 0.0]
    """

    seconds: Floats
    epochs: int = 0
    rows: Floats | None = None

    @classmethod
    def none(cls, shards: int) -> ShardLoads:
        """Return loads before the first measurement."""
        return cls(np.zeros(shards))

    @classmethod
    def of(cls, shards: int, seconds: Iterable[tuple[int, float]]) -> ShardLoads:
        """Return loads from pairs of a shard and its seconds; shards that are not among them had no load."""
        loads = dense(dict(seconds), shards)
        return cls(loads, int(loads.any()))

    @classmethod
    def of_text(cls, shards: int, text: str) -> ShardLoads:
        """Return loads from what ``to_text`` gave; shards that are not in it had no load."""
        known = np.frombuffer(base64.b64decode(text), "<f4")
        loads = np.zeros(shards)
        loads[: len(known)] = known[:shards]
        return cls(loads, int(loads.any()))

    def with_epoch(self, measured: Floats, rows: Floats | None = None) -> ShardLoads:
        """Return the loads after one more epoch.

        The first epoch whose rows are counted replaces all earlier ones. Seconds of earlier epochs, as a checkpoint
        remembers them, belong to rows that nobody counted, and would make these rows look expensive.

        Args:
            measured: useful seconds of the epoch, by shard.
            rows: rows of the epoch, by shard; None if they were not counted.
        """
        first = self.epochs == 0 or (self.rows is None and rows is not None)
        share = 1.0 if first else share_of(LOAD_HALF_LIFE)
        seconds = blend(self.seconds, measured, share)
        if rows is None:
            return ShardLoads(seconds, self.epochs + 1, self.rows)
        before = np.zeros(len(rows)) if self.rows is None else self.rows
        return ShardLoads(seconds, self.epochs + 1, blend(before, rows, share))

    def expected(self, rows: Floats) -> Floats:
        """Return the useful seconds to expect of counted rows, by shard.

        A row costs what a row of its shard has cost so far, or of any shard if its own had none. Without any measured
        cost, the rows themselves are returned.

        Args:
            rows: rows to come, by shard.

        >>> known = ShardLoads.none(3).with_epoch(np.array([1.0, 3.0, 0.0]), np.array([10.0, 10.0, 0.0]))
        >>> known.expected(np.array([20.0, 10.0, 5.0])).round(2).tolist()
        [2.0, 3.0, 1.0]
        """
        if self.rows is None or not self.rows.any():
            return rows
        usual = self.seconds.sum() / self.rows.sum()
        per_row: Floats = np.divide(self.seconds, self.rows, out=np.full(len(rows), usual), where=self.rows > 0)
        return rows * per_row

    def to_text(self) -> str:
        """Return the seconds of every shard as short text for a manifest, exact to seven digits; see ``of_text``."""
        seconds = np.where(self.seconds < _LEAST, 0.0, self.seconds)
        return base64.b64encode(seconds.astype("<f4").tobytes()).decode()


def dense(values: Mapping[int, float], shards: int) -> Floats:
    """Return values by shard as an array, with 0 for shards that have none.

    >>> dense({1: 2.5}, 3).tolist()
    [0.0, 2.5, 0.0]
    """
    array = np.zeros(shards)
    for shard, value in values.items():
        array[shard] = value
    return array


def spread_over_shards(useful: Floats, rows: Floats, routing: Ints) -> Floats:
    """Return useful seconds by shard where only whole slots were measured: each slot's seconds in proportion to rows.

    Args:
        useful: useful seconds, by slot.
        rows: completed rows, by shard.
        routing: the slot of every shard.

    >>> spread_over_shards(np.array([3.0, 1.0]), np.array([4.0, 2.0, 7.0]), np.array([0, 0, 1])).tolist()
    [2.0, 1.0, 1.0]
    """
    totals = np.bincount(routing, weights=rows, minlength=len(useful))
    per_row: Floats = np.divide(useful, totals, out=np.zeros(len(useful)), where=totals > 0)
    return rows * per_row[routing]
