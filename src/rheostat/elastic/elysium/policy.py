"""ELYSIUM as a policy: from what was observed to the next configuration (section 3.2).

Reactive, it takes the input load of the last minute. Proactive, it takes the highest that is forecast for the horizon.
Everything else is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from rheostat.elastic.elysium.compute import Bounds, compute_config, node_stage
from rheostat.elastic.elysium.config import Config, Decision
from rheostat.elastic.elysium.estimator import Estimator
from rheostat.elastic.forecasts.series import Series


@dataclass(frozen=True, eq=False)
class Observation:
    """What is known at an assessment, averaged over the last minute.

    Attributes:
        loads: input load of every past minute, by topology; the last value is the newest.
        slot_cpu: share of a core that each slot used, by topology and operator.
        node_cpu: share of its CPU that each node used.
        waiting: rows that have arrived and are not through, by topology.
    """

    loads: Mapping[str, Series]
    slot_cpu: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
    node_cpu: tuple[float, ...] = ()
    waiting: Mapping[str, float] = field(default_factory=dict)


class Policy(Protocol):
    """Chooses the next configuration."""

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The configuration for the next assessment period; the current one, if nothing is to change."""


@dataclass(frozen=True, eq=False)
class Elysium:
    """Symbiotic scaling: every operator gets the slots it needs, all of them get the nodes they need.

    Attributes:
        proactive: by the forecast in the profiles, not by the last minute.
        patience: the load counts as lower only after so many further minutes of it (0 in the paper): fewer
            reconfigurations for a little more of the time with more nodes than needed.
        catch_up: seconds within which rows that wait should be through (infinite in the paper): they then count as
            load, so that nothing is scaled in while there is a queue.
    """

    estimator: Estimator
    bounds: Bounds = field(default_factory=Bounds)
    proactive: bool = False
    patience: int = 0
    catch_up: float = np.inf

    def decide(self, seen: Observation, current: Config) -> Decision:
        """Algorithm 1, for the load to expect; topologies that nothing is known of yet keep what they have."""
        loads = {topology: self._load(topology, seen) for topology, series in seen.loads.items() if len(series)}
        if len(loads) < len(seen.loads):
            return Decision(current, loads, reasons=("no input load has been measured yet",))
        return compute_config(self.estimator, loads, self.bounds)

    def _load(self, topology: str, seen: Observation) -> float:
        series = seen.loads[topology]
        queue = max(seen.waiting.get(topology, 0.0), 0.0) / self.catch_up
        if self.proactive:
            return max(self.estimator.predicted_load(topology, series), 0.0) + queue
        return float(np.max(series.values[-(self.patience + 1) :])) + queue


@dataclass(frozen=True)
class Static:
    """Never changes anything."""

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The current configuration."""
        latest = {topology: float(series.values[-1]) for topology, series in seen.loads.items() if len(series)}
        return Decision(current, latest)


@dataclass(frozen=True, eq=False)
class OnlyOperators:
    """Scales operators and leaves the number of nodes alone (the paper's Fig. 9 and Fig. 10a)."""

    inner: Policy

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The other policy's parallelism on the nodes that are there."""
        found = self.inner.decide(seen, current)
        return replace(found, config=Config(found.config.parallelism, current.nodes, current.own))


@dataclass(frozen=True, eq=False)
class OnlyNodes:
    """Scales nodes for a parallelism that stays as it is (the paper's Fig. 9)."""

    estimator: Estimator
    bounds: Bounds = field(default_factory=Bounds)

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The second stage of Algorithm 1 alone."""
        loads = {topology: float(series.values[-1]) for topology, series in seen.loads.items() if len(series)}
        if len(loads) < len(seen.loads):
            return Decision(current, loads, reasons=("no input load has been measured yet",))
        fit = node_stage(self.estimator, current.parallelism, loads, self.bounds, self.bounds.most_nodes)
        reason = f"{fit.nodes} nodes: the busiest uses {fit.worst:.0%} of what it may"
        return Decision(Config(current.parallelism, fit.nodes), loads, fit.feasible, (reason,))
