"""Joint scaling, the baseline ELYSIUM is compared with (section 5.2).

It uses measured CPU, not estimates:

- If an operator is in stress, it gets one more slot, and the cluster one more node.
- If an operator is idle, it loses one slot; the number of nodes stays.
- If no operator changes, nodes can: one more if any node is in stress, one less if all nodes are idle.

If topologies have nodes of their own, a new node goes to the topology that needs it, and a removed node comes from the
topology with the most nodes.

Without estimates it cannot tell whether a step is enough. A decision counts as infeasible only if an operator in stress
has its maximum number of slots, or if a node is in stress and the cluster has its maximum number of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rheostat.elastic.elysium.allocator import allocate_config, measured_weights
from rheostat.elastic.elysium.config_search import Bounds
from rheostat.elastic.elysium.configuration import ChosenConfig, Config, Thresholds
from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
from rheostat.elastic.elysium.elysium import AT_ONCE
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.elysium.plans import check_plan, config_of, proposal_of
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits


@dataclass(frozen=True)
class JointScaling:
    """Scales by one slot and one node at a time.

    It runs in the testbed of ``papers/elysium``; ``LiveJointScaling`` is the policy for a query on Spark.

    Attributes:
        dataflows: operators and streams, by topology.
        bounds: maximum number of nodes, thresholds, and the allocator of slots to nodes.
        at_once: True to give a slot to every operator in stress, and take one from every idle operator, in the same
            decision. False to change one operator at a time, as the paper says: the one most in stress, or else the
            idlest.
        name: the policy's name in reports.
        waits: time limits and rests of its changes.

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
        """Return an empty history."""
        check_plan(plan, self.dataflows)
        return LoadHistory()

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """Return the history with the CPU use of the last interval."""
        return history.after(observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """Propose one step, or no change."""
        chosen = self.step_from(history, config_of(plan, self.bounds.apart))
        weights = measured_weights(chosen.config.parallelism, history.slot_cpu)
        return proposal_of(chosen, plan, allocate_config(chosen.config, self.bounds.allocator, weights))

    def step_from(self, history: LoadHistory, current: Config) -> ChosenConfig:
        """Return the configuration one step away from the current one, or the current one."""
        steps = self._slot_steps(history, current)
        parallelism = {topology: dict(operators) for topology, operators in current.parallelism.items()}
        for step in steps:
            parallelism[step.topology][step.operator] += step.slots
        grown = [step.topology for step in steps if step.slots > 0]
        change = int(bool(grown)) if steps else _node_step(history.node_cpu, self.bounds.thresholds)
        own = _own_after(current.own, change, grown or _owners(current, history.node_cpu), self.bounds.most_nodes)
        nodes = sum(own.values()) if own else max(1, min(current.nodes + change, self.bounds.most_nodes))
        reasons = [
            f"{step.topology}: {step.slots:+d} slot of {step.operator}, the busiest uses {step.used:.0%} of a core"
            for step in steps
        ]
        if nodes != current.nodes:
            reasons.append(f"nodes: {current.nodes} to {nodes}")
        stuck = self._stuck(history, current)
        return ChosenConfig(Config(parallelism, nodes, own), history.latest(), not stuck, (*reasons, *stuck))

    def _stuck(self, history: LoadHistory, current: Config) -> list[str]:
        """Return a text for every operator, and for the nodes, that are in stress with their maximum number."""
        limits = self.bounds.thresholds
        stuck = [
            f"{topology}: {operator.name} is in stress with its maximum number of slots"
            for topology, dataflow in self.dataflows.items()
            for operator in dataflow.operators
            if topology in current.parallelism
            and max(history.slot_cpu.get((topology, operator.name), ()), default=0.0) > limits.core_max
            and current.parallelism[topology][operator.name] >= operator.most
        ]
        if max(history.node_cpu, default=0.0) > limits.cpu_max and current.nodes >= self.bounds.most_nodes:
            stuck.append(f"a node is in stress with the maximum number of nodes, {current.nodes}")
        return stuck

    def _slot_steps(self, history: LoadHistory, current: Config) -> list[SlotStep]:
        """Return the first step, or with ``at_once`` all of them: operators in stress before idle ones.

        The busiest operator in stress comes first, and the idlest operator before other idle ones.
        """
        steps = []
        for topology, dataflow in self.dataflows.items():
            for operator in dataflow.operators if topology in current.parallelism else ():
                used = history.slot_cpu.get((topology, operator.name), ())
                slots = _slot_step(operator, current.parallelism[topology][operator.name], used, self.bounds.thresholds)
                if slots:
                    steps.append(SlotStep(topology, operator.name, slots, max(used)))
        steps.sort(key=lambda step: (-step.slots, -step.slots * step.used))
        return steps if self.at_once else steps[:1]


@dataclass(frozen=True)
class SlotStep:
    """One slot more or less for an operator.

    Attributes:
        topology: name of the operator's topology.
        operator: name of the operator.
        slots: 1 to add a slot, -1 to remove one.
        used: share of a core that the operator's busiest slot uses.
    """

    topology: str
    operator: str
    slots: int
    used: float


def _slot_step(operator: ScalableOperator, slots: int, used: tuple[float, ...], limits: Thresholds) -> int:
    """Return 1 if any slot is in stress, -1 if all are idle, 0 otherwise or if the operator is at its bound."""
    if not used:
        return 0
    if max(used) > limits.core_max and slots < operator.most:
        return 1
    if max(used) < limits.core_min and slots > operator.least:
        return -1
    return 0


def _node_step(used: tuple[float, ...], limits: Thresholds) -> int:
    """Return 1 if any node is in stress, -1 if all are idle, 0 otherwise."""
    if not used:
        return 0
    if max(used) > limits.cpu_max:
        return 1
    return -1 if max(used) < limits.cpu_min else 0


def _owners(current: Config, used: tuple[float, ...]) -> list[str]:
    """Return the topology of every node, the busiest node first; nodes are numbered in the order of ``own``."""
    owners = [topology for topology, nodes in (current.own or {}).items() for _ in range(nodes)]
    return [owner for _, owner in sorted(zip(used, owners, strict=False), key=lambda pair: -pair[0])]


def _own_after(own: Mapping[str, int] | None, change: int, needy: list[str], most: int) -> dict[str, int] | None:
    """Return the number of nodes of each topology after a step; None if topologies share nodes.

    Args:
        own: number of nodes by topology before the step; None if topologies share nodes.
        change: 1 to add a node to the first topology that needs one, -1 to remove one from the topology with most.
        needy: topologies that need a node, the neediest first.
        most: maximum number of nodes of the cluster.
    """
    if own is None:
        return None
    after = dict(own)
    if change > 0 and needy and sum(after.values()) < most:
        after[needy[0]] += 1
    if change < 0 and max(after.values()) > 1:
        after[max(after, key=lambda topology: after[topology])] -= 1
    return after
