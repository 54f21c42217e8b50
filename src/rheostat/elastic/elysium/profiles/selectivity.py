"""How many rows a stream carries for every row that its operator receives (ELYSIUM sections 2, 3.2 and 4).

The selectivity of a stream (A, B) is its rate divided by the sum of the rates of all streams into A. It is taken at
every time at which metrics were recorded and then averaged over time, because the paper's model has constant mean
selectivities. The standard deviation says how well that fits: a stream that sends periodically, whatever arrives, has
a large one (the paper's Table 2). For a stream from outside it is the share of the whole input that this source gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.profiles.samples import INPUT, Stream, Traffic


@dataclass(frozen=True)
class Selectivity:
    """Rows sent per row received.

    Attributes:
        mean: over time.
        deviation: standard deviation over time.
        readings: how many times entered the mean.
    """

    mean: float
    deviation: float = 0.0
    readings: int = 0


def selectivities(traffic: Traffic) -> Mapping[Stream, Selectivity]:
    """The selectivity of every stream; a stream whose operator never received a row is left out.

    >>> found = selectivities(Traffic.of(
    ...     (0.0, "", "a", 10.0), (0.0, "a", "b", 20.0), (10.0, "", "a", 10.0), (10.0, "a", "b", 40.0)))
    >>> found["a", "b"]
    Selectivity(mean=3.0, deviation=1.0, readings=2)
    """
    times, position = np.unique(traffic.times, return_inverse=True)
    operators = tuple(dict.fromkeys((*traffic.upstream, *traffic.downstream)))
    number = {name: index for index, name in enumerate(operators)}
    received = np.zeros((len(operators), len(times)))
    np.add.at(received, (np.array([number[n] for n in traffic.downstream], dtype=np.intp), position), traffic.rates)
    outside = np.array([name == INPUT for name in traffic.upstream], dtype=np.bool_)
    if outside.any():
        np.add.at(received[number[INPUT]], position[outside], traffic.rates[outside])
    found = {}
    for (upstream, downstream), chosen in _by_stream(traffic).items():
        arriving = received[number[upstream], position[chosen]]
        useful = arriving > 0
        if useful.any():
            ratios: Floats = traffic.rates[chosen][useful] / arriving[useful]
            found[upstream, downstream] = Selectivity(float(ratios.mean()), float(ratios.std()), len(ratios))
    return found


def _by_stream(traffic: Traffic) -> dict[Stream, list[int]]:
    found: dict[Stream, list[int]] = {}
    for index, stream in enumerate(zip(traffic.upstream, traffic.downstream, strict=True)):
        found.setdefault(stream, []).append(index)
    return found
