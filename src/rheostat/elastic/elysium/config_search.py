"""Chooses a configuration for given input loads in two stages: slots of operators, then nodes (Algorithm 1).

It differs from the paper's listing in four points:

- The listing removes slots of an idle operator even if the remaining ones would be in stress. Here it does not.
- The listing never ends if a single slot overloads a node. Here the search ends at ``most_nodes``, or when every slot
  has a node of its own, and returns the best configuration found, marked as infeasible.
- Topologies can have nodes of their own, as in the paper's Fig. 12.
- A topology whose input load is unknown keeps its slots and nodes; the others are scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.elastic.elysium.allocator import (
    Allocator,
    NodeSlots,
    RoundRobinAllocator,
    SlotCpu,
    Weights,
    allocate_config,
    measured_weights,
)
from rheostat.elastic.elysium.configuration import NO_LOAD, ChosenConfig, Config, Parallelism, Thresholds
from rheostat.elastic.elysium.estimator import Estimator, Loads
from rheostat.elastic.model.units import rows_per_second
from rheostat.errors import ConfigurationError


@dataclass(frozen=True)
class Bounds:
    """Limits and options of the search for a configuration.

    Attributes:
        most_nodes: maximum number of nodes of the cluster.
        thresholds: utilisation above which slots and nodes are in stress.
        allocator: assigns slots to nodes.
        apart: True to give every topology nodes of its own.

    >>> from rheostat.elastic.elysium import Dataflow, Line, Profiles, ScalableOperator
    >>> sums = Profiles(Dataflow("t", (ScalableOperator("sum", most=8),), ()), {}, {"sum": Line(base=0.0, slope=1e6)})
    >>> estimator = Estimator({"t": sums}, overhead=Line(0.0, 1.0))
    >>> [compute_config(estimator, {"t": 9000.0}, Bounds(most_nodes)).feasible for most_nodes in (1, 2)]  # 4 cores each
    [False, True]
    """

    most_nodes: int = 4
    thresholds: Thresholds = field(default_factory=Thresholds)
    allocator: Allocator = field(default_factory=RoundRobinAllocator)
    apart: bool = False

    def __post_init__(self) -> None:
        if self.most_nodes < 1:
            raise ConfigurationError(f"most_nodes={self.most_nodes}: the cluster needs at least 1 node")


@dataclass(frozen=True)
class Current:
    """The configuration that runs now, and what the search must respect.

    Attributes:
        config: current slots and nodes. A topology whose load is unknown keeps them.
        slot_cpu: measured share of a core that each slot uses. It replaces the estimate of topologies whose load is
            unknown; slots that were not measured count as 0.
        behind: topologies with a backlog, which are not scaled in.
    """

    config: Config
    slot_cpu: SlotCpu = field(default_factory=dict)
    behind: frozenset[str] = frozenset()


NOTHING = Current(Config({}, 0))
"""Nothing runs yet: a configuration is chosen for the first time."""


@dataclass(frozen=True)
class StageResult:
    """The result of one stage of the algorithm.

    Attributes:
        config: the chosen configuration; after the first stage still with the current number of nodes.
        feasible: True if this stage expects nothing to be in stress.
        reasons: why, in words and numbers.
    """

    config: Config
    feasible: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """A number of nodes, and how busy they would be.

    Attributes:
        nodes: number of nodes.
        worst: highest use of any resource of any node, relative to the resource's threshold.
        feasible: True if no node is in stress, so if ``worst`` is at most 1.
    """

    nodes: int
    worst: float
    feasible: bool


def compute_config(
    estimator: Estimator, loads: Loads, bounds: Bounds | None = None, current: Current | None = None
) -> ChosenConfig:
    """Choose the fewest slots that keep every operator out of stress, then the fewest nodes not in stress with them.

    Args:
        estimator: estimates the resources that a configuration uses.
        loads: rows per second, by topology; topologies that run now and are missing here keep their slots and nodes.
        bounds: limits and options of the search.
        current: the configuration that runs now; None if nothing runs yet.

    >>> from rheostat.elastic.elysium import Dataflow, Line, Profiles, ScalableOperator
    >>> words = Dataflow("words", (ScalableOperator("split"), ScalableOperator("count")), (("split", "count"),))
    >>> cpu = {"split": Line(base=0.0, slope=2e6), "count": Line(base=0.0, slope=5e5)}  # cycles per row
    >>> learned = Profiles(words, selectivity={("split", "count"): 10.0}, cpu=cpu)
    >>> chosen = compute_config(Estimator({"words": learned}, overhead=Line(0.0, 1.1)), loads={"words": 1000.0})
    >>> chosen.config.parallelism, chosen.config.nodes
    ({'words': {'split': 2, 'count': 4}}, 2)
    """
    bounds, current = bounds or Bounds(), current or NOTHING
    if not loads and current is not NOTHING:
        return ChosenConfig(current.config, {}, reasons=(NO_LOAD,))
    first = operator_stage(estimator, loads, bounds.thresholds, current)
    second = node_stage(estimator, first.config.parallelism, loads, bounds, current)
    feasible = first.feasible and second.feasible
    return ChosenConfig(second.config, dict(loads), feasible, (*first.reasons, *second.reasons))


def operator_stage(
    estimator: Estimator, loads: Loads, thresholds: Thresholds, current: Current = NOTHING
) -> StageResult:
    """Choose the number of slots of every operator (lines 2 to 9)."""
    now = current.config
    parallelism: dict[str, Mapping[str, int]] = {}
    reasons, feasible = [], True
    for topology in dict.fromkeys((*now.parallelism, *loads)):
        if topology not in loads:
            parallelism[topology] = now.parallelism[topology]
            reasons.append(f"{topology}: its load is unknown, so it keeps {_list_slots(parallelism[topology])}")
            continue
        load = loads[topology]
        _check_load(topology, load)
        parallelism[topology], stressed = slots_for(estimator, topology, load, thresholds)
        reasons.append(f"{topology}: {rows_per_second(load)} need {_list_slots(parallelism[topology])}")
        reasons += [f"{topology}: {name} stays in stress with its maximum number of slots" for name in stressed]
        feasible &= not stressed
        if topology in current.behind:
            before = now.parallelism.get(topology, {})
            parallelism[topology] = {name: max(n, before.get(name, n)) for name, n in parallelism[topology].items()}
            reasons.append(f"{topology}: it has a backlog, so it is not scaled in")
    return StageResult(Config(parallelism, now.nodes, now.own), feasible, tuple(reasons))


def slots_for(
    estimator: Estimator, topology: str, load: float, thresholds: Thresholds
) -> tuple[dict[str, int], list[str]]:
    """Return the number of slots of each operator of a topology, and the operators that stay in stress with them."""
    rates = estimator.input_rates(topology, load)
    chosen, stressed = {}, []
    for operator in estimator.topologies[topology].dataflow.operators:
        candidates = np.arange(operator.least, operator.most + 1)
        usage = estimator.slot_cpu(topology, operator.name, rates[operator.name] / candidates)
        enough = usage <= thresholds.core_max
        if not enough.any():
            stressed.append(operator.name)
        chosen[operator.name] = int(candidates[enough.argmax() if enough.any() else -1])
    return chosen, stressed


def node_stage(
    estimator: Estimator, parallelism: Parallelism, loads: Loads, bounds: Bounds, current: Current = NOTHING
) -> StageResult:
    """Choose the fewest nodes that are not in stress (lines 10 to 16), or the number that comes closest."""
    reasons = []
    wants_apart = bounds.apart and len(parallelism) > 1
    separate = _separate_nodes(estimator, parallelism, loads, bounds, current) if wants_apart else None
    if separate is not None:
        config, fits = separate
    else:
        # No nodes are removed while the load of a topology is unknown or a topology has a backlog.
        hold = any(topology not in loads or topology in current.behind for topology in parallelism)
        least = min(max(current.config.nodes, 1), bounds.most_nodes) if hold else 1
        fit = _fewest_nodes(
            estimator=estimator,
            parallelism=parallelism,
            loads=loads,
            bounds=bounds,
            most_nodes=bounds.most_nodes,
            least_nodes=least,
            current=current,
        )
        config, fits = Config(parallelism, fit.nodes), [fit]
        if wants_apart:
            reasons.append(f"topologies share nodes: not each can have nodes of its own among {bounds.most_nodes}")
    total = Fit(config.nodes, max(fit.worst for fit in fits), all(fit.feasible for fit in fits))
    reasons.append(nodes_text(total))
    if not total.feasible:
        reasons.append(f"up to {bounds.most_nodes} nodes are not enough: this is the best configuration found")
    return StageResult(config, total.feasible and (separate is not None or not wants_apart), tuple(reasons))


def nodes_text(fit: Fit) -> str:
    """Return a number of nodes and how busy they are, for the reasons of a decision.

    >>> nodes_text(Fit(nodes=3, worst=0.5, feasible=True))
    '3 nodes: the busiest uses 50% of its threshold'
    """
    return f"{fit.nodes} {'node' if fit.nodes == 1 else 'nodes'}: the busiest uses {fit.worst:.0%} of its threshold"


def evaluate_config(
    estimator: Estimator, config: Config, loads: Loads, bounds: Bounds, current: Current = NOTHING
) -> Fit:
    """Return how busy the nodes of a given configuration would be."""
    weights = expected_weights(estimator, config.parallelism, loads, current)
    allocation = allocate_config(config, bounds.allocator, weights)
    worst = _highest_use(estimator, allocation, weights, loads, bounds.thresholds)
    return Fit(config.nodes, worst, worst <= 1.0)


def _fewest_nodes(
    estimator: Estimator,
    parallelism: Parallelism,
    loads: Loads,
    bounds: Bounds,
    most_nodes: int,
    least_nodes: int = 1,
    current: Current = NOTHING,
) -> Fit:
    """Return the fewest nodes that are not in stress, or the number with the lowest use if all are in stress."""
    weights = expected_weights(estimator, parallelism, loads, current)
    slots = sum(sum(operators.values()) for operators in parallelism.values())
    best: Fit | None = None
    for nodes in range(least_nodes, max(min(most_nodes, slots), least_nodes) + 1):
        allocation = bounds.allocator.allocate(parallelism, nodes, weights)
        worst = _highest_use(estimator, allocation, weights, loads, bounds.thresholds)
        if worst <= 1.0:
            return Fit(nodes, worst, True)
        if best is None or worst < best.worst:
            best = Fit(nodes, worst, False)
    assert best is not None
    return best


def expected_weights(estimator: Estimator, parallelism: Parallelism, loads: Loads, current: Current) -> Weights:
    """Return the share of a core that one slot of every operator uses; measured if its load is unknown."""
    with_load = {topology: operators for topology, operators in parallelism.items() if topology in loads}
    return {**measured_weights(parallelism, current.slot_cpu), **estimator.slot_cpus(with_load, loads)}


def _highest_use(
    estimator: Estimator,
    allocation: NodeSlots,
    slot_cpus: Weights,
    loads: Loads,
    thresholds: Thresholds,
) -> float:
    """Return the highest use of any resource of any node, relative to its threshold; above 1 the node is in stress."""
    highest = float(estimator.node_cpus(allocation, slot_cpus).max()) / thresholds.cpu_max
    memory, bandwidth = estimator.node_memory(allocation, loads), estimator.node_bandwidth(allocation, loads)
    if memory is not None:
        highest = max(highest, float(memory.max()) / thresholds.memory_max)
    if bandwidth is not None:
        highest = max(highest, float(bandwidth.max()) / thresholds.bandwidth_max)
    return highest


def _separate_nodes(
    estimator: Estimator, parallelism: Parallelism, loads: Loads, bounds: Bounds, current: Current
) -> tuple[Config, list[Fit]] | None:
    """Choose nodes for each topology alone; each topology leaves at least one node for every topology after it.

    Returns:
        The configuration, and the fit of every topology with a load. None if there are not enough nodes, or if a
        topology whose load is unknown has no nodes of its own now.
    """
    before = current.config.own or {}
    kept = {topology: before.get(topology, 0) for topology in parallelism if topology not in loads}
    left, undecided = bounds.most_nodes - sum(kept.values()), len(parallelism) - len(kept)
    if left < undecided or not all(kept.values()):
        return None
    own, fits = {}, []
    for topology, operators in parallelism.items():
        if topology in kept:
            own[topology] = kept[topology]
            continue
        undecided -= 1
        most = left - undecided
        least = min(before.get(topology, 1), most) if topology in current.behind else 1
        fit = _fewest_nodes(estimator, {topology: operators}, {topology: loads[topology]}, bounds, most, least)
        own[topology] = fit.nodes
        fits.append(fit)
        left -= fit.nodes
    return Config(parallelism, sum(own.values()), own), fits


def _check_load(topology: str, load: float) -> None:
    if not 0 <= load < np.inf:
        raise ConfigurationError(f"input load of topology {topology!r}: {load} must be finite and not negative")


def _list_slots(operators: Mapping[str, int]) -> str:
    return ", ".join(f"{slots} of {name}" for name, slots in operators.items())
