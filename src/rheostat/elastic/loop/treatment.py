"""Treat: carrying out what was decided, until it is observed (StreamSwitch section 5).

Three values: what is desired (the revision in progress), what was requested (how often and when), and what is observed
(the plan in force). A revision is requested again in every interval until it is observed, is given up when it takes too
long or fails too often, and is followed by a rest: all cool-downs are here. Whether a change is worth its cost at all
is decided in ``hysteresis``.

The functions take the time as a number and return a new state. ``loop`` calls them, and the actuator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.elastic.model.plan import Action, OperatorPlan, Revision
from rheostat.elastic.model.policy import Waits

_KEPT = 20
"""Notes of what happened that are kept."""


@dataclass(frozen=True)
class Requested:
    """How far a revision is.

    Attributes:
        since: when it was accepted.
        base: the plan that was observed then.
        times: how often it was requested.
        failures: how often that failed.
    """

    since: float
    base: OperatorPlan
    times: int = 0
    failures: int = 0


@dataclass(frozen=True, eq=False)
class Treatment:
    """Desired, requested and observed, of one operator.

    >>> plan = OperatorPlan.even(shards=2, slots=2)
    >>> wish = Revision("count", replace(plan, routing=np.array([1, 1])), Action.BALANCE, ("slot 0 is hot",))
    >>> state, accepted = propose(Treatment(plan), wish, now=5.0)
    >>> state, request = step(state, observed=plan, now=5.0)
    >>> accepted, request.routing.tolist()
    (True, [1, 1])
    >>> state, request = step(state, observed=request, now=6.0)
    >>> state.active, request, state.notes[-1]
    (False, None, '6 s: balance is observed, 1 s after it was decided')

    Attributes:
        observed: the plan in force.
        waits: time limits and rests.
        desired: the revision in progress, if any.
        requested: how far it is.
        rested: when the last revision ended.
        time: the latest time seen; a clock that goes back counts as standing still.
        republish: True if a slot has failed and come back, and has to be told the routing.
        notes: what happened, in words, the latest last.
    """

    observed: OperatorPlan
    waits: Waits = Waits()
    desired: Revision | None = None
    requested: Requested | None = None
    rested: float = float("-inf")
    time: float = float("-inf")
    republish: bool = False
    notes: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """True if a revision is in progress: shards change hands, so decisions have to wait (section 4.3)."""
        return self.desired is not None


def propose(state: Treatment, wish: Revision, now: float) -> tuple[Treatment, bool]:
    """The state with the revision as what is desired, and True if it was accepted; the notes say why it was not."""
    state = _at(state, now)
    if wish.action == Action.NOTHING:
        return state, False
    refused = refusal(state, wish)
    if refused:
        return refuse(state, wish, refused, now), False
    accepted = replace(state, desired=wish, requested=Requested(state.time, state.observed))
    return _noted(accepted, f"{wish.action} is accepted: {'; '.join(wish.reasons)}"), True


def step(state: Treatment, observed: OperatorPlan, now: float) -> tuple[Treatment, OperatorPlan | None]:
    """One interval later: the state, and the plan to request, if any.

    1. If all that is desired is observed, the revision is done.
    2. If it has been in progress for too long, it is given up.
    3. Otherwise it is requested, again if need be, on top of the plan observed.
    4. If a slot has failed since, the plan is requested in any case.
    """
    untold = observed if state.republish else None
    state = replace(_at(state, now), observed=observed, republish=False)
    wish, requested = state.desired, state.requested
    if wish is None or requested is None:
        return state, untold
    took, goal = state.time - requested.since, rebased(wish.plan, requested.base, observed)
    if goal.same(observed):
        return _ended(state, f"{wish.action} is observed, {took:g} s after it was decided"), untold
    if took >= state.waits.limit:
        return _ended(state, f"{wish.action} is given up: not observed within {state.waits.limit:g} s"), untold
    return replace(state, requested=replace(requested, times=requested.times + 1)), goal


def rebased(desired: OperatorPlan, base: OperatorPlan, observed: OperatorPlan) -> OperatorPlan:
    """What is desired, on top of changes that somebody else has made since it was decided.

    >>> base, theirs = OperatorPlan.even(3, 3), OperatorPlan(np.array([0, 2, 2]), np.zeros(3, dtype=np.int64))
    >>> mine = OperatorPlan(np.array([1, 1, 2]), np.array([-1, 0, 0]))
    >>> rebased(mine, base, theirs).routing.tolist()
    [1, 2, 2]
    """
    if observed is base or np.array_equal(observed.routing, base.routing):
        return desired
    routing = np.where(desired.routing != base.routing, desired.routing, observed.routing)
    nodes = np.full(max(len(desired.nodes), len(observed.nodes)), -1)
    nodes[: len(observed.nodes)] = observed.nodes
    nodes[~np.isin(np.arange(len(nodes)), routing)] = -1
    # A slot may be wanted without shards, but not one that lost its shards to somebody else's change.
    wanted = desired.used[np.isin(desired.used, routing) | ~np.isin(desired.used, desired.routing)]
    nodes[wanted] = desired.nodes[wanted]
    return OperatorPlan(routing, nodes, desired.subspaces)


def failed(state: Treatment, reason: str, now: float) -> Treatment:
    """The actuator says that a request failed: it is tried again in the next interval, or given up."""
    state = _at(state, now)
    if state.desired is None or state.requested is None:
        # Nothing is in progress: what failed was the plan that a slot had to be told. It stays to be told.
        return _noted(replace(state, republish=True), f"a request failed: {reason}")
    tried = replace(state.requested, failures=state.requested.failures + 1)
    count = f"{tried.failures} of {state.waits.attempts}"
    if tried.failures >= state.waits.attempts:
        return _ended(state, f"{state.desired.action} is given up after failure {count}: {reason}")
    return _noted(replace(state, requested=tried), f"{state.desired.action} failed, {count}: {reason}")


def slot_failed(state: Treatment, slot: int, now: float) -> Treatment:
    """A slot was lost and will come back knowing nothing: the newest plan is published to it (section 5).

    A revision that would begin that slot is dropped, for what it was decided on no longer holds.
    """
    state = _noted(replace(_at(state, now), republish=True), f"slot {slot} failed")
    if state.desired is not None and _has(state.desired.plan, slot) and not _has(state.observed, slot):
        return _ended(state, f"{state.desired.action} is given up: slot {slot} failed")
    return state


def refuse(state: Treatment, wish: Revision, why: str, now: float) -> Treatment:
    """The state as it was, with a note that says why a revision is not carried out."""
    return _noted(_at(state, now), f"{wish.action} is refused: {why}")


def refusal(state: Treatment, wish: Revision) -> str:
    """Why a revision cannot be accepted now; empty if it can."""
    if state.desired is not None:
        return f"{state.desired.action} is in progress"
    rest = state.waits.calm if wish.action == Action.SCALE_IN else state.waits.rest
    since = state.time - state.rested
    if since < rest and not wish.urgent:
        return f"the last change ended {since:g} s ago, and this one waits {rest:g} s"
    if len(wish.plan.routing) != len(state.observed.routing):
        return f"it routes {len(wish.plan.routing)} shards, there are {len(state.observed.routing)}"
    if wish.plan.same(state.observed):
        return "the plan is so already"
    return ""


def _ended(state: Treatment, note: str) -> Treatment:
    return _noted(replace(state, desired=None, requested=None, rested=state.time), note)


def _at(state: Treatment, now: float) -> Treatment:
    """The state at a time; times that go back or are not finite change nothing."""
    return replace(state, time=now) if state.time < now < float("inf") else state


def _noted(state: Treatment, note: str) -> Treatment:
    return replace(state, notes=(*state.notes, f"{state.time:g} s: {note}")[-_KEPT:])


def _has(plan: OperatorPlan, slot: int) -> bool:
    return 0 <= slot < len(plan.nodes) and plan.nodes[slot] >= 0
