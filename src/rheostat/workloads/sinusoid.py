"""A rate that rises and falls as a sine (StreamSwitch sections 6.3 to 6.6)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.cells import Eras, ExpectedFlow
from rheostat.workloads.draws import check_not_negative, check_positive, check_whole, generator, zipf

BASE = 30_000.0
"""Mean rows per second of StreamSwitch's inputs; their amplitudes are 10,000 to 30,000, their periods 70 to 600 s."""

_PIECES = 256  # pieces of a period, in each of which the rate is taken as constant
_WEIGHTS = 102  # purpose of random numbers


class Sine(ExpectedFlow):
    """Base of workloads with a total rate of ``base + amplitude * sin(2 pi time / period)``.

    Attributes:
        base: mean rows per second.
        amplitude: largest difference from ``base``, in rows per second.
        period: seconds from one peak to the next.
    """

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
        check_positive(base=self.base, period=self.period)
        if not 0 <= self.amplitude <= self.base:
            raise ConfigurationError(
                f"amplitude={self.amplitude}: must be between 0 and base={self.base}, so that no rate is negative"
            )
        check_whole(1, shards=self.shards)
        super()._check()


@dataclass(frozen=True, eq=False)
class Sinusoid(Sine, Eras):
    """A total rate of ``base + amplitude * sin(2 pi time / period)``.

    Attributes:
        base: mean rows per second.
        amplitude: largest difference from ``base`` in rows per second, at most ``base``.
        period: seconds from one peak to the next.
        shards: number of shards.
        skew: exponent of the Zipf distribution of rows over shards; 0 is uniform. Popular shards are chosen at random.
        seconds: length of the workload; infinite by default.
        scale: multiplies all rates.
        poisson: True if rows arrive at random times, False if at equal distances.
        seed: seed of all random numbers.

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
        check_not_negative(skew=self.skew)
        self._check()

    def _weights(self, _era: int) -> Floats:
        return generator(self.seed, _WEIGHTS, 0).permutation(zipf(self.shards, self.skew))
