"""A rate that rises and falls as a sine (StreamSwitch sections 6.3 to 6.6)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.cells import Eras, ExpectedFlow
from rheostat.workloads.draws import not_negative, positive, random, whole, zipf

BASE = 30_000.0
"""Rows per second around which StreamSwitch's inputs swing, by 10 to 30 thousand, within 70 seconds to 10 minutes."""

_PIECES = 256  # of a period; within one, the rate is taken as constant
_WEIGHTS = 102  # purpose of random numbers


class Sine(ExpectedFlow):
    """A total rate of ``base + amplitude * sin(2 pi time / period)``."""

    base: float
    amplitude: float
    period: float

    @property
    def _peak(self) -> float:
        return self.base + self.amplitude

    def _expected(self, times: Floats) -> Floats:
        swing = self.amplitude * self.period / math.pi
        return self.base * times + swing * np.sin(math.pi / self.period * times) ** 2

    def _knots(self, begin: float, end: float) -> Floats:
        return np.linspace(begin, end, math.ceil((end - begin) / self.period * _PIECES) + 1)

    def _check(self) -> None:
        positive(base=self.base, period=self.period)
        if not 0 <= self.amplitude <= self.base:
            raise ConfigurationError(
                f"amplitude={self.amplitude}: give a number from 0 to base={self.base}, so that no rate is negative"
            )
        whole(1, shards=self.shards)
        super()._check()


@dataclass(frozen=True, eq=False)
class Sinusoid(Sine, Eras):
    """A total rate of ``base + amplitude * sin(2 pi time / period)``.

    Attributes:
        base: rows per second, on average.
        amplitude: how far the rate goes from that, at most ``base``.
        period: seconds from one peak to the next.
        shards: of the operator that the rows enter.
        skew: exponent of the Zipf distribution of rows over shards; 0 is uniform. Which shards are popular is drawn.
        seconds: how long it lasts; infinite by default.
        scale: multiplies all rates.
        poisson: rows arrive at random moments; if not, at equal distances.
        seed: everything random follows from it.

    >>> waves = Sinusoid(base=30_000, amplitude=10_000, period=600, shards=64)
    >>> [round(float(waves.rates(t, t + 0.1).sum()), -2) for t in (0, 150, 300, 450)]
    [30000.0, 40000.0, 30000.0, 20000.0]
    """

    base: float = BASE
    amplitude: float = 10_000.0
    period: float = 600.0
    shards: int = 64
    skew: float = 0.0
    seconds: float = math.inf
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1

    def __post_init__(self) -> None:
        not_negative(skew=self.skew)
        self._check()

    def _weights(self, _era: int) -> Floats:
        return random(self.seed, _WEIGHTS, 0).permutation(zipf(self.shards, self.skew))
