"""ELYSIUM as a policy: from what was observed to the next configuration (section 3.2).

Reactive, it takes the input load of the last minute. Proactive, it takes the highest that is forecast for the horizon.
Everything else is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rheostat.elastic.elysium.algorithm1 import (
    Bounds,
    Current,
    compute_config,
    judged,
    node_stage,
    operator_stage,
    unchanged,
)
from rheostat.elastic.elysium.configuration import Config, Decision
from rheostat.elastic.elysium.estimator import Estimator
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.errors import TopologyError


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
        catch_up: seconds within which a backlog should be worked off: it counts as load, and while there is one nothing
            is scaled in. The paper looks at no queue, which is ``inf`` here.
        grace: seconds of input that may wait without being a backlog, as it always does after a restart.
    """

    estimator: Estimator
    bounds: Bounds = field(default_factory=Bounds)
    proactive: bool = False
    patience: int = 0
    catch_up: float = 120.0
    grace: float = 30.0

    def __post_init__(self) -> None:
        if not (self.catch_up > 0 and self.patience >= 0 and self.grace >= 0):
            raise TopologyError(
                f"a backlog beyond {self.grace} seconds cannot be worked off in {self.catch_up}, nor scaling in wait "
                f"{self.patience} minutes: catch_up must be above 0 (inf to look at no queue), the others at least 0"
            )

    @classmethod
    def published(cls, estimator: Estimator, bounds: Bounds | None = None, proactive: bool = False) -> Elysium:
        """As the paper has it: it looks at no queue, and follows the load of the last minute at once."""
        return cls(estimator, bounds or Bounds(), proactive, patience=0, catch_up=np.inf, grace=0.0)

    def decide(self, seen: Observation, current: Config) -> Decision:
        """Algorithm 1, for the load to expect; topologies that nothing is known of yet keep what they have."""
        return compute_config(self.estimator, self.loads(seen), self.bounds, self.current(seen, current))

    def current(self, seen: Observation, config: Config) -> Current:
        """What runs now, and what has a backlog."""
        behind = (topology for topology in _latest(seen) if self._backlog(topology, seen) > 0)
        return Current(config, seen.slot_cpu, frozenset(behind) if np.isfinite(self.catch_up) else frozenset())

    def loads(self, seen: Observation) -> dict[str, float]:
        """The load to expect, by topology; one of which none was measured is left out."""
        return {topology: self._load(topology, seen) for topology in _latest(seen)}

    def _load(self, topology: str, seen: Observation) -> float:
        series, queue = seen.loads[topology], self._backlog(topology, seen) / self.catch_up
        if self.proactive:
            return max(self.estimator.predicted_load(topology, series), 0.0) + queue
        return float(np.max(series.values[-(self.patience + 1) :])) + queue

    def _backlog(self, topology: str, seen: Observation) -> float:
        """Rows that wait beyond those of the grace."""
        return max(seen.waiting.get(topology, 0.0) - self.grace * float(seen.loads[topology].values[-1]), 0.0)


@dataclass(frozen=True)
class Static:
    """Never changes anything."""

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The current configuration."""
        return Decision(current, _latest(seen))


@dataclass(frozen=True, eq=False)
class OnlyOperators:
    """Scales operators and leaves the number of nodes alone (the paper's Fig. 9 and Fig. 10a)."""

    inner: Elysium

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The first stage of Algorithm 1 alone, on the nodes that are there, with the word whether they are enough."""
        loads, now, bounds = self.inner.loads(seen), self.inner.current(seen, current), self.inner.bounds
        if not loads:
            return unchanged(current)
        found = operator_stage(self.inner.estimator, loads, bounds.thresholds, now)
        fit = judged(self.inner.estimator, found.config, loads, bounds, now)
        reason = f"{current.nodes} nodes stay: the busiest uses {fit.worst:.0%} of what it may"
        return Decision(found.config, loads, found.feasible and fit.feasible, (*found.reasons, reason))


@dataclass(frozen=True, eq=False)
class OnlyNodes:
    """Scales nodes for a parallelism that stays as it is (the paper's Fig. 9)."""

    estimator: Estimator
    bounds: Bounds = field(default_factory=Bounds)

    def decide(self, seen: Observation, current: Config) -> Decision:
        """The second stage of Algorithm 1 alone, with the word whether a slot is in stress."""
        loads = {topology: load for topology, load in _latest(seen).items() if topology in current.parallelism}
        if not loads:
            return unchanged(current)
        found = node_stage(self.estimator, current.parallelism, loads, self.bounds, Current(current, seen.slot_cpu))
        known = {topology: current.parallelism[topology] for topology in loads}
        stressed = [
            f"{topology}: {name} stays in stress with the slots it has"
            for topology, slots in self.estimator.slot_cpus(known, loads).items()
            for name, used in slots.items()
            if used > self.bounds.thresholds.core_max
        ]
        return Decision(found.config, loads, found.feasible and not stressed, (*stressed, *found.reasons))


def _latest(seen: Observation) -> dict[str, float]:
    """The input load of the last minute, of the topologies of which one was measured."""
    return {topology: float(series.values[-1]) for topology, series in seen.loads.items() if len(series)}
