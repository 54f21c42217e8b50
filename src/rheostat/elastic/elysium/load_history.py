"""What ELYSIUM remembers: the input load of every past interval, and the CPU use of the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.elastic.elysium.allocator import SlotCpu
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.plans import parts_of
from rheostat.elastic.model.observation import Observation


@dataclass(frozen=True, eq=False)
class LoadHistory:
    """The history of loads. One observation covers one interval, a minute in the paper.

    Attributes:
        loads: rows per second that arrived in every past interval, by topology; the last value is the newest.
        slot_cpu: share of a core that each slot used in the last interval, by topology and operator.
        node_cpu: share of its CPU that each node used in the last interval.
        waiting: rows that have arrived and are not processed yet, by topology.

    >>> from rheostat.elastic.model.observation import TopologyObservation
    >>> words = {"words": TopologyObservation(load=120.0, waiting=7.0)}
    >>> seen = Observation(time=60.0, seconds=60.0, operators={}, cores=np.array([4]), topologies=words)
    >>> LoadHistory().after(seen).after(seen).latest()
    {'words': 120.0}
    """

    loads: Mapping[str, Series] = field(default_factory=dict)
    slot_cpu: SlotCpu = field(default_factory=dict)
    node_cpu: tuple[float, ...] = ()
    waiting: Mapping[str, float] = field(default_factory=dict)

    def after(self, seen: Observation) -> LoadHistory:
        """Return the history after one more interval; a load that was not measured counts as the previous one."""
        loads = dict(self.loads)
        for topology, input_ in seen.topologies.items():
            series = loads.get(topology, Series(np.zeros(0), seen.time - seen.seconds, max(seen.seconds, 1e-9)))
            if 0 <= input_.load < np.inf:
                loads[topology] = Series(np.append(series.values, input_.load), series.start, series.step)
            elif len(series):
                loads[topology] = Series(np.append(series.values, series.values[-1]), series.start, series.step)
        return LoadHistory(
            loads,
            {parts_of(name): tuple(part.cpu.tolist()) for name, part in seen.operators.items() if len(part.cpu)},
            tuple(seen.node_cpu.tolist()),
            {topology: input_.waiting for topology, input_ in seen.topologies.items()},
        )

    def latest(self) -> dict[str, float]:
        """Return the last input load of every topology for which one was measured."""
        return {topology: float(series.values[-1]) for topology, series in self.loads.items() if len(series)}
