"""The micro-benchmark of Elasticutor (section 5.1): skewed keys whose popularity is shuffled time and again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rheostat.arrays import Floats
from rheostat.workloads.cells import Eras
from rheostat.workloads.draws import Shards, hash_shards, not_negative, random, summed, whole, zipf

EXECUTORS = 32
SHARDS_PER_EXECUTOR = 256
KEYS = 10_000
SKEW = 0.5

COST = 0.001
"""Seconds of a core that a tuple takes."""

TUPLE_BYTES = 128
SHARD_STATE_BYTES = 32 * 1024

_SHUFFLE = 103  # purpose of random numbers


@dataclass(frozen=True, eq=False)
class Micro(Eras):
    """Keys with Zipf-distributed frequencies, which are permuted ``omega`` times a minute.

    A key belongs to an executor by one hash, and to one of the executor's shards by another: shards are numbered
    ``executor * shards_per_executor + shard within the executor``. Neither ever changes.

    Attributes:
        rate: tuples per second, which the paper does not print.
        omega: permutations a minute, at equal distances; 0 means never.
        executors: executors that the keys are hashed to.
        shards_per_executor: shards of each executor.
        keys: different keys.
        skew: exponent of the Zipf distribution of keys; 0 is uniform.
        seconds: how long it lasts; infinite by default.
        scale: multiplies all rates.
        poisson: tuples arrive at random moments; if not, at equal distances.
        seed: everything random follows from it.
        shards: executors times shards per executor.

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
        not_negative(rate=self.rate, omega=self.omega, skew=self.skew)
        whole(1, executors=self.executors, shards_per_executor=self.shards_per_executor, keys=self.keys)
        object.__setattr__(self, "shards", self.executors * self.shards_per_executor)
        self._check()

    def frequencies(self, shuffles: int) -> Floats:
        """Every key's share of the tuples after so many permutations."""
        return random(self.seed, _SHUFFLE, shuffles).permutation(zipf(self.keys, self.skew))

    @cached_property
    def shard_of(self) -> Shards:
        """The shard of every key."""
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
        return summed(self.shard_of, self.frequencies(era), self.shards)
