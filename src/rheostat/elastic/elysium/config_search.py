"""The configuration for an input load, in two stages: operators first, then nodes (ELYSIUM's Algorithm 1).

Four things that the listing leaves open are settled here. Its second loop lowers the parallelism of an idle operator
even if the slots that remain would be in stress; here it does not. Its last loop never ends if a slot alone is too much
for a node; here it ends at ``most_nodes``, or where every slot has a node of its own, with the best configuration there
is, marked as infeasible. Topologies may be given nodes of their own, as the paper's Fig. 12 shows them. And a
topology whose input load is not known keeps what it has, while the others are provided for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.elastic.elysium.allocator import Allocator, NodeSlots, RoundRobinAllocator, Weights, allocated
from rheostat.elastic.elysium.configuration import ChosenConfig, Config, Parallelism, Thresholds
from rheostat.elastic.elysium.estimator import Estimator, Loads
from rheostat.errors import ConfigurationError


@dataclass(frozen=True)
class Bounds:
    """How a configuration is looked for.

    Attributes:
        most_nodes: that the cluster may have.
        thresholds: from where on slots and nodes are in stress.
        allocator: decides which slot runs on which node.
        apart: every topology gets nodes of its own.
    """

    most_nodes: int = 4
    thresholds: Thresholds = field(default_factory=Thresholds)
    allocator: Allocator = field(default_factory=RoundRobinAllocator)
    apart: bool = False

    def __post_init__(self) -> None:
        if self.most_nodes < 1:
            raise ConfigurationError(f"a cluster of at most {self.most_nodes} nodes runs nothing: allow at least 1")


@dataclass(frozen=True)
class Current:
    """What runs now, and of which topologies it may not become less.

    A topology without a known input load keeps exactly what it has.

    Attributes:
        config: slots and nodes.
        slot_cpu: share of a core that each slot was seen to use, by topology and operator; the slots of a topology
            without a known load count with it, or as nothing where it was not measured.
        behind: topologies with a backlog, of which nothing is scaled in.
    """

    config: Config
    slot_cpu: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
    behind: frozenset[str] = frozenset()

    def used(self, topology: str, operator: str) -> float:
        """What one slot of an operator used on average."""
        return float(np.mean(self.slot_cpu.get((topology, operator)) or (0.0,)))


NOTHING = Current(Config({}, 0))


@dataclass(frozen=True)
class Stage:
    """What a stage of the algorithm came to.

    Attributes:
        config: with the nodes there are now after the first stage, with the right ones after the second.
        feasible: True if nothing is in stress, as far as this stage can tell.
        reasons: in words and numbers.
    """

    config: Config
    feasible: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """A number of nodes, and how they would do.

    Attributes:
        nodes: how many.
        worst: the highest share that any node uses of any resource, relative to that resource's threshold.
        feasible: True if nothing is in stress.
    """

    nodes: int
    worst: float
    feasible: bool


def compute_config(
    estimator: Estimator, loads: Loads, bounds: Bounds | None = None, current: Current | None = None
) -> ChosenConfig:
    """The fewest slots that keep every operator out of stress, on the fewest nodes that are not in stress then.

    Args:
        loads: by topology; those that run now and are missing here keep their slots and nodes.
    """
    bounds, current = bounds or Bounds(), current or NOTHING
    if not loads and current is not NOTHING:
        return ChosenConfig(current.config, {}, reasons=("no input load has been measured yet",))
    first = operator_stage(estimator, loads, bounds.thresholds, current)
    second = node_stage(estimator, first.config.parallelism, loads, bounds, current)
    feasible = first.feasible and second.feasible
    return ChosenConfig(second.config, dict(loads), feasible, (*first.reasons, *second.reasons))


def operator_stage(estimator: Estimator, loads: Loads, thresholds: Thresholds, current: Current = NOTHING) -> Stage:
    """The parallelism of every operator (lines 2 to 9)."""
    now = current.config
    parallelism: dict[str, Mapping[str, int]] = {}
    reasons, feasible = [], True
    for topology in dict.fromkeys((*now.parallelism, *loads)):
        if topology not in loads:
            parallelism[topology] = now.parallelism[topology]
            reasons.append(f"{topology}: its load is not known yet, so it keeps {_listed(parallelism[topology])}")
            continue
        load = _checked(topology, loads[topology])
        parallelism[topology], stressed = slots_for(estimator, topology, load, thresholds)
        reasons.append(f"{topology}: {load:.4g} rows/s need {_listed(parallelism[topology])}")
        reasons += [f"{topology}: {name} stays in stress with all slots it may have" for name in stressed]
        feasible &= not stressed
        if topology in current.behind:
            before = now.parallelism.get(topology, {})
            parallelism[topology] = {name: max(n, before.get(name, n)) for name, n in parallelism[topology].items()}
            reasons.append(f"{topology}: it has a backlog, so nothing is scaled in")
    return Stage(Config(parallelism, now.nodes, now.own), feasible, tuple(reasons))


def slots_for(
    estimator: Estimator, topology: str, load: float, thresholds: Thresholds
) -> tuple[dict[str, int], list[str]]:
    """The parallelism of one topology's operators, and the operators that stay in stress all the same."""
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
) -> Stage:
    """The fewest nodes that are not in stress (lines 10 to 16), or those that come closest."""
    unknown, reasons = [t for t in parallelism if t not in loads], []
    apart = _apart(estimator, parallelism, loads, bounds, current) if bounds.apart and len(parallelism) > 1 else None
    if apart is not None:
        config, fits = apart
    else:
        # What a topology with an unknown load needs is not known, and what one with a backlog needs is what it has.
        held = bool(unknown) or any(topology in current.behind for topology in parallelism)
        least = min(max(current.config.nodes, 1), bounds.most_nodes) if held else 1
        fit = _fit(estimator, parallelism, loads, bounds, bounds.most_nodes, least, current)
        config, fits = Config(parallelism, fit.nodes), [fit]
        if bounds.apart and len(parallelism) > 1:
            reasons.append(f"not every topology can have nodes of its own among {bounds.most_nodes}: they share them")
    worst, feasible = max(fit.worst for fit in fits), all(fit.feasible for fit in fits)
    reasons.append(f"{config.nodes} nodes: the busiest uses {worst:.0%} of what it may")
    if not feasible:
        reasons.append(f"up to {bounds.most_nodes} nodes are not enough: this is the best there is")
    return Stage(config, feasible and (apart is not None or not bounds.apart or len(parallelism) < 2), tuple(reasons))


