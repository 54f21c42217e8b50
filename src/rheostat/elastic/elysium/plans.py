"""Converts ELYSIUM's configurations to plans and back.

ELYSIUM scales several topologies in one cluster. Plans and observations contain the operators of all of them, named
``topology/operator``. A configuration has only numbers of slots and nodes, so its plan spreads the shards of an
operator evenly over its slots, and an allocator assigns the slots to nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rheostat.elastic.elysium.allocator import NodeSlots, RoundRobinAllocator, allocate_config
from rheostat.elastic.elysium.configuration import NO_LOAD, ChosenConfig, Config
from rheostat.elastic.elysium.dataflow import Dataflow
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.errors import ConfigurationError

_SEPARATOR = "/"
"""Between the topology and the operator in the name of an operator."""

NOT_MEASURED = Proposal(reasons=(NO_LOAD,))
"""The proposal before any input load was measured: change nothing."""


def full_name(topology: str, operator: str) -> str:
    """Return the name of an operator in plans and observations.

    >>> full_name("words", "count")
    'words/count'
    """
    return f"{topology}{_SEPARATOR}{operator}"


def parts_of(name: str) -> tuple[str, str]:
    """Split the name of an operator in plans into topology and operator.

    >>> parts_of("words/count")
    ('words', 'count')
    """
    topology, separator, operator = name.partition(_SEPARATOR)
    if not separator:
        raise ConfigurationError(f"operator {name!r}: ELYSIUM needs names of the form topology{_SEPARATOR}operator")
    return topology, operator


def check_plan(plan: Plan, dataflows: Mapping[str, Dataflow]) -> None:
    """Raise an error unless the plan has exactly the operators of the dataflows of its topologies."""
    expected = {full_name(t, o.name) for t, flow in dataflows.items() for o in flow.operators}
    topologies = {parts_of(name)[0] for name in plan.operators}
    missing = {name for name in expected if parts_of(name)[0] in topologies} - set(plan.operators)
    unknown = set(plan.operators) - expected
    if missing or unknown:
        raise ConfigurationError(
            f"plan and dataflows do not match: the plan lacks {sorted(missing)}, the dataflows lack {sorted(unknown)}; "
            "pass ELYSIUM a dataflow with exactly the operators of each topology of the plan"
        )


def plan_of(config: Config, dataflows: Mapping[str, Dataflow], where: NodeSlots | None = None) -> Plan:
    """Return a first plan for a configuration, with as many shards per operator as it can ever have slots.

    Args:
        config: slots and nodes.
        dataflows: operators and streams, by topology.
        where: number of slots of every operator on every node; round robin if None.

    >>> from rheostat.elastic.elysium.dataflow import ScalableOperator
    >>> words = Dataflow("t", (ScalableOperator("split"), ScalableOperator("count")), (("split", "count"),))
    >>> plan = plan_of(Config({"t": {"split": 2, "count": 1}}, nodes=2), {"t": words})
    >>> {name: part.nodes.tolist() for name, part in plan.operators.items()}
    {'t/split': [0, 1], 't/count': [0]}
    """
    where = where or allocate_config(config, RoundRobinAllocator(), {})
    most = {(t, o.name): o.most for t, flow in dataflows.items() for o in flow.operators}
    operators = {}
    for topology, parallelism in config.parallelism.items():
        for row, (name, slots) in enumerate(parallelism.items()):
            shards = max(most[topology, name], slots)
            operators[full_name(topology, name)] = _spread(shards, slots, where, topology, row)
    return Plan(operators, config.nodes)


def config_of(plan: Plan, apart: bool) -> Config:
    """Return the configuration of a plan.

    Args:
        plan: a plan whose operators are named ``topology/operator``.
        apart: True to find the nodes of each topology, if the plan keeps topologies on different nodes.

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
    own = _own_nodes(first, last, plan.nodes) if apart and len(parallelism) > 1 else None
    return Config(parallelism, plan.nodes, own)


def _own_nodes(first: Mapping[str, int], last: Mapping[str, int], nodes: int) -> dict[str, int] | None:
    """Return the number of nodes of each topology; None if topologies share nodes.

    Args:
        first: first node with a slot, by topology; the topology's range of nodes begins there.
        last: last node with a slot, by topology.
        nodes: number of nodes of the plan.
    """
    names = list(first)
    begins = [first[name] for name in names] + [nodes]
    if begins[0] != 0 or any(last[name] >= end for name, end in zip(names, begins[1:], strict=True)):
        return None
    return {name: int(count) for name, count in zip(names, np.diff(begins), strict=True)}


def proposal_of(chosen: ChosenConfig, plan: Plan, where: NodeSlots) -> Proposal:
    """Return the changes that turn a plan into a chosen configuration, to be applied together.

    Args:
        chosen: the configuration, for the operators of the plan.
        plan: the plan in force.
        where: number of slots of every operator on every node.
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


def _spread(shards: int, slots: int, where: NodeSlots, topology: str, row: int) -> OperatorPlan:
    """Return a plan with the shards spread evenly over the slots; ``row`` is the operator's place in ``where``."""
    even = OperatorPlan.even(shards, slots)
    return OperatorPlan(even.routing, np.repeat(np.arange(where.nodes), where.counts[topology][row]))
