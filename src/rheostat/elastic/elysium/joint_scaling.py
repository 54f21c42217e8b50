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
from typing import ClassVar

from rheostat.elastic.elysium.allocator import allocated
from rheostat.elastic.elysium.config_search import Bounds
from rheostat.elastic.elysium.configuration import ChosenConfig, Config, Thresholds
from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
from rheostat.elastic.elysium.elysium import AT_ONCE
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.elysium.plans import check_plan, config_of, measured_weights, proposal_of
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits


@dataclass(frozen=True)
class JointScaling:
    """One unit at a time, operators and nodes together.

    Driven by the testbed of ``papers/elysium``; it is not connected to Spark yet.

    Attributes:
        dataflows: by topology.
        bounds: how many nodes there may be, thresholds, and how slots are placed.
        at_once: all operators that are in stress get a slot in the same assessment, and all idle ones give one up. The
            paper says that one unit is scaled at a time, which is taken literally otherwise: the operator that is most
            in stress, or else the idlest one.

    >>> from rheostat.elastic.elysium.plans import plan_of
    >>> words = Dataflow("t", (ScalableOperator("split"), ScalableOperator("count")), (("split", "count"),))
    >>> plan = plan_of(Config({"t": {"split": 1, "count": 1}}, 1), {"t": words})
    >>> seen = LoadHistory({}, {("t", "split"): (0.9,), ("t", "count"): (0.7,)}, (0.5,))
    >>> found = JointScaling({"t": words}).decide(seen, plan)
    >>> [(r.operator, r.plan.nodes.tolist()) for r in found.revisions], found.nodes
    ([('t/split', [0, 1])], 2)
    """

    dataflows: Mapping[str, Dataflow]
    bounds: Bounds = field(default_factory=Bounds)
    at_once: bool = False
    name: str = "joint-scaling"
    waits: Waits = AT_ONCE

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    def begin(self, plan: Plan) -> LoadHistory:
        """Nothing known."""
        check_plan(plan, self.dataflows)
        return LoadHistory()

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """What was used in the last interval."""
        return history.after(observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """Nothing, or one step."""
        chosen = self.step_from(history, config_of(plan, self.bounds.apart))
        weights = measured_weights(chosen.config, history.slot_cpu)
        return proposal_of(chosen, plan, allocated(chosen.config, self.bounds.allocator, weights))

    def step_from(self, seen: LoadHistory, current: Config) -> ChosenConfig:
        """The current configuration, or one that is a step away from it."""
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
        return ChosenConfig(Config(parallelism, nodes, own), seen.latest(), not helpless, (*reasons, *helpless))

    def _helpless(self, seen: LoadHistory, current: Config) -> list[str]:
        """What is in stress and has all there may be."""
        limits = self.bounds.thresholds
        found = [
            f"{topology}: {operator.name} is in stress with all slots it may have"
            for topology, dataflow in self.dataflows.items()
            for operator in dataflow.operators
            if topology in current.parallelism
            and max(seen.slot_cpu.get((topology, operator.name), ()), default=0.0) > limits.core_max
            and current.parallelism[topology][operator.name] >= operator.most
        ]
        if max(seen.node_cpu, default=0.0) > limits.cpu_max and current.nodes >= self.bounds.most_nodes:
            found.append(f"a node is in stress and there are all {current.nodes} already")
        return found

    def _steps(self, seen: LoadHistory, current: Config) -> list[SlotStep]:
        """What is to be done with operators: those in stress first, the worst before the others, then the idlest."""
        found = []
        for topology, dataflow in self.dataflows.items():
            for operator in dataflow.operators if topology in current.parallelism else ():
                used = seen.slot_cpu.get((topology, operator.name), ())
                slots = _step(operator, current.parallelism[topology][operator.name], used, self.bounds.thresholds)
                if slots:
                    found.append(SlotStep(topology, operator.name, slots, max(used)))
        found.sort(key=lambda step: (-step.slots, -step.slots * step.used))
        return found if self.at_once else found[:1]


@dataclass(frozen=True)
class SlotStep:
    """One slot more or less for an operator.

    Attributes:
        topology: whose operator it is.
        operator: its name.
        slots: 1 or -1.
        used: share of a core that its busiest slot uses.
    """

    topology: str
    operator: str
    slots: int
    used: float


def _step(operator: ScalableOperator, slots: int, used: tuple[float, ...], limits: Thresholds) -> int:
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
