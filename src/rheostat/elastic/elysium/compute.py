"""The configuration for an input load, in two stages: operators first, then nodes (ELYSIUM's Algorithm 1).

Three things that the listing leaves open are settled here. Its second loop lowers the parallelism of an idle operator
even if the slots that remain would be in stress; here it does not. Its last loop adds nodes for ever if a slot alone is
too much for a node; here it ends at ``most_nodes``, or where every slot has a node of its own, with the best there is
and the word that it is not enough. And topologies may be given nodes of their own, as the paper's Fig. 12 shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.elastic.elysium.allocator import Allocation, Allocator, RoundRobin
from rheostat.elastic.elysium.config import Config, Decision, Parallelism, Thresholds
from rheostat.elastic.elysium.estimator import Estimator, Loads
from rheostat.errors import TopologyError


@dataclass(frozen=True)
class Bounds:
    """How a configuration is looked for.

    Attributes:
        most_nodes: that the cluster may have.
        apart: every topology gets nodes of its own.
    """

    most_nodes: int = 4
    thresholds: Thresholds = field(default_factory=Thresholds)
    allocator: Allocator = field(default_factory=RoundRobin)
    apart: bool = False

    def __post_init__(self) -> None:
        if self.most_nodes < 1:
            raise TopologyError(f"a cluster of at most {self.most_nodes} nodes runs nothing: allow at least 1")


@dataclass(frozen=True)
class Fit:
    """A number of nodes, and how they would do.

    Attributes:
        worst: the highest share that any node uses of any resource, relative to that resource's threshold.
        feasible: whether nothing is in stress.
    """

    nodes: int
    worst: float
    feasible: bool


def compute_config(estimator: Estimator, loads: Loads, bounds: Bounds | None = None) -> Decision:
    """The fewest slots that keep every operator out of stress, on the fewest nodes that are not in stress then."""
    bounds = bounds or Bounds()
    clean = {topology: _checked(topology, load) for topology, load in loads.items()}
    parallelism: dict[str, dict[str, int]] = {}
    reasons: list[str] = []
    for topology, load in clean.items():
        parallelism[topology], stressed = operator_stage(estimator, topology, load, bounds.thresholds)
        reasons += [f"{topology}: {load:.4g} rows/s need {_listed(parallelism[topology])}"]
        reasons += [f"{topology}: {name} stays in stress with all slots it may have" for name in stressed]
    limited = any("stays in stress" in reason for reason in reasons)
    if bounds.apart and len(clean) > 1:
        config, fits = _apart(estimator, parallelism, clean, bounds)
    else:
        fit = node_stage(estimator, parallelism, clean, bounds, bounds.most_nodes)
        config, fits = Config(parallelism, fit.nodes), [fit]
    worst = max(fit.worst for fit in fits)
    reasons.append(f"{config.nodes} nodes: the busiest uses {worst:.0%} of what it may")
    if not all(fit.feasible for fit in fits):
        reasons.append(f"up to {bounds.most_nodes} nodes are not enough: this is the best there is")
    return Decision(config, clean, not limited and all(fit.feasible for fit in fits), tuple(reasons))


def operator_stage(
    estimator: Estimator, topology: str, load: float, thresholds: Thresholds
) -> tuple[dict[str, int], list[str]]:
    """The parallelism of every operator (lines 2 to 9), and the operators that stay in stress all the same."""
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
    estimator: Estimator, parallelism: Parallelism, loads: Loads, bounds: Bounds, most_nodes: int, least_nodes: int = 1
) -> Fit:
    """The fewest nodes that are not in stress (lines 10 to 16), or those that come closest."""
    weights = estimator.slot_cpus(parallelism, loads)
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


def _stress(
    estimator: Estimator,
    allocation: Allocation,
    slot_cpus: Mapping[str, Mapping[str, float]],
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


def _apart(estimator: Estimator, parallelism: Parallelism, loads: Loads, bounds: Bounds) -> tuple[Config, list[Fit]]:
    """Nodes for each topology alone; where the cluster ends, those that come later keep at least one each."""
    own, fits, left = {}, [], bounds.most_nodes
    if left < len(parallelism):
        raise TopologyError(f"{len(parallelism)} topologies cannot have nodes of their own among {left}")
    for position, (topology, operators) in enumerate(parallelism.items()):
        most = left - (len(parallelism) - position - 1)
        fit = node_stage(estimator, {topology: operators}, {topology: loads[topology]}, bounds, most)
        own[topology] = fit.nodes
        fits.append(fit)
        left -= fit.nodes
    return Config(parallelism, sum(own.values()), own), fits


def _checked(topology: str, load: float) -> float:
    if not 0 <= load < np.inf:
        raise TopologyError(f"the input load of topology {topology!r} is {load}: it must be a number from 0 on")
    return float(load)


def _listed(operators: Mapping[str, int]) -> str:
    return ", ".join(f"{slots} of {name}" for name, slots in operators.items())
