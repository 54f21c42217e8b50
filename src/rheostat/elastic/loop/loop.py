"""The control loop around a policy: learn, decide, propose, request, until the request is observed.

``turn`` is one round of the loop. It is a pure function: the time comes with the observation. ``carry_out`` then passes
the requested plan to an actuator, on Spark or in the simulator, and records a failure (StreamSwitch section 5).

Users' requests take the same way: ``PolicyLoop`` turns them into revisions, which come before those of the policy. A
policy that fails or is paused is left out of a turn; users' requests and changes in progress are carried out all the
same.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.loop.inbox import Inbox
from rheostat.elastic.loop.treatment import Treatment, objection_to, propose, record_failure, record_refusal, step
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.routing.requests import Request, revision_of
from rheostat.errors import RheostatError


class Actuator(Protocol):
    """Carries plans out on an engine."""

    def apply(self, plan: Plan) -> None:
        """Request a plan. Returns at once, and may be called again with the same plan.

        The request has succeeded when a later turn observes the plan.

        Raises:
            RequestError: the plan cannot be requested now.
        """


class RequestError(RheostatError):
    """A plan could not be requested now. The loop requests it again in the next turn."""


class PolicyError(RheostatError):
    """A policy failed or took too long. The loop leaves it out of this turn.

    Attributes:
        trace: the traceback of the policy's error; empty if it raised none.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


@dataclass(frozen=True, eq=False)
class Control:
    """What the loop remembers between two observations.

    Attributes:
        policy: the policy that decides.
        history: what the policy has learned.
        treatments: the change in progress of every operator, by name.
        nodes: the number of nodes requested last.
        allowed: the fewest and most slots of an operator that the policy may ask for; None if it may have any number.
    """

    policy: Policy
    history: Any
    treatments: Mapping[str, Treatment]
    nodes: int
    allowed: tuple[int, int] | None = None

    @classmethod
    def start(cls, policy: Policy, plan: Plan, allowed: tuple[int, int] | None = None) -> Control:
        """Return the state before the first observation."""
        treatments = {name: Treatment(part, policy.waits) for name, part in plan.operators.items()}
        return cls(policy, policy.begin(plan), treatments, plan.nodes, allowed)


@dataclass(frozen=True, eq=False)
class Refusal:
    """A revision that the loop did not accept.

    Attributes:
        revision: the revision.
        why: the reason, in words.
    """

    revision: Revision
    why: str

    def __str__(self) -> str:
        return f"{self.revision.operator}: {self.why}"


@dataclass(frozen=True, eq=False)
class Turn:
    """The result of one turn.

    Attributes:
        control: what the loop remembers from now on.
        request: the plan to request from the engine; None if there is nothing to request.
        requested: the operators that the requested plan changes.
        accepted: the revisions accepted in this turn, users' requests first.
        proposal: the policy's proposal, accepted or not.
        refused: the revisions that were not accepted, with reasons.
        asked: users' requests as revisions.
        failure: why the plan could not be requested; empty if it could, or before it was tried.
        decided: True if the policy was asked to decide and gave an answer.
        learned: True if the policy learned from the observation.
        skipped: why the policy was not asked to decide, in words; empty if it was, or if every operator was changing.
        policy_error: how the policy failed; None if it did not.
    """

    control: Control
    request: Plan | None
    requested: tuple[str, ...]
    accepted: tuple[Revision, ...]
    proposal: Proposal
    refused: tuple[Refusal, ...] = ()
    asked: tuple[Revision, ...] = ()
    failure: str = ""
    decided: bool = False
    learned: bool = True
    skipped: str = ""
    policy_error: PolicyError | None = None

    @property
    def hot(self) -> dict[str, str]:
        """By operator, the key or shard that is too busy for any placement, in words."""
        weighed = (*self.accepted, *(r.revision for r in self.refused))
        return {r.operator: r.hot for r in (*self.proposal.revisions, *weighed) if r.hot}


