"""What the policies that scale a running query by load share: ranges of slots and nodes, and a profile that is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from rheostat.elastic.elysium.configuration import Thresholds
from rheostat.elastic.elysium.live.epoch_config import EpochConfig
from rheostat.elastic.elysium.live.live_history import LiveHistory
from rheostat.elastic.elysium.live.query_profile import HALF_LIFE, QueryProfile
from rheostat.elastic.elysium.live.slot_plans import evened, with_slots
from rheostat.elastic.loop.evacuation import NOBODY, evacuate
from rheostat.elastic.loop.free_cores import free_cores
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Action, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.model.promise import Latency
from rheostat.errors import ConfigurationError

PERIOD = 10.0
"""Seconds of an assessment period. The paper has a minute, because a change restarts the topology for 5 to 8 seconds;
here a change of slots costs nothing, and a new executor takes some seconds."""

EPOCH_THRESHOLDS = Thresholds(cpu_max=0.70)
"""The paper's thresholds, but for nodes: at 70 % of the time an epoch is 3.3 times as long as its fixed part, at the
paper's 80 % five times, and so much later are rows."""

WAITS = Waits(limit=120.0, rest=0.0, calm=0.0)
"""No rests: a decision per period is rest enough."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LivePolicy(ABC):
    """A policy that decides once per assessment period, from a ``LiveHistory``.

    Attributes:
        period: seconds between two decisions.
        thresholds: when operators and nodes are in stress, and when they are idle.
        fewest: fewest slots of an operator.
        most: most slots of an operator.
        nodes: fewest and most nodes; None to leave the number of nodes alone.
        half_life: seconds after which what was learned counts half as much.
        profile: what is known before the first epoch.
        waits: time limits and rests of changes.
    """

    period: float = PERIOD
    thresholds: Thresholds = EPOCH_THRESHOLDS
    fewest: int = 1
    most: int = 1024
    nodes: tuple[int, int] | None = None
    half_life: float = HALF_LIFE
    profile: QueryProfile = field(default_factory=QueryProfile)
    waits: Waits = WAITS

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = True
    ahead: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.period < np.inf:
            raise ConfigurationError(f"period={self.period}: an assessment period must be longer than 0 seconds")
        if self.nodes is not None and not 1 <= self.nodes[0] <= self.nodes[1]:
            raise ConfigurationError(f"nodes={self.nodes}: the fewest must be at least 1 and not above the most")

    def keeping(self, promise: Latency | None, slots: tuple[int, int] | None = None) -> Self:  # noqa: ARG002
        """Return the policy with a range of slots. It decides by load; a promise is measured, not decided by.

        Args:
            promise: the promise of the query.
            slots: fewest and most slots; None to keep its own.
        """
        return self if slots is None else replace(self, fewest=slots[0], most=slots[1])

    def on_nodes(self, least: int, most: int) -> Self:
        """Return the policy with a range of nodes."""
        return replace(self, nodes=(least, most))

    def knowing(self, profile: QueryProfile) -> Self:
        """Return the policy with what is known of the query."""
        return replace(self, profile=profile)

    def profile_of(self, history: LiveHistory) -> QueryProfile:
        """Return what was learned, for a file."""
        return history.profile

    def begin(self, plan: Plan) -> LiveHistory:
        """Return the history before the first observation."""
        return LiveHistory.start(plan, self.period, self.profile)

    def learn(self, history: LiveHistory, observation: Observation) -> LiveHistory:
        """Return the history after one more epoch."""
        return history.after(observation, self.half_life)

    def decide(self, history: LiveHistory, plan: Plan) -> Proposal:
        """Propose what the load needs. Operators on nodes that are gone move at once."""
        evacuation = evacuate(plan, history.cores) if history.law is None else NOBODY  # Spark runs slots anywhere
        if evacuation.stuck or evacuation.revisions:
            return Proposal(evacuation.revisions, None, evacuation.reasons)
        return self.assess(history, plan)

    @abstractmethod
    def assess(self, history: LiveHistory, plan: Plan) -> Proposal:
        """Propose slots and nodes if an assessment period has ended."""

    def propose(self, chosen: EpochConfig, history: LiveHistory, plan: Plan) -> Proposal:
        """Return the revisions that lead to a configuration. Operators that keep their slots are evened out."""
        revisions: list[Revision] = []
        for name, part in plan.operators.items():
            loads = history.shard_work(name, len(part.routing))
            if chosen.slots[name] == part.slots:
                new = evened(part, loads)
                if new is None:
                    continue
            else:
                own_core = history.law is None and len(history.cores) > 0
                free = free_cores(plan, revisions, history.cores) if own_core else None
                new = with_slots(part, loads, chosen.slots[name], free)
            if not new.same(part):
                action = Action.between(part.slots, new.slots)
                revisions.append(Revision(name, new, action, chosen.reasons, chosen.feasible))
        nodes = chosen.nodes if self.nodes is not None and chosen.nodes != plan.nodes else None
        return Proposal(tuple(revisions), nodes, chosen.reasons, feasible=chosen.feasible)
