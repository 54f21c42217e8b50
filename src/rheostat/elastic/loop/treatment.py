"""Treat: carry out a change of one operator until it is observed (StreamSwitch section 5).

Three values are kept apart: what is desired (the revision in progress), what was requested (how often, since when) and
what is observed (the plan in force). A revision is requested in every interval until it is observed. It is given up
when it takes too long or fails too often. A rest follows. All cool-downs are here; whether a change is worth its cost
is decided in ``hysteresis``.

The functions take the time as a number and return a new state. ``loop`` calls them, and the actuator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.elastic.model.plan import Action, OperatorPlan, Revision
from rheostat.elastic.model.policy import Waits

_NOTES_KEPT = 20


@dataclass(frozen=True)
class Requested:
    """How far a revision has come.

    Attributes:
        since: when it was accepted, in seconds on the clock of the observations.
        base: the plan observed at that time.
        times: how often it was requested.
        failures: how many of these requests failed.
    """

    since: float
    base: OperatorPlan
    times: int = 0
    failures: int = 0


@dataclass(frozen=True, eq=False)
class Ended:
    """How the last revision ended.

    Attributes:
        revision: the revision.
        observed: True if its plan was observed, False if it was given up.
        outcome: how it ended, in words.
    """

    revision: Revision
    observed: bool
    outcome: str


@dataclass(frozen=True, eq=False)
class Treatment:
    """What is desired, requested and observed of one operator.

    >>> plan = OperatorPlan.even(shards=2, slots=2)
    >>> wish = Revision("count", replace(plan, routing=np.array([1, 1])), Action.BALANCE, ("slot 0 is hot",))
    >>> state, accepted = propose(Treatment(plan), wish, now=5.0)
    >>> state, request = step(state, observed=plan, now=5.0)
    >>> accepted, request.routing.tolist()
    (True, [1, 1])
    >>> state, request = step(state, observed=request, now=6.0)
    >>> state.active, request, state.notes[-1]
    (False, None, '6 s: balance observed, 1 s after it was accepted')

    Attributes:
        observed: the plan in force.
        waits: time limits and rests.
        desired: the revision in progress; None if there is none.
        requested: how far that revision has come; None if there is none.
        last_end: when the last revision was observed or given up, in seconds.
        time: the latest time seen, in seconds; a clock that goes back counts as standing still.
        notes: what happened, in words, the latest last.
        ended: the last revision that was observed or given up; None before the first.
    """

    observed: OperatorPlan
    waits: Waits = Waits()
    desired: Revision | None = None
    requested: Requested | None = None
    last_end: float = float("-inf")
    time: float = float("-inf")
    notes: tuple[str, ...] = ()
    ended: Ended | None = None

    @property
    def active(self) -> bool:
        """True if a revision is in progress. Shards are moving then, so other decisions have to wait (section 4.3)."""
        return self.desired is not None


def propose(state: Treatment, wish: Revision, now: float) -> tuple[Treatment, bool]:
    """Make a revision the desired one, unless there is an objection.

    Returns:
        The new state, whose last note has the reason, and True if the revision was accepted.
    """
    state = _at(state, now)
    if wish.action == Action.NOTHING:
        return state, False
    objection = objection_to(state, wish)
    if objection:
        return record_refusal(state, wish, objection, now), False
    accepted = replace(state, desired=wish, requested=Requested(state.time, state.observed))
    return _note(accepted, f"{wish.action} accepted: {'; '.join(wish.reasons)}"), True


def step(state: Treatment, observed: OperatorPlan, now: float) -> tuple[Treatment, OperatorPlan | None]:
    """Advance by one interval.

    1. If the desired plan is observed, the revision is done.
    2. If it has been in progress for too long, it is given up.
    3. Otherwise it is requested, again if need be, on top of the observed plan.

    Returns:
        The new state, and the plan to request; None if there is nothing to request.
    """
    state = replace(_at(state, now), observed=observed)
    wish, requested = state.desired, state.requested
    if wish is None or requested is None:
        return state, None
    took, goal = state.time - requested.since, rebase(wish.plan, requested.base, observed)
    if goal.same(observed):
        note = f"{wish.action} observed, {took:g} s after it was accepted"
        return _end(state, Ended(wish, True, f"observed after {took:.3g} s"), note), None
    if took >= state.waits.limit:
        outcome = f"given up: not observed within {state.waits.limit:g} s"
        return _end(state, Ended(wish, False, outcome), f"{wish.action} {outcome}"), None
    return replace(state, requested=replace(requested, times=requested.times + 1)), goal


def rebase(desired: OperatorPlan, base: OperatorPlan, observed: OperatorPlan) -> OperatorPlan:
    """Return the desired plan on top of changes that somebody else has made since it was accepted.

    >>> base, theirs = OperatorPlan.even(3, 3), OperatorPlan(np.array([0, 2, 2]), np.zeros(3, dtype=np.int64))
    >>> ours = OperatorPlan(np.array([1, 1, 2]), np.array([-1, 0, 0]))
    >>> rebase(ours, base, theirs).routing.tolist()
    [1, 2, 2]
    """
    if observed is base or np.array_equal(observed.routing, base.routing):
        return desired
    routing = np.where(desired.routing != base.routing, desired.routing, observed.routing)
    nodes = np.full(max(len(desired.nodes), len(observed.nodes)), -1)
    nodes[: len(observed.nodes)] = observed.nodes
    nodes[~np.isin(np.arange(len(nodes)), routing)] = -1
    # A slot may be desired without shards, but not if it lost its shards to somebody else's change.
    wanted = desired.used[np.isin(desired.used, routing) | ~np.isin(desired.used, desired.routing)]
    nodes[wanted] = desired.nodes[wanted]
    return OperatorPlan(routing, nodes, desired.subspaces)


def record_failure(state: Treatment, reason: str, now: float) -> Treatment:
    """Record that a request failed. The next step repeats it, or it is given up after too many failures."""
    state = _at(state, now)
    if state.desired is None or state.requested is None:
        return _note(state, f"a request failed: {reason}")
    requested = replace(state.requested, failures=state.requested.failures + 1)
    count = f"{requested.failures} of {state.waits.attempts}"
    if requested.failures >= state.waits.attempts:
        outcome = f"given up after failure {count}: {reason}"
        return _end(state, Ended(state.desired, False, outcome), f"{state.desired.action} {outcome}")
    return _note(replace(state, requested=requested), f"{state.desired.action} failed, {count}: {reason}")


def record_refusal(state: Treatment, wish: Revision, why: str, now: float) -> Treatment:
    """Note why a revision was not accepted. Nothing else changes."""
    return _note(_at(state, now), f"{wish.action} refused: {why}")


def objection_to(state: Treatment, wish: Revision) -> str:
    """Return why a revision cannot be accepted now; empty if it can."""
    if state.desired is not None:
        return f"{state.desired.action} is in progress"
    rest = state.waits.calm if wish.action == Action.SCALE_IN else state.waits.rest
    since = state.time - state.last_end
    if since < rest and not wish.urgent:
        return f"the last change ended {since:g} s ago, and {wish.action} waits {rest:g} s"
    if len(wish.plan.routing) != len(state.observed.routing):
        return f"it routes {len(wish.plan.routing)} shards, but the operator has {len(state.observed.routing)}"
    if wish.plan.same(state.observed):
        return "it is already the plan in force"
    return ""


def _end(state: Treatment, ended: Ended, note: str) -> Treatment:
    return _note(replace(state, desired=None, requested=None, last_end=state.time, ended=ended), note)


def _at(state: Treatment, now: float) -> Treatment:
    """Return the state at a time. Times that go back or are not finite change nothing."""
    return replace(state, time=now) if state.time < now < float("inf") else state


def _note(state: Treatment, note: str) -> Treatment:
    return replace(state, notes=(*state.notes, f"{state.time:g} s: {note}")[-_NOTES_KEPT:])
