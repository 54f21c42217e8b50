"""Rows that arrive at the first operator of a simulated job: their times and their shards.

``Workload`` is the interface of all workloads, and ``Arrivals`` is what it returns. The two simplest workloads are here
too: a constant rate, and a curve with one rate per step of time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.cells import Arrivals, Cells, Eras, Workload
from rheostat.workloads.draws import check_not_negative, check_positive, normalize

__all__ = ["Arrivals", "Constant", "RateCurve", "Workload", "scaled"]


@dataclass(frozen=True, eq=False)
class Constant(Eras):
    """Rows at a constant rate.

    Attributes:
        rate: rows per second.
        weights: share of the rows that each shard gets, in any unit.
        seconds: length of the workload; infinite by default.
        scale: multiplies all rates.
        poisson: True if rows arrive at random times, False if at equal distances. Shards are random in both cases.
        seed: seed of all random numbers.
        shards: number of weights.

    >>> steady = Constant(4.0, [3, 1], poisson=False)
    >>> steady.between(1.0, 2.0).times.tolist()
    [1.0, 1.25, 1.5, 1.75]
    >>> steady.rates(0.0, 60.0).tolist()
    [3.0, 1.0]
    """

    rate: float
    weights: npt.ArrayLike = (1.0,)
    seconds: float = math.inf
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1
    shards: int = field(init=False)

    def __post_init__(self) -> None:
        check_not_negative(rate=self.rate)
        object.__setattr__(self, "shards", len(normalize("weights", self.weights)))
        self._check()

    @property
    def _peak(self) -> float:
        return self.rate

    def _expected(self, times: Floats) -> Floats:
        return self.rate * times

    def _weights(self, _era: int) -> Floats:
        return normalize("weights", self.weights)


@dataclass(frozen=True, eq=False)
class RateCurve(Eras):
    """Rows at a rate that changes in steps, such as a recorded load or a square wave.

    Attributes:
        curve: rows per second in each step.
        step: length of a step in seconds.
        weights: share of the rows that each shard gets, in any unit.
        scale: multiplies all rates.
        poisson: True if rows arrive at random times, False if at equal distances.
        seed: seed of all random numbers.
        shards: number of weights.
        seconds: length of the curve.

    >>> stairs = RateCurve([1.0, 4.0], step=2.0, poisson=False)
    >>> stairs.between(0.0, 3.0).times.tolist()
    [0.0, 1.0, 2.0, 2.25, 2.5, 2.75]
    >>> stairs.seconds
    4.0
    """

    curve: npt.ArrayLike
    step: float = 1.0
    weights: npt.ArrayLike = (1.0,)
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1
    shards: int = field(init=False)
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        check_positive(step=self.step)
        rates = np.asarray(self.curve, dtype=np.float64)
        if rates.ndim != 1 or not rates.size or not np.isfinite(rates).all() or rates.min() < 0:
            raise ConfigurationError("curve: must have at least one step; rates must be finite and not negative")
        object.__setattr__(self, "shards", len(normalize("weights", self.weights)))
        object.__setattr__(self, "seconds", len(rates) * float(self.step))
        self._check()

    @cached_property
    def _rates(self) -> Floats:
        return np.array(self.curve, dtype=np.float64)

    @cached_property
    def _edges(self) -> Floats:
        """Times at which steps begin, and the end."""
        return np.arange(len(self._rates) + 1, dtype=np.float64) * float(self.step)

    @cached_property
    def _upto(self) -> Floats:
        """Rows expected from the start until each of the edges."""
        return np.concatenate([[0.0], np.cumsum(self._rates * self.step)])

    @cached_property
    def _peak(self) -> float:
        return float(self._rates.max())

    def _expected(self, times: Floats) -> Floats:
        return np.interp(times, self._edges, self._upto)

    def _knots(self, begin: float, end: float) -> Floats:
        first, last = self._edges.searchsorted(begin, "right"), self._edges.searchsorted(end, "left")
        return np.concatenate([[begin], self._edges[first:last], [end]])

    def _weights(self, _era: int) -> Floats:
        return normalize("weights", self.weights)


_Cells = TypeVar("_Cells", bound=Cells)


def scaled(workload: _Cells, factor: float) -> _Cells:
    """Return the same workload with ``factor`` times as many rows.

    >>> scaled(Constant(4.0), 2.5).rates(0.0, 1.0).tolist()
    [10.0]
    """
    check_not_negative(factor=factor)
    return cast(_Cells, replace(cast(Any, workload), scale=workload.scale * factor))
