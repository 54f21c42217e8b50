"""ELYSIUM at the wheel of a running query: operators first, nodes second, reactive or proactive (section 3.2).

It learns its profiles while the query runs, or continues with those of ``rheostat profile`` or of an earlier run. Once
per assessment period it takes the expected load (that of the last period, or the highest forecast within the horizon),
and runs Algorithm 1 for epochs. Without a range of nodes it scales operators only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from rheostat.elastic.elysium.forecasts.seasonal import Seasonal
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Series
from rheostat.elastic.elysium.live.epoch_config import (
    EpochConfig,
    NodeBounds,
    StageDemand,
    compute_epoch_config,
    stages_share,
)
from rheostat.elastic.elysium.live.live_history import LiveHistory
from rheostat.elastic.elysium.live.live_policy import LivePolicy
from rheostat.elastic.elysium.live.load_cycles import cycles_of
from rheostat.elastic.elysium.live.query_profile import QueryProfile
from rheostat.elastic.model.plan import STAY, Plan, Proposal
from rheostat.errors import ConfigurationError
from rheostat.extras import load as load_extra

_LONGEST_DELAY = 3600.0
"""Seconds above which the time that nodes took to come says nothing: somebody had to make room for them."""

UNKNOWN = Proposal(reasons=("nothing has been measured of any operator yet",))
"""The proposal before any work was measured: change nothing."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LiveElysium(LivePolicy):
    """Symbiotic scaling of a running query: the slots that operators need, then the nodes that they all need together.

    Runs on Spark: ``start(policy="elysium", nodes=rh.nodes(1, 8))``, or ``"elysium-proactive"``. Runs in the simulator
    too, where it scales operators.

    Thresholds that the profile has learned come before those given here.

    Attributes:
        proactive: True to decide for the highest load that is forecast within the horizon.
        horizon: periods to look ahead; more if new nodes have taken longer than that to come.
        margin: share by which the load could rise before something that is given up now would be needed again.
        patience: number of further periods for which the load must be lower before anything is given up.
        catch_up: seconds within which rows that wait should be worked off; they count as additional load.
        grace: seconds of input that may wait before they count.
        name: the name in reports.

    >>> from rheostat.elastic.model.epoch_law import EpochLaw
    >>> from rheostat.elastic.model.observation import Observation, OperatorObservation
    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> plan = Plan({"sum": OperatorPlan.even(shards=8, slots=1)}, 1)
    >>> rows = np.full(8, 125.0)
    >>> found = OperatorObservation(plan=plan.operators["sum"], arrived=rows, completed=rows, useful=np.array([9.0]),
    ...                             rows=rows, work=rows * 0.009)
    >>> seen = Observation(time=10.0, seconds=10.0, operators={"sum": found}, cores=np.array([1]), external=100.0,
    ...                    law=EpochLaw())
    >>> policy = LiveElysium(nodes=(1, 4))
    >>> wanted = policy.decide(policy.learn(policy.begin(plan), seen), plan)
    >>> [(r.operator, r.action.value, r.plan.slots) for r in wanted.revisions], wanted.nodes
    ([('sum', 'scale out', 2)], 2)
    >>> wanted.reasons
    ('100 rows/s need 2 of sum', '2 nodes use 64% of the threshold')
    """

    proactive: bool = False
    horizon: int = 3
    margin: float = 0.05
    patience: int = 0
    catch_up: float = 30.0
    grace: float = 5.0
    name: str = "elysium"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.horizon >= 1 and self.margin >= 0 and self.patience >= 0 and self.catch_up > 0 <= self.grace):
            raise ConfigurationError(
                f"horizon={self.horizon}, margin={self.margin}, patience={self.patience}, catch_up={self.catch_up}, "
                f"grace={self.grace}: horizon must be at least 1, catch_up above 0, the others at least 0"
            )
        if self.proactive:
            load_extra("scipy.signal", "a proactive policy")

    @classmethod
    def forecasting(cls) -> Self:
        """Return the proactive policy with its default settings.

        >>> LiveElysium.forecasting().name
        'elysium-proactive'
        """
        return cls(proactive=True, name="elysium-proactive")

    def assess(self, history: LiveHistory, plan: Plan) -> Proposal:
        """Run Algorithm 1 if an assessment period has ended, or earlier if a surge has to be met."""
        if not any(_known(history.profile, name) for name in plan.operators):
            return STAY if not history.assessments.fresh else UNKNOWN
        if not history.assessments.fresh:
            return self._meet_surge(history, plan)
        if not len(history.profile.loads):
            return STAY
        backlog = max(history.waiting - self.grace * float(history.profile.loads.values[-1]), 0.0)
        load = self.expected_load(history.profile.loads, history.profile.node_delay) + backlog / self.catch_up
        chosen = self.config_for(load, history, plan)
        if backlog > 0:
            chosen = _not_below(chosen, plan, self.nodes, f"{backlog:,.0f} rows wait: nothing is given up")
        elif _gives_up(chosen, plan, self.nodes):
            chosen = self._cautious(chosen, load, history, plan)
        return self.propose(chosen, history, plan)

    def _meet_surge(self, history: LiveHistory, plan: Plan) -> Proposal:
        """Within a period, scale out if the epoch that begins now cannot be processed in the time it took to arrive.

        Rows of an epoch arrive during the one before, so under overload every epoch is longer than the last. Waiting
        for the end of the period would make it worse.
        """
        if not history.newest < np.inf:
            return STAY
        demands, bounds = self._demands(history.newest, history, plan), self._bounds(history, plan)
        slots = {name: plan.operators[name].slots if name in plan.operators else 1 for name in demands}
        share = stages_share(demands, slots, plan.nodes * bounds.cores) + history.profile.reading * history.newest
        if share <= 1.0:
            return STAY
        surge = f"a surge: the next epoch would take {share:.1f} times as long as its rows took to arrive"
        chosen = _not_below(self.config_for(history.newest, history, plan), plan, self.nodes, surge)
        return self.propose(chosen, history, plan)

    def periods_ahead(self, node_delay: float) -> int:
        """Return for how many periods a load is forecast: until nodes that are asked for now have been there for one.

        Args:
            node_delay: seconds from asking for nodes to the first epoch that had them; NaN if unknown.

        >>> policy = LiveElysium(nodes=(1, 8))
        >>> policy.periods_ahead(45.0), policy.periods_ahead(float("nan"))
        (6, 3)
        """
        delayed = self.nodes is not None and 0 <= node_delay < _LONGEST_DELAY
        return max(self.horizon, math.ceil(node_delay / self.period) + 1) if delayed else self.horizon

    def expected_load(self, loads: Series, node_delay: float = float("nan")) -> float:
        """Return the rows per second to decide for: those of the last periods, or the highest forecast.

        Args:
            loads: the loads of the periods so far.
            node_delay: seconds from asking for nodes to the first epoch that had them; NaN if unknown.
        """
        recent = float(np.max(loads.values[-(self.patience + 1) :]))
        horizon = self.periods_ahead(node_delay)
        if not self.proactive or len(loads) < horizon + 20:
            return recent
        cycles = (0.0, *(c for c in (*cycles_of(loads), DAY, WEEK) if loads.cycle(c)))
        forecast = Seasonal(cycles=cycles).fitted(loads, horizon)
        return float(forecast.peaks(loads, np.array([len(loads)]))[0])

    def config_for(self, load: float, history: LiveHistory, plan: Plan) -> EpochConfig:
        """Return the configuration that Algorithm 1 chooses for a load."""
        demands = self._demands(load, history, plan)
        thresholds = history.profile.thresholds or self.thresholds
        reading = history.profile.reading * load
        return compute_epoch_config(demands, self._bounds(history, plan), thresholds, reading=reading, load=load)

    def _demands(self, load: float, history: LiveHistory, plan: Plan) -> dict[str, StageDemand]:
        """Return what operators need at a load, also those without keys, whose slots do not change."""
        demands = {name: self._demand(name, load, history, plan) for name in plan.operators}
        for name, level in history.levels.items():
            if name not in plan.operators and _known(history.profile, name):
                demands[name] = _single_slot(history.profile, name, load, level)
        return demands

    def _demand(self, name: str, load: float, history: LiveHistory, plan: Plan) -> StageDemand:
        part = plan.operators[name]
        shards, level = len(part.routing), history.levels.get(name, 0)
        if not _known(history.profile, name):
            return StageDemand(0.0, 0.0, level, part.slots, part.slots)  # it keeps what it has
        profile = history.profile.operators[name]
        work = load * profile.selectivity * profile.line.slope
        hottest = 0.0
        if history.law is not None:  # elsewhere, the work of shards that wait is not known
            by_shard = history.shard_work(name, shards)
            hottest = float(by_shard.max() / by_shard.sum())
        most = max(min(self.most, shards), 1)
        return StageDemand(work, work * hottest, level, min(self.fewest, most), most)

    def _bounds(self, history: LiveHistory, plan: Plan) -> NodeBounds:
        """Return the nodes to choose from; without a range, the cores that there are count as one node."""
        cores = history.cores[history.cores > 0]
        if self.nodes is not None:
            return NodeBounds(*self.nodes, cores=int(np.median(cores)) if len(cores) else 1)
        total = float(cores.sum()) if len(cores) else 1.0
        if history.law is not None and np.isfinite(history.law.parallelism):
            total = min(total, history.law.parallelism)
        return NodeBounds(plan.nodes, plan.nodes, cores=max(round(total / max(plan.nodes, 1)), 1))

    def _cautious(self, chosen: EpochConfig, load: float, history: LiveHistory, plan: Plan) -> EpochConfig:
        """Return the configuration for a slightly higher load, unless it would need more than there is now."""
        roomy = self.config_for(load * (1 + self.margin), history, plan)
        slots = {}
        for name, part in plan.operators.items():
            now, low, high = part.slots, chosen.slots[name], roomy.slots[name]
            slots[name] = high if low > now or high <= now else now
        nodes = roomy.nodes if chosen.nodes > plan.nodes or roomy.nodes <= plan.nodes else plan.nodes
        return replace(chosen, slots=slots, nodes=nodes, reasons=roomy.reasons)


