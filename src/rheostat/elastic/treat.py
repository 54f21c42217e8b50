"""Treat: carrying out what was decided, until it is observed (StreamSwitch section 5).

Three values: what is desired (the proposal in progress), what was requested (how often and when), and what is observed
(the routing in force). A proposal is requested again in every interval until it is observed, is dropped when it takes
too long or fails too often, and is followed by a time of rest. This is the one place for cool-downs.

The functions take the time as a number and return a new state; only ``treat`` calls an actuator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rheostat.elastic.diagnose import moved
from rheostat.elastic.verdicts import Action, Diagnosis
from rheostat.errors import TopologyError

_KEPT = 20
"""Notes of what happened that are kept."""


class Actuator(Protocol):
    """Makes a routing table real: on Spark, or in the simulator."""

    def request(self, routing: tuple[int, ...], reason: str) -> None:
        """Ask for a routing. May be called again with the same one, and may fail: any exception counts as a failure.

        Returns at once; that it came true is seen in the routing observed later.
        """


@dataclass(frozen=True)
class Waits:
    """How long anything is waited for, in seconds of the time that is passed in.

    Attributes:
        limit: from proposal to observation; then it is given up.
        attempts: failures after which it is given up.
        rest: after a proposal came true or was given up, before the next one.
        calm: the same before a scale in, which is never urgent and is what makes decisions swing.
    """

    limit: float = 30.0
    attempts: int = 3
    rest: float = 1.0
    calm: float = 10.0

    def __post_init__(self) -> None:
        if not (0 < self.limit < float("inf") and self.attempts >= 1 and 0 <= self.rest <= self.calm < float("inf")):
            raise TopologyError(f"{self}: every wait has a limit, and a scale in rests at least as long as the others")


@dataclass(frozen=True)
class Requested:
    """How far a proposal is.

    Attributes:
        since: when it was accepted.
        times: how often it was requested; ``failures``, how often that failed.
    """

    since: float
    times: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Treatment:
    """Desired, requested and observed.

    >>> from rheostat.elastic.diagnose import Health
    >>> wish = Diagnosis(Action.BALANCE, ((0, 1),), (1, 1), 0, 1, Health.SEVERE, Health.GOOD, True, ("slot 0 is hot",))
    >>> state, accepted = propose(Treatment((0, 1)), wish, now=5.0)
    >>> state, request = step(state, observed=(0, 1), now=5.0)
    >>> accepted, request
    (True, (1, 1))
    >>> state, request = step(state, observed=(1, 1), now=6.0)
    >>> state.active, request, state.notes[-1]
    (False, None, '6 s: balance is observed, 1 s after it was decided')

    Attributes:
        observed: the routing in force.
        desired: the proposal in progress, if any.
        requested: how far it is.
        rested: when the last proposal ended.
        time: the latest time seen; earlier ones count as this one.
        republish: a slot has failed and come back, and has to be told the routing.
        notes: what happened, in words, latest last.
    """

    observed: tuple[int, ...]
    waits: Waits = Waits()
    desired: Diagnosis | None = None
    requested: Requested | None = None
    rested: float = float("-inf")
    time: float = float("-inf")
    republish: bool = False
    notes: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """Whether a proposal is in progress; Diagnose has to wait, for shards are changing hands (section 4.3)."""
        return self.desired is not None


def propose(state: Treatment, wish: Diagnosis, now: float) -> tuple[Treatment, bool]:
    """The state with the proposal as what is desired, and whether it was accepted; a refusal says why in the notes."""
    state = _at(state, now)
    if wish.action == Action.NOTHING:
        return state, False
    refusal = _refusal(state, wish)
    if refusal:
        return _noted(state, f"{wish.action} is refused: {refusal}"), False
    accepted = replace(state, desired=wish, requested=Requested(state.time))
    return _noted(accepted, f"{wish.action} is accepted: {'; '.join(wish.reasons)}"), True


def step(state: Treatment, observed: Sequence[int], now: float) -> tuple[Treatment, tuple[int, ...] | None]:
    """One interval later: the state, and the routing to request, if any.

    1. If all moves that are desired are observed, the proposal is done.
    2. If it is in progress for too long, it is given up.
    3. Otherwise it is requested, again if need be, on top of the routing observed.
    4. If a slot has failed since, the routing is requested in any case.
    """
    untold = tuple(observed) if state.republish else None
    state = replace(_at(state, now), observed=tuple(observed), republish=False)
    wish, requested = state.desired, state.requested
    if wish is None or requested is None:
        return state, untold
    took, goal = state.time - requested.since, moved(state.observed, wish.moves)
    if goal == state.observed:
        return _ended(state, f"{wish.action} is observed, {took:g} s after it was decided"), untold
    if took >= state.waits.limit:
        return _ended(state, f"{wish.action} is given up: not observed within {state.waits.limit:g} s"), untold
    return replace(state, requested=replace(requested, times=requested.times + 1)), goal


def failed(state: Treatment, reason: str, now: float) -> Treatment:
    """The actuator says that a request failed: it is tried again in the next interval, or given up."""
    state = _at(state, now)
    if state.desired is None or state.requested is None:
        # Nothing is in progress: what failed was the routing that a slot had to be told. It stays to be told.
        return _noted(replace(state, republish=True), f"a request failed: {reason}")
    tried = replace(state.requested, failures=state.requested.failures + 1)
    count = f"{tried.failures} of {state.waits.attempts}"
    if tried.failures >= state.waits.attempts:
        return _ended(state, f"{state.desired.action} is given up after failure {count}: {reason}")
    return _noted(replace(state, requested=tried), f"{state.desired.action} failed, {count}: {reason}")


def slot_failed(state: Treatment, slot: int, now: float) -> Treatment:
    """A slot was lost and will come back knowing nothing: the newest routing is published to it (section 5).

    A proposal that would move shards to that slot is dropped, for what it was decided on no longer holds.
    """
    state = _noted(replace(_at(state, now), republish=True), f"slot {slot} failed")
    if state.desired is not None and slot == state.desired.target and slot not in state.observed:
        return _ended(state, f"{state.desired.action} is given up: slot {slot} failed")
    return state


def treat(state: Treatment, actuator: Actuator, observed: Sequence[int], now: float) -> Treatment:
    """One interval: step, request what is to be requested, and note a failure."""
    state, routing = step(state, observed, now)
    if routing is None:
        return state
    reason = "; ".join(state.desired.reasons) if state.desired else "a slot has come back"
    try:
        actuator.request(routing, reason)
    except Exception as error:
        return failed(state, f"{type(error).__name__}: {error}", now)
    return state


def _refusal(state: Treatment, wish: Diagnosis) -> str:
    if state.desired is not None:
        return f"{state.desired.action} is in progress"
    rest = state.waits.calm if wish.action == Action.SCALE_IN else state.waits.rest
    since = state.time - state.rested
    if since < rest:
        return f"the last change ended {since:g} s ago, and this one waits {rest:g} s"
    if any(not 0 <= shard < len(state.observed) for shard, _ in wish.moves):
        return "it moves shards that do not exist"
    if all(state.observed[shard] == slot for shard, slot in wish.moves):
        return "the routing is so already"
    return ""


def _ended(state: Treatment, note: str) -> Treatment:
    return _noted(replace(state, desired=None, requested=None, rested=state.time), note)


def _at(state: Treatment, now: float) -> Treatment:
    """At a time, which never goes back; what is not a time changes nothing."""
    return replace(state, time=now) if state.time < now < float("inf") else state


def _noted(state: Treatment, note: str) -> Treatment:
    return replace(state, notes=(*state.notes, f"{state.time:g} s: {note}")[-_KEPT:])
