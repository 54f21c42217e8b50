"""Rows that arrive at an operator: when, and of which shard. What the simulator's engines are fed with.

The interface that all workloads have, and those that are no more than a rate: a constant one, and one that is given for
every step of time.
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
from rheostat.workloads.draws import not_negative, positive, shares

__all__ = ["Arrivals", "Constant", "RateCurve", "Workload", "scaled"]


@dataclass(frozen=True, eq=False)
class Constant(Eras):
    """A constant rate.

    Attributes:
        rate: rows per second.
        weights: one number per shard, in proportion to its rows.
        seconds: how long it lasts; infinite by default.
        scale: multiplies all rates.
        poisson: rows arrive at random moments; if not, at equal distances. Shards are drawn at random in both cases.
        seed: everything random follows from it.
        shards: follows from the weights.

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
        not_negative(rate=self.rate)
        object.__setattr__(self, "shards", len(shares("weights", self.weights)))
        self._check()

    @property
    def _peak(self) -> float:
        return self.rate

    def _expected(self, times: Floats) -> Floats:
        return self.rate * times

    def _weights(self, _era: int) -> Floats:
        return shares("weights", self.weights)


@dataclass(frozen=True, eq=False)
class RateCurve(Eras):
    """A rate that is given for every step of time: recorded loads, stairs, square waves.

    Attributes:
        curve: rows per second during every step.
        step: seconds of a step.
        weights: one number per shard, in proportion to its rows.
        scale: multiplies all rates.
        poisson: rows arrive at random moments; if not, at equal distances.
        seed: everything random follows from it.
        shards: follows from the weights.
        seconds: follows from the curve and the step.

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
        positive(step=self.step)
        given = np.asarray(self.curve, dtype=np.float64)
        if given.ndim != 1 or not given.size or not np.isfinite(given).all() or given.min() < 0:
            raise ConfigurationError("curve: give at least one step, and for every step a finite rate of 0 or more")
        object.__setattr__(self, "shards", len(shares("weights", self.weights)))
        object.__setattr__(self, "seconds", len(given) * float(self.step))
        self._check()

    @cached_property
    def _rates(self) -> Floats:
        return np.array(self.curve, dtype=np.float64)

    @cached_property
    def _edges(self) -> Floats:
        return np.arange(len(self._rates) + 1, dtype=np.float64) * float(self.step)

    @cached_property
    def _upto(self) -> Floats:
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
        return shares("weights", self.weights)


_Cells = TypeVar("_Cells", bound=Cells)


def scaled(workload: _Cells, factor: float) -> _Cells:
    """The same workload with ``factor`` times as many rows.

    >>> scaled(Constant(4.0), 2.5).rates(0.0, 1.0).tolist()
    [10.0]
    """
    not_negative(factor=factor)
    return cast(_Cells, replace(cast(Any, workload), scale=workload.scale * factor))
