"""Estimates the resources that a configuration uses at a given input load (ELYSIUM section 3.2, Fig. 4).

It has the paper's four methods: ``input_rates`` (getOperatorInputRate), ``slot_cpu`` (getOperatorInstanceCpuUsage),
``node_cpus`` (getCpuUsages) and ``predicted_load`` (predictInputLoad). Memory and bandwidth, future work in the paper,
are estimated too if there are profiles for them.
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
    """The learned profiles of one topology: the paper's application description parameters.

    Attributes:
        dataflow: operators and streams.
        selectivity: rows sent per row received, by stream.
        cpu: cycles per second of one slot as a function of its input rate, by operator.
        memory: bytes of one slot as a function of its input rate, by operator.
        row_bytes: bytes per row, by stream; ``(INPUT, source)`` for rows from outside the topology.
        forecast: fitted forecast of the input load; None without proactive scaling.

    >>> from rheostat.elastic.elysium import Line, ScalableOperator
    >>> words = Dataflow("words", (ScalableOperator("split"), ScalableOperator("count")), (("split", "count"),))
    >>> Profiles(words, selectivity={("split", "count"): 10.0}, cpu={"split": Line(base=0.0, slope=2e6)})
    Traceback (most recent call last):
    ...
    rheostat.errors.ConfigurationError: topology 'words' has no CPU profile for ['count']: learn one from ... metrics
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
                f"topology {self.dataflow.name!r} has no CPU profile for {missing}: learn one from recorded metrics"
            )
        streams = {*self.dataflow.streams, *((INPUT, source) for source in self.dataflow.sources)}
        unknown = sorted({*self.selectivity, *self.row_bytes} - streams)
        if unknown:
            raise ConfigurationError(
                f"topology {self.dataflow.name!r} has no streams {unknown}, which are in selectivity or row_bytes; its "
                f"streams are {sorted(streams)}"
            )


@dataclass(frozen=True, eq=False)
class Estimator:
    """Estimates resource use of all topologies that share a cluster.

    Attributes:
        topologies: learned profiles, by topology.
        overhead: cycles per second of a node as a function of the cycles per second of its slots together.
        node: the resources of every node.

    >>> from rheostat.elastic.elysium import Line, ScalableOperator
    >>> words = Dataflow("words", (ScalableOperator("split"), ScalableOperator("count")), (("split", "count"),))
    >>> cpu = {"split": Line(base=0.0, slope=2e6), "count": Line(base=0.0, slope=5e5)}  # cycles per row
    >>> learned = Profiles(words, selectivity={("split", "count"): 10.0}, cpu=cpu)
    >>> estimator = Estimator({"words": learned}, overhead=Line(0.0, 1.1), node=NodeType(cores=4, hertz=2e9))
    >>> estimator.input_rates("words", load=500.0)
    {'split': 500.0, 'count': 5000.0}
    >>> estimator.slot_cpus({"words": {"split": 1, "count": 2}}, {"words": 500.0})  # shares of a core
    {'words': {'split': 0.5, 'count': 0.625}}
    """

    topologies: Mapping[str, Profiles]
    overhead: Profile
    node: NodeType = field(default_factory=NodeType)

    def input_rates(self, topology: str, load: float) -> dict[str, float]:
        """Return the rows per second into every operator, at an input load of the topology."""
        profiles = self._profiles(topology)
        return profiles.dataflow.rates(load, profiles.selectivity)

    def slot_cpu(self, topology: str, operator: str, rates: Floats) -> Floats:
        """Return the share of a core that one slot uses, for each input rate of the slot."""
        return self._profiles(topology).cpu[operator](rates) / self.node.hertz

    def slot_cpus(self, parallelism: Parallelism, loads: Loads) -> dict[str, dict[str, float]]:
        """Return the share of a core that one slot of every operator uses if slots share the rows equally."""
        used = {}
        for topology, operators in parallelism.items():
            rates = self.input_rates(topology, loads[topology])
            used[topology] = {
                name: float(self.slot_cpu(topology, name, np.array([rates[name] / slots]))[0])
                for name, slots in operators.items()
            }
        return used

    def node_cpus(self, allocation: NodeSlots, slot_cpus: Weights) -> Floats:
        """Return the share of its CPU that every node uses, with the overhead that the node profile adds."""
        used = np.zeros(allocation.nodes)
        for topology, counts in allocation.counts.items():
            used += np.array(list(slot_cpus[topology].values())) @ counts
        return self.overhead(used * self.node.hertz) / self.node.capacity

    def predicted_load(self, topology: str, history: Series) -> float:
        """Return the highest input load that is forecast within the horizon."""
        forecast = self._profiles(topology).forecast
        if forecast is None:
            raise ConfigurationError(
                f"topology {topology!r} has no forecast of its input load: fit a forecaster and pass it to its Profiles"
            )
        return float(forecast.peaks(history, np.array([len(history)]))[0])

    def node_memory(self, allocation: NodeSlots, loads: Loads) -> Floats | None:
        """Return the share of its memory that every node uses; None if the memory of nodes is not given.

        The allocation must have operators in the order of their dataflow. Topologies without a load count as 0.
        """
        if self.node.memory is None:
            return None
        used = np.zeros(allocation.nodes)
        for topology, counts in allocation.counts.items():
            if topology not in loads:
                continue
            profiles, rates = self._profiles(topology), self.input_rates(topology, loads[topology])
            for operator, on_node in zip(profiles.dataflow.operators, counts, strict=True):
                profile = profiles.memory.get(operator.name)
                if profile is not None:
                    used += on_node * float(profile(np.array([rates[operator.name] / on_node.sum()]))[0])
        return used / self.node.memory

    def node_bandwidth(self, allocation: NodeSlots, loads: Loads) -> Floats | None:
        """Return the share of its bandwidth that every node uses in the busier direction.

        The slots of an operator share its rows equally. So of a stream from A to B, a node sends the rows of its slots
        of A to all slots of B; rows to slots on the same node need no bandwidth. Rows from outside are received by the
        nodes that run their source, and sent by none.

        The allocation must have operators in the order of their dataflow. Topologies without a load count as 0.

        Returns:
            A share per node; None if the bandwidth of nodes is not given.
        """
        if self.node.bandwidth is None:
            return None
        sent, received = np.zeros(allocation.nodes), np.zeros(allocation.nodes)
        for topology, counts in allocation.counts.items():
            if topology not in loads:
                continue
            profiles, rates = self._profiles(topology), self.input_rates(topology, loads[topology])
            share = {o.name: row for o, row in zip(profiles.dataflow.operators, _node_shares(counts), strict=True)}
            for stream, size in profiles.row_bytes.items():
                upstream, downstream = stream
                if upstream == INPUT:
                    received += rates[downstream] * size * share[downstream]
                    continue
                total = rates[upstream] * profiles.selectivity[stream] * size
                sent += total * share[upstream] * (1 - share[downstream])
                received += total * share[downstream] * (1 - share[upstream])
        return np.maximum(sent, received) / self.node.bandwidth

    def _profiles(self, topology: str) -> Profiles:
        try:
            return self.topologies[topology]
        except KeyError as error:
            raise ConfigurationError(
                f"topology {topology!r} has no profiles; there are profiles for {sorted(self.topologies)}"
            ) from error


def _node_shares(counts: Ints) -> Floats:
    """Return the share of every operator's slots that is on each node."""
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return shares