def judged(estimator: Estimator, config: Config, loads: Loads, bounds: Bounds, current: Current = NOTHING) -> Fit:
    """How a configuration would do that was chosen elsewhere."""
    weights = weights_of(estimator, config.parallelism, loads, current)
    worst = _stress(estimator, allocated(config, bounds.allocator, weights), weights, loads, bounds.thresholds)
    return Fit(config.nodes, worst, worst <= 1.0)


def _fit(
    estimator: Estimator,
    parallelism: Parallelism,
    loads: Loads,
    bounds: Bounds,
    most_nodes: int,
    least_nodes: int = 1,
    current: Current = NOTHING,
) -> Fit:
    weights = weights_of(estimator, parallelism, loads, current)
    slots = sum(sum(operators.values()) for operators in parallelism.values())
    best: Fit | None = None
    for nodes in range(least_nodes, max(min(most_nodes, slots), least_nodes) + 1):
        allocation = bounds.allocator.allocate(parallelism, nodes, weights)
        worst = _stress(estimator, allocation, weights, loads, bounds.thresholds)
        if worst <= 1.0:
            return Fit(nodes, worst, True)
        if best is None or worst < best.worst:
            best = Fit(nodes, worst, False)
    assert best is not None
    return best


def weights_of(estimator: Estimator, parallelism: Parallelism, loads: Loads, current: Current) -> Weights:
    """Share of a core that one slot of every operator uses: estimated, or measured where no load is known."""
    known = estimator.slot_cpus({t: operators for t, operators in parallelism.items() if t in loads}, loads)
    return {
        topology: known[topology] if topology in known else {name: current.used(topology, name) for name in operators}
        for topology, operators in parallelism.items()
    }


def _stress(
    estimator: Estimator,
    allocation: NodeSlots,
    slot_cpus: Weights,
    loads: Loads,
    thresholds: Thresholds,
) -> float:
    """The highest use of any node and resource, relative to its threshold: up to 1 there is no stress."""
    found = float(estimator.node_cpus(allocation, slot_cpus).max()) / thresholds.cpu_max
    memory, bandwidth = estimator.node_memory(allocation, loads), estimator.node_bandwidth(allocation, loads)
    if memory is not None:
        found = max(found, float(memory.max()) / thresholds.memory_max)
    if bandwidth is not None:
        found = max(found, float(bandwidth.max()) / thresholds.bandwidth_max)
    return found


def _apart(
    estimator: Estimator, parallelism: Parallelism, loads: Loads, bounds: Bounds, current: Current
) -> tuple[Config, list[Fit]] | None:
    """Nodes for each topology alone; where the cluster ends, those that come later get at least one each.

    None if there are not enough nodes for that, or a topology with an unknown load has none of its own now.
    """
    before = current.config.own or {}
    kept = {topology: before.get(topology, 0) for topology in parallelism if topology not in loads}
    left, waiting = bounds.most_nodes - sum(kept.values()), len(parallelism) - len(kept)
    if left < waiting or not all(kept.values()):
        return None
    own, fits = {}, []
    for topology, operators in parallelism.items():
        if topology in kept:
            own[topology] = kept[topology]
            continue
        waiting -= 1
        most, least = left - waiting, before.get(topology, 1) if topology in current.behind else 1
        fit = _fit(estimator, {topology: operators}, {topology: loads[topology]}, bounds, most, min(least, most))
        own[topology] = fit.nodes
        fits.append(fit)
        left -= fit.nodes
    return Config(parallelism, sum(own.values()), own), fits


def _checked(topology: str, load: float) -> float:
    if not 0 <= load < np.inf:
        raise ConfigurationError(f"the input load of topology {topology!r} is {load}: it must be a number from 0 on")
    return float(load)


def _listed(operators: Mapping[str, int]) -> str:
    return ", ".join(f"{slots} of {name}" for name, slots in operators.items())