def turn(
    control: Control,
    observation: Observation,
    plan: Plan,
    asked: Sequence[Revision] = (),
    *,
    learns: bool = True,
    decides: bool = True,
) -> Turn:
    """Run one turn of the loop.

    1. The policy learns from the observation.
    2. Every change in progress is compared with the plan in force, and requested again if it is not observed yet.
    3. Users' requests are accepted or refused, each operator by itself.
    4. The policy decides, unless every operator has a change in progress. It sees operators with a change in progress
       as they will be, together with the slots that they have not given up yet, since their cores are not free.
    5. The policy's revisions are accepted or refused: each by itself, or all or none if they belong together. A user's
       request wins over the policy's revision of the same operator.
    6. Everything accepted is requested.

    Args:
        control: what the loop remembers.
        observation: the newest observation.
        plan: the plan in force.
        asked: users' requests. If several change the same operator, the first is accepted.
        learns: False to leave out step 1.
        decides: False to leave out steps 4 and 5.
    """
    now = observation.time
    if learns:
        control = replace(control, history=control.policy.learn(control.history, observation))
    treatments, requests = _step_all(control.treatments, plan, now)
    accepted, refused = _accept(asked, treatments, requests, plan, now)
    changing = {
        name: _during_change(plan.operators[name], goal) for name, goal in requests.items() if treatments[name].active
    }
    proposal, nodes = STAY, control.nodes
    decides = decides and len(changing) < len(treatments)
    if decides:
        proposal = control.policy.decide(control.history, replace(plan, operators={**plan.operators, **changing}))
        asked_for = frozenset(r.operator for r in asked)
        chosen, rejected = _accept(
            proposal.revisions,
            treatments,
            requests,
            plan,
            now,
            together=proposal.together,
            asked_for=asked_for,
            allowed=control.allowed,
        )
        accepted, refused = [*accepted, *chosen], [*refused, *rejected]
        if proposal.nodes is not None and not (proposal.together and rejected):
            nodes = proposal.nodes
    control = replace(control, treatments=treatments, nodes=nodes)
    request = Plan({**plan.operators, **requests}, nodes) if requests or nodes != plan.nodes else None
    return Turn(
        control,
        request,
        tuple(requests),
        tuple(accepted),
        proposal,
        tuple(refused),
        tuple(asked),
        decided=decides,
        learned=learns,
    )


def carry_out(result: Turn, actuator: Actuator, now: float) -> Control:
    """Request the plan of a turn, if it has one. A failure is recorded for every operator that the plan changes."""
    return requested(result, actuator, now).control


def requested(result: Turn, actuator: Actuator, now: float) -> Turn:
    """Request the plan of a turn, if it has one, and return the turn with the failure, if there was one."""
    if result.request is None:
        return result
    try:
        actuator.apply(result.request)
    except RequestError as error:
        control = notify_failed(result.control, result.requested, str(error), now)
        return replace(result, control=control, failure=str(error))
    return result


Guard = Callable[[Callable[[], Turn]], Turn]
"""Runs a turn with the policy, and raises ``PolicyError`` if the policy fails. What the turn returns later is lost."""


def unguarded(run: Callable[[], Turn]) -> Turn:
    """Run a turn with the policy, without a time limit. An error of the policy is a ``PolicyError``."""
    try:
        return run()
    except Exception as error:
        raise PolicyError(f"{type(error).__name__}: {error}", traceback.format_exc()) from error


class PolicyLoop:
    """The loop of a running query: a policy, an actuator, and an inbox for users' requests.

    One thread calls ``turn``. Requests may come from any thread.

    Args:
        policy: the policy that decides.
        plan: the plan in force.
        actuator: carries plans out.
        allowed: the fewest and most slots of an operator that the policy may ask for; None if it may have any number.
        resumed: revisions of an earlier run that were stored and never carried out; the first turn accepts them.
        guard: runs the part of a turn that the policy has.

    Attributes:
        control: what the loop remembers.
        actuator: carries plans out.
        inbox: takes users' requests.
        paused: True while the policy learns but does not decide, because a person has taken over.
    """

    def __init__(
        self,
        policy: Policy,
        plan: Plan,
        actuator: Actuator,
        *,
        allowed: tuple[int, int] | None = None,
        resumed: Sequence[Revision] = (),
        guard: Guard = unguarded,
    ) -> None:
        self.control = Control.start(policy, plan, allowed)
        self.actuator = actuator
        self.inbox = Inbox({name: len(part.routing) for name, part in plan.operators.items()})
        self.paused = False
        self._resumed = tuple(resumed)
        self._guard = guard

    def turn(
        self,
        observation: Observation,
        plan: Plan,
        loads: Mapping[str, Floats],
        store: Callable[[Turn], None] = lambda _: None,
    ) -> Turn:
        """Run one turn, store its result, and request its plan from the actuator.

        A user's request that meets a change in progress goes back to the inbox, for the next turn.

        Args:
            observation: the newest observation.
            plan: the plan in force.
            loads: by operator, the expected work of every shard; it decides where requests place the shards.
            store: called with the result before the plan is requested. If it raises, nothing is requested.
        """
        requests = self.inbox.take()
        asked = []
        for name, request in requests.items():
            seen = observation.operators.get(name)
            hottest = seen.hottest[0] if seen is not None and seen.hottest is not None else ""
            asked.append(revision_of(request, name, plan.operators[name], loads[name], hottest))
        asked += self._resumed
        result = self._turn(observation, plan, asked)
        self.inbox.put_back(_too_early(requests, result))
        store(result)
        self._resumed = ()
        result = requested(result, self.actuator, observation.time)
        self.control = result.control
        return result

    def _turn(self, observation: Observation, plan: Plan, asked: Sequence[Revision]) -> Turn:
        """Run one turn with the policy. If it fails, run it again without a decision, so that the policy still learns.

        If that fails too, run the turn without the policy.
        """
        control, decides = self.control, not self.paused
        try:
            result = self._guard(lambda: turn(control, observation, plan, asked, decides=decides))
            return result if decides else replace(result, skipped="the policy is paused")
        except PolicyError as failure:
            error = failure
        try:
            result = self._guard(lambda: turn(control, observation, plan, asked, decides=False))
        except PolicyError:
            result = turn(control, observation, plan, asked, learns=False, decides=False)
        return replace(result, skipped=str(error), policy_error=error)


