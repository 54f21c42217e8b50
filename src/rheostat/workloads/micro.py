"""The micro-benchmark of Elasticutor (section 5.1): skewed keys whose popularity is shuffled at regular times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rheostat.arrays import Floats
from rheostat.workloads.cells import Eras
from rheostat.workloads.draws import Shards, check_not_negative, check_whole, generator, hash_shards, sum_by_index, zipf

EXECUTORS = 32
SHARDS_PER_EXECUTOR = 256
KEYS = 10_000
SKEW = 0.5

COST = 0.001
"""Seconds of a core per tuple."""

TUPLE_BYTES = 128
SHARD_STATE_BYTES = 32 * 1024

_SHUFFLE = 103  # purpose of random numbers


@dataclass(frozen=True, eq=False)
class Micro(Eras):
    """Keys with Zipf-distributed frequencies, which are permuted ``omega`` times a minute.

    One hash of a key chooses its executor, and another one its shard within that executor. Both are fixed. Shards are
    numbered ``executor * shards_per_executor + shard within the executor``.

    Attributes:
        rate: tuples per second; the paper does not say how many.
        omega: permutations per minute, at equal distances; 0 for none.
        executors: number of executors.
        shards_per_executor: number of shards of each executor.
        keys: number of distinct keys.
        skew: exponent of the Zipf distribution of keys; 0 is uniform.
        seconds: length of the workload; infinite by default.
        scale: multiplies all rates.
        poisson: True if tuples arrive at random times, False if at equal distances.
        seed: seed of all random numbers.
        shards: number of shards, ``executors * shards_per_executor``.

    >>> micro = Micro(1_000.0, omega=2)
    >>> micro.shards
    8192
    >>> before, same, after = micro.rates(0, 30), micro.rates(10, 20), micro.rates(30, 60)
    >>> bool(np.allclose(before, same)), bool(np.allclose(before, after))
    (True, False)
    """

    rate: float
    omega: float = 2.0
    executors: int = EXECUTORS
    shards_per_executor: int = SHARDS_PER_EXECUTOR
    keys: int = KEYS
    skew: float = SKEW
    seconds: float = math.inf
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1
    shards: int = field(init=False)

    def __post_init__(self) -> None:
        check_not_negative(rate=self.rate, omega=self.omega, skew=self.skew)
        check_whole(1, executors=self.executors, shards_per_executor=self.shards_per_executor, keys=self.keys)
        object.__setattr__(self, "shards", self.executors * self.shards_per_executor)
        self._check()

    def frequencies(self, shuffles: int) -> Floats:
        """Return each key's share of the tuples after a number of permutations."""
        return generator(self.seed, _SHUFFLE, shuffles).permutation(zipf(self.keys, self.skew))

    @cached_property
    def shard_of(self) -> Shards:
        """The shard of each key."""
        keys = np.arange(self.keys)
        within = hash_shards(keys, self.shards_per_executor, salt=1)
        return hash_shards(keys, self.executors) * np.int32(self.shards_per_executor) + within

    @property
    def _peak(self) -> float:
        return self.rate

    @property
    def _era(self) -> float:
        return 60 / self.omega if self.omega else math.inf

    def _expected(self, times: Floats) -> Floats:
        return self.rate * times

    def _weights(self, era: int) -> Floats:
        return sum_by_index(self.shard_of, self.frequencies(era), self.shards)
