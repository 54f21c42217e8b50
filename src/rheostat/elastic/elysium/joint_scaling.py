"""Joint scaling, the baseline ELYSIUM is compared with (section 5.2).

It looks at the CPU that was used, not at what a load would need. An operator in stress gets one slot more, and the
cluster then one node more. An idle operator gives up one slot, which leaves the nodes alone. Only if no operator was
scaled, nodes are: one more if any is in stress, one less if all are idle. Where topologies have nodes of their own, a
node comes to the topology that needs it, and goes from the one that has most.

Having no estimates, it cannot tell whether a step is enough. Its decisions count as infeasible where something is in
stress that no further step can help: an operator with all slots it may have, or a node of a cluster with all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.elastic.elysium.algorithm1 import Bounds
from rheostat.elastic.elysium.configuration import Config, Decision, Thresholds
from rheostat.elastic.elysium.dataflow import Dataflow, Operator
from rheostat.elastic.elysium.policy import Observation


@dataclass(frozen=True)
class JointScaling:
    """One unit at a time, operators and nodes together.

    Attributes:
        at_once: all operators that are in stress get a slot in the same assessment, and all idle ones give one up. The
            paper says that one unit is scaled at a time, which is taken literally otherwise: the operator that is most
            in stress, or else the idlest one.

    >>> words = Dataflow("t", (Operator("split"), Operator("count")), (("split", "count"),))
    >>> seen = Observation({}, {("t", "split"): (0.9,), ("t", "count"): (0.7,)}, (0.5,))
    >>> JointScaling({"t": words}).decide(seen, Config({"t": {"split": 1, "count": 1}}, 1)).config
    Config(parallelism={'t': {'split': 2, 'count': 1}}, nodes=2, own=None)
    """

    dataflows: Mapping[str, Dataflow]
    bounds: Bounds = field(default_factory=Bounds)
    at_once: bool = False

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The current configuration, or one that is a step away from it."""
        loads = {topology: float(series.values[-1]) for topology, series in seen.loads.items() if len(series)}
        limits = self.bounds.thresholds
        steps = self._steps(seen, current)
        parallelism = {topology: dict(operators) for topology, operators in current.parallelism.items()}
        for step in steps:
            parallelism[step.topology][step.operator] += step.slots
        more = [step.topology for step in steps if step.slots > 0]
        change = 1 if more else 0 if steps else _node_step(seen.node_cpu, limits)
        own = _owned(current.own, change, more or _owners(current, seen.node_cpu), self.bounds.most_nodes)
        nodes = sum(own.values()) if own else max(1, min(current.nodes + change, self.bounds.most_nodes))
        reasons = [f"{s.topology}: a slot of {s.operator} uses {s.used:.0%} of a core: {s.slots:+d}" for s in steps]
        if nodes != current.nodes:
            reasons.append(f"{nodes} nodes instead of {current.nodes}")
        helpless = self._helpless(seen, current)
        return Decision(Config(parallelism, nodes, own), loads, not helpless, (*reasons, *helpless))

    def _helpless(self, seen: Observation, current: Config) -> list[str]:
        """What is in stress and has all there may be."""
        limits = self.bounds.thresholds
        found = [
            f"{topology}: {operator.name} is in stress with all slots it may have"
            for topology, dataflow in self.dataflows.items()
            for operator in dataflow.operators
            if max(seen.slot_cpu.get((topology, operator.name), ()), default=0.0) > limits.core_max
            and current.parallelism[topology][operator.name] >= operator.most
        ]
        if max(seen.node_cpu, default=0.0) > limits.cpu_max and current.nodes >= self.bounds.most_nodes:
            found.append(f"a node is in stress and there are all {current.nodes} already")
        return found

    def _steps(self, seen: Observation, current: Config) -> list[Step]:
        """What is to be done with operators: those in stress first, the worst before the others, then the idlest."""
        found = []
        for topology, dataflow in self.dataflows.items():
            for operator in dataflow.operators:
                used = seen.slot_cpu.get((topology, operator.name), ())
                slots = _step(operator, current.parallelism[topology][operator.name], used, self.bounds.thresholds)
                if slots:
                    found.append(Step(topology, operator.name, slots, max(used)))
        found.sort(key=lambda step: (-step.slots, -step.slots * step.used))
        return found if self.at_once else found[:1]


@dataclass(frozen=True)
class Step:
    """One slot more or less for an operator whose busiest slot uses so much of a core."""

    topology: str
    operator: str
    slots: int
    used: float


def _step(operator: Operator, slots: int, used: tuple[float, ...], limits: Thresholds) -> int:
    """One slot more if any is in stress, one less if all are idle."""
    if not used:
        return 0
    if max(used) > limits.core_max and slots < operator.most:
        return 1
    if max(used) < limits.core_min and slots > operator.least:
        return -1
    return 0


def _node_step(used: tuple[float, ...], limits: Thresholds) -> int:
    if not used:
        return 0
    return 1 if max(used) > limits.cpu_max else -1 if max(used) < limits.cpu_min else 0


def _owners(current: Config, used: tuple[float, ...]) -> list[str]:
    """The topology of every node, the busiest node's first; nodes are dealt out in the order of ``own``."""
    owners = [topology for topology, nodes in (current.own or {}).items() for _ in range(nodes)]
    return [owner for _, owner in sorted(zip(used, owners, strict=False), key=lambda pair: -pair[0])]


def _owned(own: Mapping[str, int] | None, change: int, needy: list[str], most: int) -> dict[str, int] | None:
    """Nodes by topology after a step: one more for the first that needs it, or one less for the one that has most."""
    if own is None:
        return None
    found = dict(own)
    if change > 0 and needy and sum(found.values()) < most:
        found[needy[0]] += 1
    if change < 0 and max(found.values()) > 1:
        found[max(found, key=lambda topology: found[topology])] -= 1
    return found
