"""ELYSIUM as a policy: operators and nodes scaled independently of each other (section 3.2).

Reactive, it takes the input load of the last minute. Proactive, it takes the highest that is forecast for the horizon.
Everything else is the same. ``OnlyOperators`` and ``OnlyNodes`` scale one of the two dimensions (the paper's Fig. 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rheostat.elastic.elysium.allocator import allocated
from rheostat.elastic.elysium.config_search import (
    Bounds,
    Current,
    compute_config,
    judged,
    node_stage,
    operator_stage,
    weights_of,
)
from rheostat.elastic.elysium.configuration import ChosenConfig
from rheostat.elastic.elysium.estimator import Estimator
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.elysium.plans import NOT_MEASURED, check_plan, config_of, proposal_of
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.errors import ConfigurationError

AT_ONCE = Waits(limit=600.0, rest=0.0, calm=0.0)
"""ELYSIUM assesses every minute, and a reconfiguration takes a part of that: there is nothing to rest for."""


@dataclass(frozen=True, eq=False)
class Elysium:
    """Symbiotic scaling: every operator gets the slots it needs, all of them get the nodes they need.

    Driven by the testbed of ``papers/elysium``; it needs profiles of operators, and is not connected to Spark yet.
    Operators are named ``topology/operator``, and every observation has the input load of its topologies.

    Attributes:
        estimator: what configurations would use, by learned profiles.
        bounds: how a configuration is looked for.
        proactive: by the forecast in the profiles, not by the last minute.
        patience: the load counts as lower only after so many further minutes of it (0 in the paper): fewer
            reconfigurations for a little more of the time with more nodes than needed.
        catch_up: seconds within which a backlog should be worked off: it counts as load, and while there is one nothing
            is scaled in. The paper looks at no queue, which is ``inf`` here.
        grace: seconds of input that may wait without being a backlog, as it always does after a restart.
        past: input load by topology before the first observation, which a forecast looks back at.
    """

    estimator: Estimator
    bounds: Bounds = field(default_factory=Bounds)
    proactive: bool = False
    patience: int = 0
    catch_up: float = 120.0
    grace: float = 30.0
    past: Mapping[str, Series] = field(default_factory=dict)
    name: str = "elysium"
    waits: Waits = AT_ONCE

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (self.catch_up > 0 and self.patience >= 0 and self.grace >= 0):
            raise ConfigurationError(
                f"catch_up={self.catch_up}, patience={self.patience}, grace={self.grace}: catch_up must be above 0 "
                "(inf to look at no queue), the others at least 0"
            )

    @classmethod
    def published(
        cls,
        estimator: Estimator,
        bounds: Bounds | None = None,
        proactive: bool = False,
        past: Mapping[str, Series] | None = None,
    ) -> Elysium:
        """As the paper has it: it looks at no queue, and follows the load of the last minute at once."""
        return cls(estimator, bounds or Bounds(), proactive, patience=0, catch_up=np.inf, grace=0.0, past=past or {})

    def begin(self, plan: Plan) -> LoadHistory:
        """Only the past is known."""
        check_plan(plan, {name: known.dataflow for name, known in self.estimator.topologies.items()})
        return LoadHistory(dict(self.past))

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """The loads with one more value, and what slots and nodes used."""
        return history.after(observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """Algorithm 1, for the load to expect; topologies that nothing is known of yet keep what they have."""
        now = self.current(history, plan)
        loads = of_plan(self.loads(history), now)
        if not loads:
            return NOT_MEASURED
        chosen = compute_config(self.estimator, loads, self.bounds, now)
        return proposed(self.estimator, chosen, plan, now, self.bounds)

    def current(self, history: LoadHistory, plan: Plan) -> Current:
        """What runs now, and what has a backlog."""
        behind = (topology for topology in history.latest() if self._backlog(topology, history) > 0)
        known = frozenset(behind) if np.isfinite(self.catch_up) else frozenset[str]()
        return Current(config_of(plan, self.bounds.apart), history.slot_cpu, known)

    def loads(self, history: LoadHistory) -> dict[str, float]:
        """The load to expect, by topology; one of which none was measured is left out."""
        return {topology: self._load(topology, history) for topology in history.latest()}

    def _load(self, topology: str, history: LoadHistory) -> float:
        series, queue = history.loads[topology], self._backlog(topology, history) / self.catch_up
        if self.proactive:
            return max(self.estimator.predicted_load(topology, series), 0.0) + queue
        return float(np.max(series.values[-(self.patience + 1) :])) + queue

    def _backlog(self, topology: str, history: LoadHistory) -> float:
        """Rows that wait beyond those of the grace."""
        newest = float(history.loads[topology].values[-1])
        return max(history.waiting.get(topology, 0.0) - self.grace * newest, 0.0)


@dataclass(frozen=True, eq=False)
class OnlyOperators:
    """Scales operators and leaves the number of nodes alone (the paper's Fig. 9 and Fig. 10a).

    Driven by the testbed of ``papers/elysium``; it is not connected to Spark yet.

    Attributes:
        inner: whose first stage decides.
    """

    inner: Elysium
    name: str = "only-operators"
    waits: Waits = AT_ONCE

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    def begin(self, plan: Plan) -> LoadHistory:
        """Only the past is known."""
        return self.inner.begin(plan)

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """The loads with one more value, and what slots and nodes used."""
        return self.inner.learn(history, observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """The first stage of Algorithm 1 alone, on the nodes that are there; feasible if they are enough."""
        estimator, bounds = self.inner.estimator, self.inner.bounds
        now = self.inner.current(history, plan)
        loads = of_plan(self.inner.loads(history), now)
        if not loads:
            return NOT_MEASURED
        found = operator_stage(estimator, loads, bounds.thresholds, now)
        fit = judged(estimator, found.config, loads, bounds, now)
        reason = f"{now.config.nodes} nodes stay: the busiest uses {fit.worst:.0%} of what it may"
        chosen = ChosenConfig(found.config, loads, found.feasible and fit.feasible, (*found.reasons, reason))
        return proposed(estimator, chosen, plan, now, bounds)


@dataclass(frozen=True, eq=False)
class OnlyNodes:
    """Scales nodes for a parallelism that stays as it is (the paper's Fig. 9).

    Driven by the testbed of ``papers/elysium``; it is not connected to Spark yet.

    Attributes:
        estimator: what configurations would use, by learned profiles.
        bounds: how a configuration is looked for.
    """

    estimator: Estimator
    bounds: Bounds = field(default_factory=Bounds)
    name: str = "only-nodes"
    waits: Waits = AT_ONCE

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    def begin(self, plan: Plan) -> LoadHistory:
        """Nothing known."""
        check_plan(plan, {name: known.dataflow for name, known in self.estimator.topologies.items()})
        return LoadHistory()

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """The loads with one more value, and what slots and nodes used."""
        return history.after(observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """The second stage of Algorithm 1 alone; infeasible if a slot is in stress."""
        now = Current(config_of(plan, self.bounds.apart), history.slot_cpu)
        loads, parallelism = of_plan(history.latest(), now), now.config.parallelism
        if not loads:
            return NOT_MEASURED
        found = node_stage(self.estimator, parallelism, loads, self.bounds, now)
        known = {topology: parallelism[topology] for topology in loads}
        stressed = [
            f"{topology}: {name} stays in stress with the slots it has"
            for topology, slots in self.estimator.slot_cpus(known, loads).items()
            for name, used in slots.items()
            if used > self.bounds.thresholds.core_max
        ]
        chosen = ChosenConfig(found.config, loads, found.feasible and not stressed, (*stressed, *found.reasons))
        return proposed(self.estimator, chosen, plan, now, self.bounds)


def of_plan(loads: Mapping[str, float], now: Current) -> dict[str, float]:
    """The loads of the topologies that run."""
    return {topology: load for topology, load in loads.items() if topology in now.config.parallelism}


def proposed(estimator: Estimator, chosen: ChosenConfig, plan: Plan, now: Current, bounds: Bounds) -> Proposal:
    """A chosen configuration as a proposal, with slots on nodes as the allocator has them."""
    weights = weights_of(estimator, chosen.config.parallelism, chosen.loads, now)
    return proposal_of(chosen, plan, allocated(chosen.config, bounds.allocator, weights))