def notify_failed(control: Control, operators: Collection[str], reason: str, now: float) -> Control:
    """Record that a request failed. The next turn repeats it, unless it has failed too often."""
    treatments = {name: record_failure(control.treatments[name], reason, now) for name in operators}
    return replace(control, treatments={**control.treatments, **treatments})


def _step_all(
    before: Mapping[str, Treatment], plan: Plan, now: float
) -> tuple[dict[str, Treatment], dict[str, OperatorPlan]]:
    """Return the treatments one interval later, and the plans of operators that have to be requested again."""
    treatments, requests = {}, {}
    for name, treatment in before.items():
        treatments[name], goal = step(treatment, plan.operators[name], now)
        if goal is not None:
            requests[name] = goal
    return treatments, requests


def _accept(
    revisions: Iterable[Revision],
    treatments: dict[str, Treatment],
    requests: dict[str, OperatorPlan],
    plan: Plan,
    now: float,
    *,
    together: bool = False,
    asked_for: Collection[str] = (),
    allowed: tuple[int, int] | None = None,
) -> tuple[list[Revision], list[Refusal]]:
    """Accept or refuse revisions. Updates ``treatments`` and ``requests``.

    Args:
        revisions: the revisions. Those of unknown operators and those that change nothing are ignored.
        treatments: the change in progress of every operator.
        requests: by operator, the plan to request.
        plan: the plan in force.
        now: seconds on the clock of the observations.
        together: True to accept all revisions or none.
        asked_for: operators that a user asked to change in this turn; the policy has to wait for them.
        allowed: the fewest and most slots that a revision may have; None if it may have any number.

    Returns:
        The accepted revisions, and the refused ones with reasons.
    """
    candidates = [r for r in revisions if r.operator in treatments and r.action != Action.NOTHING]
    objections = _objections(candidates, treatments, asked_for, allowed)
    if together and any(objections):
        blocked = ", ".join(r.operator for r, why in zip(candidates, objections, strict=True) if why)
        objections = [why or f"it belongs together with the refused change of {blocked}" for why in objections]
    accepted, refused = [], []
    for revision, why in zip(candidates, objections, strict=True):
        name = revision.operator
        if why:
            refused.append(Refusal(revision, why))
            treatments[name] = record_refusal(treatments[name], revision, why, now)
            continue
        treatments[name], _ = propose(treatments[name], revision, now)
        accepted.append(revision)
        treatments[name], goal = step(treatments[name], plan.operators[name], now)
        if goal is not None:
            requests[name] = goal
    return accepted, refused


def _objections(
    revisions: Sequence[Revision],
    treatments: Mapping[str, Treatment],
    asked_for: Collection[str],
    allowed: tuple[int, int] | None,
) -> list[str]:
    """Return for every revision why it cannot be accepted now; empty if it can."""
    objections: list[str] = []
    accepted = set[str]()
    for revision in revisions:
        if revision.operator in asked_for:
            why = "a user's request comes first"
        elif revision.operator in accepted:
            why = "another change of the same operator was accepted in this turn"
        elif allowed is not None and not allowed[0] <= revision.plan.slots <= allowed[1]:
            why = f"it has {revision.plan.slots} slots, and the query may have {allowed[0]} to {allowed[1]}"
        else:
            why = objection_to(treatments[revision.operator], revision)
        if not why:
            accepted.add(revision.operator)
        objections.append(why)
    return objections


def _too_early(requests: Mapping[str, Request], result: Turn) -> dict[str, Request]:
    """Return the users' requests that were refused because their operator has another change in progress."""
    refused = {r.revision.operator for r in result.refused if r.revision.asked}
    active = {name for name, treatment in result.control.treatments.items() if treatment.active}
    return {name: request for name, request in requests.items() if name in refused & active}


def _during_change(observed: OperatorPlan, goal: OperatorPlan) -> OperatorPlan:
    """Return the plan to come, together with the slots that still exist and have to go. They have no owner any more.

    >>> now, goal = OperatorPlan.even(2, 2), OperatorPlan(np.array([2, 2]), np.array([-1, -1, 0]))
    >>> _during_change(now, goal).nodes.tolist(), _during_change(now, goal).routing.tolist()
    ([0, 0, 0], [2, 2])
    """
    size = max(len(observed.nodes), len(goal.nodes))
    nodes = np.full(size, -1)
    nodes[: len(observed.nodes)] = observed.nodes
    nodes[: len(goal.nodes)] = np.where(goal.nodes >= 0, goal.nodes, nodes[: len(goal.nodes)])
    owned = goal.subspaces
    if owned is not None and len(owned.owners) < size:
        owned = replace(owned, owners=np.r_[owned.owners, np.full(size - len(owned.owners), -1)])
    return OperatorPlan(goal.routing, nodes, owned)
