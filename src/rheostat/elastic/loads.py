"""How much work every shard causes, from what the slots measured: a mean in which older epochs fade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

HALF_LIFE = 2.0
"""Epochs after which a measurement counts half: quick enough to follow a shift, slow enough not to follow noise."""


@dataclass(frozen=True)
class ShardLoads:
    """Useful seconds per epoch and shard of one component.

    >>> loads = ShardLoads.none(4).with_epoch({1: 3.0})
    >>> loads.seconds.tolist()
    [0.0, 3.0, 0.0, 0.0]
    >>> loads.with_epoch({1: 1.0}).to_pairs()
    ((1, 2.41),)
    """

    seconds: npt.NDArray[np.float64]
    epochs: int = 0

    @classmethod
    def none(cls, shards: int) -> ShardLoads:
        """Nothing measured yet."""
        return cls(np.zeros(shards))

    @classmethod
    def of(cls, shards: int, seconds: Iterable[tuple[int, float]]) -> ShardLoads:
        """As a checkpoint remembers it: shards that had any, and their seconds."""
        loads = np.zeros(shards)
        for shard, value in seconds:
            loads[shard] = value
        return cls(loads, int(loads.any()))

    def with_epoch(self, measured: Mapping[int, float]) -> ShardLoads:
        """After one more epoch."""
        fresh = np.zeros_like(self.seconds)
        for shard, seconds in measured.items():
            fresh[shard] = seconds
        keep = 0.5 ** (1 / HALF_LIFE) if self.epochs else 0.0
        return ShardLoads(keep * self.seconds + (1 - keep) * fresh, self.epochs + 1)

    def to_pairs(self) -> tuple[tuple[int, float], ...]:
        """The shards that have any load, to about three digits, which is more than was measured."""
        return tuple((int(s), float(f"{self.seconds[s]:.3g}")) for s in np.flatnonzero(self.seconds))
