"""The loop around a policy: learn, decide, propose, request, until the request is observed.

One short function, ``turn``, wires the stages. It is pure: whoever calls it has the clock. ``carry_out`` then asks an
actuator, on Spark or in the simulator, for the plan, and lets the loop know if that failed (StreamSwitch section 5).
What people ask for goes the same way: ``PolicyLoop`` turns requests into revisions, and they come before the policy's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.loop.inbox import Inbox
from rheostat.elastic.loop.treatment import Treatment, failed, propose, refusal, refuse, slot_failed, step
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.routing.requests import revision_of
from rheostat.errors import RheostatError


class Actuator(Protocol):
    """Makes a plan real."""

    def apply(self, plan: Plan) -> None:
        """Ask for a plan. May be called again with the same one, and returns at once.

        Whether it came true is seen in the plan observed later.

        Raises:
            RequestError: it cannot be asked for now.
        """


class RequestError(RheostatError):
    """A plan could not be requested now; it will be again."""


@dataclass(frozen=True, eq=False)
class Control:
    """What the loop remembers between two observations.

    Attributes:
        policy: who decides.
        history: what the policy has learned.
        treatments: desired, requested and observed of every operator.
        nodes: how many nodes were last asked for.
    """

    policy: Policy
    history: Any
    treatments: Mapping[str, Treatment]
    nodes: int

    @classmethod
    def start(cls, policy: Policy, plan: Plan) -> Control:
        """Before anything was observed."""
        treatments = {name: Treatment(part, policy.waits) for name, part in plan.operators.items()}
        return cls(policy, policy.begin(plan), treatments, plan.nodes)


@dataclass(frozen=True, eq=False)
class Refusal:
    """A revision that was not accepted.

    Attributes:
        revision: what was wanted.
        why: in words.
    """

    revision: Revision
    why: str

    def __str__(self) -> str:
        return f"{self.revision.operator}: {self.why}"


@dataclass(frozen=True, eq=False)
class Turn:
    """What came of one observation.

    Attributes:
        control: what the loop remembers from now on.
        request: the plan that the engine is asked for; None if it need not be asked for anything.
        requested: the operators that it is asked to change.
        accepted: the revisions that were accepted now, people's requests first.
        proposal: what the policy said, accepted or not.
        refused: the revisions that were not accepted, and why.
    """

    control: Control
    request: Plan | None
    requested: tuple[str, ...]
    accepted: tuple[Revision, ...]
    proposal: Proposal
    refused: tuple[Refusal, ...] = ()

    @property
    def hot(self) -> dict[str, str]:
        """By operator, the key or shard that is too busy for any placement, in words."""
        asked = (*self.accepted, *(r.revision for r in self.refused))
        return {r.operator: r.hot for r in (*self.proposal.revisions, *asked) if r.hot}


def turn(control: Control, observation: Observation, plan: Plan, asked: Sequence[Revision] = ()) -> Turn:
    """One observation later.

    1. The policy learns what was observed.
    2. What is in progress is compared with the plan in force, and requested again if need be.
    3. What people ask for is accepted or refused, each operator by itself.
    4. The policy decides, unless everything is in progress. It sees operators in progress as they are going to be,
       with the slots that they still have, whose cores are not free.
    5. What it proposes is accepted or refused, each operator by itself, or all or nothing if it belongs together. Where
       somebody asked for something else, the policy is refused.
    6. What was accepted is requested.

    Args:
        control: what the loop remembers.
        observation: the newest.
        plan: the plan in force.
        asked: what people ask for, at most one revision for every operator.
    """
    now = observation.time
    control = replace(control, history=control.policy.learn(control.history, observation))
    treatments, requests, pending = dict(control.treatments), {}, {}
    for name, treatment in control.treatments.items():
        treatments[name], wanted = step(treatment, plan.operators[name], now)
        if wanted is not None:
            requests[name] = wanted
            if treatments[name].active:
                pending[name] = _pending(plan.operators[name], wanted)
    accepted, refused = _weigh(asked, treatments, requests, plan, now)
    pending |= {r.operator: _pending(plan.operators[r.operator], requests[r.operator]) for r in accepted}
    proposal, nodes = STAY, control.nodes
    if len(pending) < len(treatments):
        coming = replace(plan, operators={**plan.operators, **pending}) if pending else plan
        proposal = control.policy.decide(control.history, coming)
        first = frozenset(r.operator for r in asked)
        mine, others = _weigh(proposal.revisions, treatments, requests, plan, now, proposal.together, first)
        accepted, refused = [*accepted, *mine], [*refused, *others]
        if proposal.nodes is not None and not (proposal.together and others):
            nodes = proposal.nodes
    control = replace(control, treatments=treatments, nodes=nodes)
    request = Plan({**plan.operators, **requests}, nodes) if requests or nodes != plan.nodes else None
    return Turn(control, request, tuple(requests), tuple(accepted), proposal, tuple(refused))


def carry_out(result: Turn, actuator: Actuator, now: float) -> Control:
    """Ask for what a turn requests, if anything; a failure is noted with every operator that it was to change."""
    if result.request is None:
        return result.control
    try:
        actuator.apply(result.request)
    except RequestError as error:
        return notify_failed(result.control, result.requested, str(error), now)
    return result.control


class PolicyLoop:
    """A policy at work: turn after turn, with what people ask for in between.

    Turns are made by one thread; requests may come from any.

    Attributes:
        control: what the loop remembers.
        actuator: makes plans real.
        inbox: where requests go.
    """

    def __init__(self, policy: Policy, plan: Plan, actuator: Actuator) -> None:
        self.control = Control.start(policy, plan)
        self.actuator = actuator
        self.inbox = Inbox({name: len(part.routing) for name, part in plan.operators.items()})

    def turn(self, observation: Observation, plan: Plan, loads: Mapping[str, Floats]) -> Turn:
        """One turn, and the actuator is asked for what came of it.

        Args:
            observation: the newest.
            plan: the plan in force.
            loads: work of every shard as far as it is known, by which requests become revisions.
        """
        asked = []
        for name, request in self.inbox.take().items():
            seen = observation.operators.get(name)
            hottest = seen.hottest[0] if seen is not None and seen.hottest is not None else ""
            asked.append(revision_of(request, name, plan.operators[name], loads[name], hottest))
        result = turn(self.control, observation, plan, asked)
        self.control = carry_out(result, self.actuator, observation.time)
        return result


def notify_failed(control: Control, operators: Collection[str], reason: str, now: float) -> Control:
    """A request failed, now or some time after it was made: it is repeated, and given up after several failures."""
    told = {name: failed(control.treatments[name], reason, now) for name in operators}
    return replace(control, treatments={**control.treatments, **told})


def notify_slot_failed(control: Control, operator: str, slot: int, now: float) -> Control:
    """A slot was lost and comes back knowing nothing: the next turn requests the newest plan again for its operator."""
    told = slot_failed(control.treatments[operator], slot, now)
    return replace(control, treatments={**control.treatments, operator: told})


def _weigh(
    revisions: Iterable[Revision],
    treatments: dict[str, Treatment],
    requests: dict[str, OperatorPlan],
    plan: Plan,
    now: float,
    together: bool = False,
    first: Collection[str] = (),
) -> tuple[list[Revision], list[Refusal]]:
    """Accept revisions or refuse them; treatments and requests are brought up to date.

    Args:
        revisions: those of operators that nobody knows, and those that only report, are passed over.
        treatments: of every operator.
        requests: the plan to ask for, of every operator that is to change.
        plan: the plan in force.
        now: seconds on the observations' clock.
        together: True if all of them are accepted or none.
        first: operators that somebody has asked to change, which comes first.
    """
    known = [r for r in revisions if r.operator in treatments and r.action != Action.NOTHING]
    objections = {r.operator: _objection(r, treatments[r.operator], first) for r in known}
    if together and any(objections.values()):
        others = ", ".join(name for name, why in objections.items() if why)
        objections = {n: why or f"it belongs together with that of {others}" for n, why in objections.items()}
    accepted, refused = [], []
    for revision in known:
        name = revision.operator
        if why := objections[name]:
            refused.append(Refusal(revision, why))
            treatments[name] = refuse(treatments[name], revision, why, now)
            continue
        treatments[name], _ = propose(treatments[name], revision, now)
        accepted.append(revision)
        treatments[name], wanted = step(treatments[name], plan.operators[name], now)
        if wanted is not None:
            requests[name] = wanted
    return accepted, refused


def _objection(revision: Revision, treatment: Treatment, first: Collection[str]) -> str:
    """Why a revision cannot be accepted now; empty if it can."""
    return "what somebody asked for comes first" if revision.operator in first else refusal(treatment, revision)


def _pending(observed: OperatorPlan, goal: OperatorPlan) -> OperatorPlan:
    """The plan to come, with the slots that are still there and have to go: nobody owns them any more.

    >>> now, goal = OperatorPlan.even(2, 2), OperatorPlan(np.array([2, 2]), np.array([-1, -1, 0]))
    >>> _pending(now, goal).nodes.tolist(), _pending(now, goal).routing.tolist()
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
