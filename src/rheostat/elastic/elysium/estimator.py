"""What a configuration would use, if the input load were so and so (ELYSIUM section 3.2, Fig. 4).

The paper's four methods under names of this project: ``input_rates`` (getOperatorInputRate), ``slot_cpu``
(getOperatorInstanceCpuUsage), ``node_cpus`` (getCpuUsages) and ``predicted_load`` (predictInputLoad). Memory and
bandwidth, the paper's future work, are estimated beside CPU where profiles for them are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elysium.allocator import NodeSlots, Weights
from rheostat.elastic.elysium.configuration import NodeType, Parallelism
from rheostat.elastic.elysium.dataflow import Dataflow
from rheostat.elastic.elysium.forecasts.series import Forecast, Series
from rheostat.elastic.elysium.profiles.profile import Profile
from rheostat.elastic.elysium.profiles.samples import INPUT, Stream
from rheostat.errors import ConfigurationError

Loads = Mapping[str, float]
"""Rows per second into every topology."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """What was learned about one topology: the paper's application description parameters.

    Attributes:
        dataflow: operators and streams.
        selectivity: rows sent per row received, by stream.
        cpu: cycles per second of one slot as a function of its input rate, by operator.
        memory: bytes of one slot, the same way.
        row_bytes: bytes per row, by stream; ``(INPUT, source)`` for the rows that come from outside.
        forecast: the learned input load, for proactive scaling.
    """

    dataflow: Dataflow
    selectivity: Mapping[Stream, float]
    cpu: Mapping[str, Profile]
    memory: Mapping[str, Profile] = field(default_factory=dict)
    row_bytes: Mapping[Stream, float] = field(default_factory=dict)
    forecast: Forecast | None = None

    def __post_init__(self) -> None:
        missing = [o.name for o in self.dataflow.operators if o.name not in self.cpu]
        if missing:
            raise ConfigurationError(
                f"topology {self.dataflow.name!r} has no CPU profile for {missing}: record it first"
            )
        streams = {*self.dataflow.streams, *((INPUT, source) for source in self.dataflow.sources)}
        unknown = sorted({*self.selectivity, *self.row_bytes} - streams)
        if unknown:
            raise ConfigurationError(
                f"topology {self.dataflow.name!r} has no streams {unknown}, for which there is a selectivity or a size "
                f"of rows; it has {sorted(streams)}"
            )


@dataclass(frozen=True, eq=False)
class Estimator:
    """Estimates for all topologies that share a cluster.

    Attributes:
        topologies: what was learned, by topology.
        overhead: cycles per second of a node as a function of what its slots use together.
        node: what every node has.
    """

    topologies: Mapping[str, Profiles]
    overhead: Profile
    node: NodeType = field(default_factory=NodeType)

    def input_rates(self, topology: str, load: float) -> dict[str, float]:
        """Rows per second into every operator of a topology with that input load."""
        known = self._of(topology)
        return known.dataflow.rates(load, known.selectivity)

    def slot_cpu(self, topology: str, operator: str, rates: Floats) -> Floats:
        """Share of a core that one slot uses, for every given input rate of the slot."""
        return self._of(topology).cpu[operator](rates) / self.node.hertz

    def slot_cpus(self, parallelism: Parallelism, loads: Loads) -> dict[str, dict[str, float]]:
        """Share of a core that each slot of every operator uses, when it has an equal part of the operator's rate."""
        return {
            topology: {
                name: float(self.slot_cpu(topology, name, np.array([rates[name] / slots]))[0])
                for name, slots in operators.items()
            }
            for topology, operators in parallelism.items()
            for rates in (self.input_rates(topology, loads[topology]),)
        }

    def node_cpus(self, allocation: NodeSlots, slot_cpus: Weights) -> Floats:
        """Share of its CPU that every node uses: that of its slots, and the overhead that the profile knows."""
        used = np.zeros(allocation.nodes)
        for topology, counts in allocation.counts.items():
            used += np.array(list(slot_cpus[topology].values())) @ counts
        return self.overhead(used * self.node.hertz) / self.node.capacity

    def predicted_load(self, topology: str, history: Series) -> float:
        """The highest input load that is expected within the horizon."""
        forecast = self._of(topology).forecast
        if forecast is None:
            raise ConfigurationError(f"topology {topology!r} has no profile of its input load: fit a forecaster first")
        return float(forecast.peaks(history, np.array([len(history)]))[0])

    def node_memory(self, allocation: NodeSlots, loads: Loads) -> Floats | None:
        """Share of its memory that every node uses; None where it is not known.

        Topologies without a load count as nothing.
        """
        if self.node.memory is None:
            return None
        used = np.zeros(allocation.nodes)
        for topology, counts in allocation.counts.items():
            if topology not in loads:
                continue
            known, rates = self._of(topology), self.input_rates(topology, loads[topology])
            for operator, on_node in zip(known.dataflow.operators, counts, strict=True):
                profile = known.memory.get(operator.name)
                if profile is not None:
                    used += on_node * float(profile(np.array([rates[operator.name] / on_node.sum()]))[0])
        return used / self.node.memory

    def node_bandwidth(self, allocation: NodeSlots, loads: Loads) -> Floats | None:
        """Share of its bandwidth that every node uses in the busier direction; None where it is not known.

        Slots are fed evenly, so of a stream from A to B a node sends its share of A's rows to all slots of B, of which
        those on the node itself cost no bandwidth. Rows from outside are received by the nodes with slots of their
        source and sent by none. Topologies without a load count as nothing.
        """
        if self.node.bandwidth is None:
            return None
        sent, received = np.zeros(allocation.nodes), np.zeros(allocation.nodes)
        for topology, counts in allocation.counts.items():
            if topology not in loads:
                continue
            known, rates = self._of(topology), self.input_rates(topology, loads[topology])
            share = {o.name: row for o, row in zip(known.dataflow.operators, _shares(counts), strict=True)}
            for stream, size in known.row_bytes.items():
                upstream, downstream = stream
                if upstream == INPUT:
                    received += rates[downstream] * size * share[downstream]
                    continue
                total = rates[upstream] * known.selectivity[stream] * size
                sent += total * share[upstream] * (1 - share[downstream])
                received += total * share[downstream] * (1 - share[upstream])
        return np.maximum(sent, received) / self.node.bandwidth

    def _of(self, topology: str) -> Profiles:
        try:
            return self.topologies[topology]
        except KeyError as error:
            raise ConfigurationError(
                f"topology {topology!r} has no profiles; there are some for {sorted(self.topologies)}"
            ) from error


def _shares(counts: Ints) -> Floats:
    """The part of every operator's slots that is on each node."""
    found: Floats = counts / counts.sum(axis=1, keepdims=True)
    return found
