"""The ELYSIUM policy, which scales operators and nodes independently of each other (section 3.2).

A reactive policy chooses a configuration for the input load of the last minute, a proactive one for the highest load
forecast within the horizon. Everything else is the same. ``OnlyOperators`` and ``OnlyNodes`` scale only one of the two
(the paper's Fig. 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rheostat.elastic.elysium.allocator import allocate_config
from rheostat.elastic.elysium.config_search import (
    Bounds,
    Current,
    compute_config,
    evaluate_config,
    expected_weights,
    node_stage,
    nodes_text,
    operator_stage,
)
from rheostat.elastic.elysium.configuration import ChosenConfig, Parallelism
from rheostat.elastic.elysium.estimator import Estimator
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.elysium.plans import NOT_MEASURED, check_plan, config_of, proposal_of
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.errors import ConfigurationError

AT_ONCE = Waits(limit=600.0, rest=0.0, calm=0.0)
"""No rest between changes: ELYSIUM decides once a minute, and a reconfiguration takes less than that."""


@dataclass(frozen=True, eq=False)
class Elysium:
    """Symbiotic scaling: chooses the slots that every operator needs, then the nodes that all slots together need.

    It runs in the testbed of ``papers/elysium``; ``LiveElysium`` is the policy for a query on Spark. Operators
    are named ``topology/operator``, and observations must include the input load of every topology.

    Attributes:
        estimator: estimates the resources that a configuration uses, from learned profiles.
        bounds: limits and options of the search for a configuration.
        proactive: True to use the forecast of the profiles instead of the load of the last minute.
        patience: number of further minutes for which the load must stay lower before anything is scaled in; 0 in the
            paper. More patience saves reconfigurations but uses more nodes than needed for a little longer.
        catch_up: seconds within which a backlog should be processed. A backlog counts as additional load, and a
            topology that has one is not scaled in. ``inf`` ignores backlogs, as the paper does.
        grace: seconds of input that may wait before they count as a backlog; rows always wait after a restart.
        past: input loads before the first observation, by topology; forecasts use them.
        name: the policy's name in reports.
        waits: time limits and rests of its changes.

    >>> from rheostat.elastic.elysium import Config, Dataflow, Line, Profiles, ScalableOperator
    >>> from rheostat.elastic.elysium.plans import plan_of
    >>> sums = Dataflow("t", (ScalableOperator("sum"),), ())
    >>> learned = Profiles(sums, selectivity={}, cpu={"sum": Line(base=0.0, slope=1e6)})  # cycles per row
    >>> policy = Elysium(Estimator({"t": learned}, overhead=Line(0.0, 2.0)))
    >>> now = plan_of(Config({"t": {"sum": 1}}, nodes=1), {"t": sums})
    >>> found = policy.decide(LoadHistory({"t": Series(np.array([800.0, 5000.0]))}), now)
    >>> [(r.operator, r.action.value, r.plan.nodes.tolist()) for r in found.revisions], found.nodes
    ([('t/sum', 'scale out', [0, 0, 1, 1])], 2)
    >>> found.reasons
    ('t: 5000 rows/s need 4 of sum', '2 nodes: the busiest uses 69% of its threshold')
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
                "(inf to ignore backlogs), patience and grace must be at least 0"
            )

    @classmethod
    def published(
        cls,
        estimator: Estimator,
        bounds: Bounds | None = None,
        proactive: bool = False,
        past: Mapping[str, Series] | None = None,
    ) -> Elysium:
        """Return the policy as published: it ignores backlogs and reacts to a lower load without patience."""
        return cls(estimator, bounds or Bounds(), proactive, patience=0, catch_up=np.inf, grace=0.0, past=past or {})

    def begin(self, plan: Plan) -> LoadHistory:
        """Return a history that contains only the past loads."""
        check_plan(plan, {name: profiles.dataflow for name, profiles in self.estimator.topologies.items()})
        return LoadHistory(dict(self.past))

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """Return the history with one more load per topology, and the CPU use of the last interval."""
        return history.after(observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """Choose slots and nodes for the expected loads (Algorithm 1); a topology without a load keeps its own."""
        now = self.current(history, plan)
        loads = running_loads(self.loads(history), now)
        if not loads:
            return NOT_MEASURED
        chosen = compute_config(self.estimator, loads, self.bounds, now)
        return propose(self.estimator, chosen, plan, now, self.bounds)

    def current(self, history: LoadHistory, plan: Plan) -> Current:
        """Return the current configuration and the topologies that have a backlog."""
        behind = frozenset[str]()
        if np.isfinite(self.catch_up):
            behind = frozenset(topology for topology in history.latest() if self._backlog(topology, history) > 0)
        return Current(config_of(plan, self.bounds.apart), history.slot_cpu, behind)

    def loads(self, history: LoadHistory) -> dict[str, float]:
        """Return the expected rows per second of every topology for which a load was measured."""
        return {topology: self._load(topology, history) for topology in history.latest()}

    def _load(self, topology: str, history: LoadHistory) -> float:
        """Return the expected rows per second, with those needed to catch up."""
        series, catching_up = history.loads[topology], self._backlog(topology, history) / self.catch_up
        if self.proactive:
            return max(self.estimator.predicted_load(topology, series), 0.0) + catching_up
        return float(np.max(series.values[-(self.patience + 1) :])) + catching_up

    def _backlog(self, topology: str, history: LoadHistory) -> float:
        """Return the number of waiting rows beyond the grace."""
        newest = float(history.loads[topology].values[-1])
        return max(history.waiting.get(topology, 0.0) - self.grace * newest, 0.0)


@dataclass(frozen=True, eq=False)
class OnlyOperators:
    """Scales operators and keeps the number of nodes (the paper's Fig. 9 and Fig. 10a).

    It runs in the testbed of ``papers/elysium``; a query on Spark has ``LiveElysium`` instead.

    Attributes:
        inner: the policy whose estimator, bounds and expected loads it uses.
        name: the policy's name in reports.
        waits: time limits and rests of its changes.

    >>> from rheostat.elastic.elysium import Config, Dataflow, Line, Profiles, ScalableOperator
    >>> from rheostat.elastic.elysium.plans import plan_of
    >>> sums = Dataflow("t", (ScalableOperator("sum"),), ())
    >>> estimator = Estimator({"t": Profiles(sums, {}, {"sum": Line(base=0.0, slope=1e6)})}, overhead=Line(0.0, 2.0))
    >>> now = plan_of(Config({"t": {"sum": 1}}, nodes=1), {"t": sums})
    >>> OnlyOperators(Elysium(estimator)).decide(LoadHistory({"t": Series(np.array([5000.0]))}), now).reasons
    ('t: 5000 rows/s need 4 of sum', 'keeps 1 node: the busiest uses 137% of its threshold')
    """

    inner: Elysium
    name: str = "only-operators"
    waits: Waits = AT_ONCE

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    def begin(self, plan: Plan) -> LoadHistory:
        """Return a history that contains only the past loads."""
        return self.inner.begin(plan)

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """Return the history with one more load per topology, and the CPU use of the last interval."""
        return self.inner.learn(history, observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """Run only the first stage of Algorithm 1; feasible if the current number of nodes is enough."""
        estimator, bounds = self.inner.estimator, self.inner.bounds
        now = self.inner.current(history, plan)
        loads = running_loads(self.inner.loads(history), now)
        if not loads:
            return NOT_MEASURED
        stage = operator_stage(estimator, loads, bounds.thresholds, now)
        fit = evaluate_config(estimator, stage.config, loads, bounds, now)
        reason = f"keeps {nodes_text(fit)}"
        chosen = ChosenConfig(stage.config, loads, stage.feasible and fit.feasible, (*stage.reasons, reason))
        return propose(estimator, chosen, plan, now, bounds)


@dataclass(frozen=True, eq=False)
class OnlyNodes:
    """Scales nodes and keeps the number of slots of every operator (the paper's Fig. 9).

    It runs in the testbed of ``papers/elysium``; a query on Spark has ``LiveElysium`` instead.

    Attributes:
        estimator: estimates the resources that a configuration uses, from learned profiles.
        bounds: limits and options of the search for a configuration.
        name: the policy's name in reports.
        waits: time limits and rests of its changes.

    >>> from rheostat.elastic.elysium import Config, Dataflow, Line, Profiles, ScalableOperator
    >>> from rheostat.elastic.elysium.plans import plan_of
    >>> sums = Dataflow("t", (ScalableOperator("sum"),), ())
    >>> estimator = Estimator({"t": Profiles(sums, {}, {"sum": Line(base=0.0, slope=1e6)})}, overhead=Line(0.0, 2.0))
    >>> now = plan_of(Config({"t": {"sum": 4}}, nodes=1), {"t": sums})
    >>> OnlyNodes(estimator).decide(LoadHistory({"t": Series(np.array([5000.0]))}), now).reasons
    ('2 nodes: the busiest uses 69% of its threshold',)
    """

    estimator: Estimator
    bounds: Bounds = field(default_factory=Bounds)
    name: str = "only-nodes"
    waits: Waits = AT_ONCE

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    def begin(self, plan: Plan) -> LoadHistory:
        """Return an empty history."""
        check_plan(plan, {name: profiles.dataflow for name, profiles in self.estimator.topologies.items()})
        return LoadHistory()

    def learn(self, history: LoadHistory, observation: Observation) -> LoadHistory:
        """Return the history with one more load per topology, and the CPU use of the last interval."""
        return history.after(observation)

    def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
        """Run only the second stage of Algorithm 1; infeasible if a slot is in stress."""
        now = Current(config_of(plan, self.bounds.apart), history.slot_cpu)
        loads = running_loads(history.latest(), now)
        if not loads:
            return NOT_MEASURED
        parallelism = in_dataflow_order(now.config.parallelism, self.estimator)
        stage = node_stage(self.estimator, parallelism, loads, self.bounds, now)
        with_load = {topology: parallelism[topology] for topology in loads}
        stressed = [
            f"{topology}: {name} stays in stress with its current slots"
            for topology, slots in self.estimator.slot_cpus(with_load, loads).items()
            for name, used in slots.items()
            if used > self.bounds.thresholds.core_max
        ]
        chosen = ChosenConfig(stage.config, loads, stage.feasible and not stressed, (*stressed, *stage.reasons))
        return propose(self.estimator, chosen, plan, now, self.bounds)


def running_loads(loads: Mapping[str, float], now: Current) -> dict[str, float]:
    """Return the loads of the topologies that run now."""
    return {topology: load for topology, load in loads.items() if topology in now.config.parallelism}


def in_dataflow_order(parallelism: Parallelism, estimator: Estimator) -> Parallelism:
    """Return the slots of operators in the order of their dataflows, as the estimator expects them."""
    return {
        topology: {
            operator.name: slots[operator.name] for operator in estimator.topologies[topology].dataflow.operators
        }
        for topology, slots in parallelism.items()
    }


def propose(estimator: Estimator, chosen: ChosenConfig, plan: Plan, now: Current, bounds: Bounds) -> Proposal:
    """Return the proposal for a chosen configuration, with its slots assigned to nodes by the allocator."""
    weights = expected_weights(estimator, chosen.config.parallelism, chosen.loads, now)
    return proposal_of(chosen, plan, allocate_config(chosen.config, bounds.allocator, weights))
