"""ELYSIUM's configurations as plans, and plans as configurations.

ELYSIUM scales several topologies in one cluster. In a plan and in observations the operators of all of them stand side
by side under the name ``topology/operator``. ELYSIUM counts slots and nodes only, so a configuration becomes a plan in
which the shards of an operator are spread evenly over its slots, and the allocator says which slot is on which node.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rheostat.elastic.elysium.allocator import NodeSlots, RoundRobinAllocator, Weights, allocated
from rheostat.elastic.elysium.configuration import ChosenConfig, Config
from rheostat.elastic.elysium.dataflow import Dataflow
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.errors import ConfigurationError

_JOINT = "/"

NOT_MEASURED = Proposal(reasons=("no input load has been measured yet",))
"""What is proposed before anything is known."""


def full_name(topology: str, operator: str) -> str:
    """The name of an operator in plans and observations.

    >>> full_name("words", "count")
    'words/count'
    """
    return f"{topology}{_JOINT}{operator}"


def parts_of(name: str) -> tuple[str, str]:
    """The topology and the operator that a name stands for.

    >>> parts_of("words/count")
    ('words', 'count')
    """
    topology, joint, operator = name.partition(_JOINT)
    if not joint:
        raise ConfigurationError(f"operator {name!r}: ELYSIUM needs names of the form topology{_JOINT}operator")
    return topology, operator


def check_plan(plan: Plan, dataflows: Mapping[str, Dataflow]) -> None:
    """Refuse a plan whose operators are not those of the topologies."""
    wanted = {full_name(t, o.name) for t, flow in dataflows.items() for o in flow.operators}
    there = {parts_of(name)[0] for name in plan.operators}
    missing = {name for name in wanted if parts_of(name)[0] in there} - set(plan.operators)
    unknown = set(plan.operators) - wanted
    if missing or unknown:
        raise ConfigurationError(
            f"the plan lacks operators {sorted(missing)} and has {sorted(unknown)}, of which ELYSIUM has no dataflow"
        )


def plan_of(config: Config, dataflows: Mapping[str, Dataflow], where: NodeSlots | None = None) -> Plan:
    """The plan of a configuration to begin with: one shard for every slot that an operator may ever have.

    Args:
        config: slots and nodes.
        dataflows: by topology.
        where: how many slots are on which node; dealt out in turn if not given.

    >>> from rheostat.elastic.elysium.dataflow import ScalableOperator
    >>> words = Dataflow("t", (ScalableOperator("split"), ScalableOperator("count")), (("split", "count"),))
    >>> plan = plan_of(Config({"t": {"split": 2, "count": 1}}, nodes=2), {"t": words})
    >>> {name: part.nodes.tolist() for name, part in plan.operators.items()}
    {'t/split': [0, 1], 't/count': [0]}
    """
    where = where or allocated(config, RoundRobinAllocator(), {})
    most = {(t, o.name): o.most for t, flow in dataflows.items() for o in flow.operators}
    operators = {}
    for topology, parallelism in config.parallelism.items():
        for row, (name, slots) in enumerate(parallelism.items()):
            shards = max(most[topology, name], slots)
            operators[full_name(topology, name)] = _spread(shards, slots, where, topology, row)
    return Plan(operators, config.nodes)


def config_of(plan: Plan, apart: bool) -> Config:
    """The configuration of a plan.

    Args:
        plan: whose operators are named ``topology/operator``.
        apart: topologies have nodes of their own, if the plan keeps them on different nodes.

    >>> slots = OperatorPlan(np.array([0, 1, 1, 1]), np.array([0, 1]))
    >>> config_of(Plan({"t/a": slots, "u/b": OperatorPlan(slots.routing, slots.nodes + 2)}, 5), apart=True)
    Config(parallelism={'t': {'a': 2}, 'u': {'b': 2}}, nodes=5, own={'t': 2, 'u': 3})
    """
    parallelism: dict[str, dict[str, int]] = {}
    first, last = dict[str, int](), dict[str, int]()
    for name, part in plan.operators.items():
        topology, operator = parts_of(name)
        parallelism.setdefault(topology, {})[operator] = part.slots
        where = part.nodes[part.used]
        first[topology] = min(first.get(topology, plan.nodes), int(where.min(initial=plan.nodes)))
        last[topology] = max(last.get(topology, -1), int(where.max(initial=-1)))
    own = _own(first, last, plan.nodes) if apart and len(parallelism) > 1 else None
    return Config(parallelism, plan.nodes, own)


def _own(first: Mapping[str, int], last: Mapping[str, int], nodes: int) -> dict[str, int] | None:
    """Nodes by topology, if each has a range of its own that begins with its first slot; None if some are shared."""
    names = list(first)
    begins = [first[name] for name in names] + [nodes]
    if begins[0] != 0 or any(last[name] >= after for name, after in zip(names, begins[1:], strict=True)):
        return None
    return {name: int(count) for name, count in zip(names, np.diff(begins), strict=True)}


def proposal_of(chosen: ChosenConfig, plan: Plan, where: NodeSlots) -> Proposal:
    """What has to change for a chosen configuration; slots and nodes belong together.

    Args:
        chosen: by ELYSIUM, for the operators of the plan.
        plan: in force.
        where: how many slots are on which node.
    """
    revisions = []
    for topology, parallelism in chosen.config.parallelism.items():
        for row, (operator, slots) in enumerate(parallelism.items()):
            name = full_name(topology, operator)
            old = plan.operators[name]
            new = _spread(len(old.routing), slots, where, topology, row)
            if not new.same(old):
                action = Action.between(old.slots, new.slots)
                revisions.append(Revision(name, new, action, chosen.reasons, chosen.feasible))
    nodes = chosen.config.nodes if chosen.config.nodes != plan.nodes else None
    return Proposal(tuple(revisions), nodes, chosen.reasons, together=True, feasible=chosen.feasible)


def measured_weights(config: Config, slot_cpu: Mapping[tuple[str, str], tuple[float, ...]]) -> Weights:
    """What one slot of every operator used on average; 0 where it was not measured."""
    return {
        topology: {name: float(np.mean(slot_cpu.get((topology, name)) or (0.0,))) for name in parallelism}
        for topology, parallelism in config.parallelism.items()
    }


def _spread(shards: int, slots: int, where: NodeSlots, topology: str, row: int) -> OperatorPlan:
    even = OperatorPlan.even(shards, slots)
    return OperatorPlan(even.routing, np.repeat(np.arange(where.nodes), where.counts[topology][row]))
