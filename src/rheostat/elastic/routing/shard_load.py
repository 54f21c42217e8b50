"""How much work every shard causes, from what the slots measured: means in which older epochs fade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

HALF_LIFE = 2.0
"""Epochs after which a measurement counts half: quick enough to follow a shift, slow enough not to follow noise."""


@dataclass(frozen=True)
class ShardLoads:
    """Useful seconds and rows per epoch and shard of one component.

    >>> loads = ShardLoads.none(4).with_epoch({1: 3.0})
    >>> loads.seconds.tolist()
    [0.0, 3.0, 0.0, 0.0]
    >>> loads.with_epoch({1: 1.0}).to_pairs()
    ((1, 2.41),)
    """

    seconds: npt.NDArray[np.float64]
    epochs: int = 0
    rows: npt.NDArray[np.float64] | None = None

    @classmethod
    def none(cls, shards: int) -> ShardLoads:
        """Nothing measured yet."""
        return cls(np.zeros(shards))

    @classmethod
    def of(cls, shards: int, seconds: Iterable[tuple[int, float]]) -> ShardLoads:
        """As a checkpoint remembers it: shards that had any, and their seconds."""
        loads = _dense(dict(seconds), shards)
        return cls(loads, int(loads.any()))

    def with_epoch(self, measured: Mapping[int, float], rows: Mapping[int, int] | None = None) -> ShardLoads:
        """After one more epoch: useful seconds by shard, and rows where they are known."""
        keep = 0.5 ** (1 / HALF_LIFE) if self.epochs else 0.0
        seconds = keep * self.seconds + (1 - keep) * _dense(measured, len(self.seconds))
        counted = keep * (self.rows if self.rows is not None else 0.0)
        return ShardLoads(seconds, self.epochs + 1, counted + (1 - keep) * _dense(rows or {}, len(self.seconds)))

    def expected(self, rows: Mapping[int, int]) -> npt.NDArray[np.float64]:
        """What rows that are already counted will cost, by what a row of their shard, or of any, cost before.

        >>> known = ShardLoads.none(3).with_epoch({0: 1.0, 1: 3.0}, {0: 10, 1: 10})
        >>> known.expected({0: 20, 1: 10, 2: 5}).round(2).tolist()
        [2.0, 3.0, 1.0]
        """
        counted = _dense(rows, len(self.seconds))
        if self.rows is None or not self.rows.any():
            return counted
        usual = self.seconds.sum() / self.rows.sum()
        per_row: npt.NDArray[np.float64] = np.divide(
            self.seconds, self.rows, out=np.full(len(counted), usual), where=self.rows > 0
        )
        return counted * per_row

    def to_pairs(self) -> tuple[tuple[int, float], ...]:
        """The shards that have any load, to about three digits, which is more than was measured."""
        return tuple((int(s), float(f"{self.seconds[s]:.3g}")) for s in np.flatnonzero(self.seconds))


def _dense(values: Mapping[int, float], size: int) -> npt.NDArray[np.float64]:
    dense = np.zeros(size)
    for place, value in values.items():
        dense[place] = value
    return dense
