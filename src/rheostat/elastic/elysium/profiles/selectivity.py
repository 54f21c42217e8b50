"""Learns selectivities: rows that a stream carries per row that its sender receives (ELYSIUM sections 2, 3.2 and 4).

The selectivity of a stream (A, B) is its rate divided by the sum of the rates of all streams into A. For a stream from
outside, it is the share of the whole input that the source receives.

Selectivities are computed for every recorded time and averaged, because the paper's model has constant selectivities.
The standard deviation shows how well that fits. It is large for a stream that sends periodically, whatever arrives (the
paper's Table 2).
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
        mean: mean over time.
        deviation: standard deviation over time.
        readings: number of recorded times.

    >>> found = selectivities(Traffic.of((0.0, "", "split", 100.0), (0.0, "split", "count", 1200.0)))
    >>> found["split", "count"]
    Selectivity(mean=12.0, deviation=0.0, readings=1)
    """

    mean: float
    deviation: float = 0.0
    readings: int = 0


def selectivities(traffic: Traffic) -> Mapping[Stream, Selectivity]:
    """Return the selectivity of every stream, without streams whose sender never received a row.

    >>> found = selectivities(Traffic.of(
    ...     (0.0, "", "a", 10.0), (0.0, "a", "b", 20.0), (10.0, "", "a", 10.0), (10.0, "a", "b", 40.0)))
    >>> found["a", "b"]
    Selectivity(mean=3.0, deviation=1.0, readings=2)
    """
    times, time_index = np.unique(traffic.times, return_inverse=True)
    operators = tuple(dict.fromkeys((*traffic.upstream, *traffic.downstream)))
    row_of = {name: row for row, name in enumerate(operators)}
    # Rows per second into every operator at every time; into INPUT, the whole input of the topology.
    received = np.zeros((len(operators), len(times)))
    receivers = np.array([row_of[name] for name in traffic.downstream], dtype=np.intp)
    np.add.at(received, (receivers, time_index), traffic.rates)
    outside = np.array([name == INPUT for name in traffic.upstream], dtype=np.bool_)
    if outside.any():
        np.add.at(received[row_of[INPUT]], time_index[outside], traffic.rates[outside])
    result = {}
    for (upstream, downstream), entries in _entries_by_stream(traffic).items():
        arriving = received[row_of[upstream], time_index[entries]]
        useful = arriving > 0
        if useful.any():
            ratios: Floats = traffic.rates[entries][useful] / arriving[useful]
            result[upstream, downstream] = Selectivity(float(ratios.mean()), float(ratios.std()), len(ratios))
    return result


def _entries_by_stream(traffic: Traffic) -> dict[Stream, list[int]]:
    """Return the positions of the entries of every stream."""
    entries: dict[Stream, list[int]] = {}
    for index, stream in enumerate(zip(traffic.upstream, traffic.downstream, strict=True)):
        entries.setdefault(stream, []).append(index)
    return entries