def _known(profile: QueryProfile, operator: str) -> bool:
    found = profile.operators.get(operator)
    return found is not None and found.known and bool(np.isfinite(found.selectivity))


def _single_slot(profile: QueryProfile, operator: str, load: float, level: int) -> StageDemand:
    """Return what an operator without keys needs, which has one slot."""
    found = profile.operators[operator]
    work = load * found.selectivity * found.line.slope
    return StageDemand(work, work, level, least=1, most=1)


def _gives_up(chosen: EpochConfig, plan: Plan, nodes: tuple[int, int] | None) -> bool:
    """Return True if a configuration has fewer slots of any operator, or fewer nodes."""
    fewer = any(chosen.slots[name] < part.slots for name, part in plan.operators.items())
    return fewer or (nodes is not None and chosen.nodes < plan.nodes)


def _not_below(chosen: EpochConfig, plan: Plan, nodes: tuple[int, int] | None, reason: str) -> EpochConfig:
    """Return a configuration with at least the slots and nodes that there are now."""
    slots = {name: max(count, plan.operators[name].slots) for name, count in chosen.slots.items()}
    least = chosen.nodes if nodes is None else min(max(chosen.nodes, plan.nodes), nodes[1])
    return replace(chosen, slots=slots, nodes=least, reasons=(*chosen.reasons, reason))
