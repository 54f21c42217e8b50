"""The loop around a policy: learn, decide, propose, request, until it is observed.

One short function, ``turn``, wires the stages. It is pure: whoever calls it has the clock. ``carry_out`` then asks an
actuator, on Spark or in the simulator, for the plan, and lets the loop know if that failed (StreamSwitch section 5).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rheostat.elastic.loop.treatment import Treatment, failed, propose, refusal, refuse, slot_failed, step
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Policy
from rheostat.errors import RheostatError


class Actuator(Protocol):
    """Makes a plan real."""

    def apply(self, plan: Plan) -> None:
        """Ask for a plan. May be called again with the same one, and returns at once.

        That it came true is seen in the plan observed later.

        Raises:
            RequestError: it cannot be asked for now.
        """


class RequestError(RheostatError):
    """A plan could not be requested now; it will be again."""


@dataclass(frozen=True, eq=False)
class Control:
    """What the loop remembers between two observations.

    Attributes:
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
class Turn:
    """What came of one observation.

    Attributes:
        request: the plan that the engine is asked for; None if it need not be asked for anything.
        requested: the operators that it is asked to change.
        accepted: the revisions that were accepted now.
        proposal: what the policy said, accepted or not.
        refused: what was not accepted of it, and why.
    """

    control: Control
    request: Plan | None
    requested: tuple[str, ...]
    accepted: tuple[Revision, ...]
    proposal: Proposal
    refused: tuple[str, ...] = ()


def turn(control: Control, observation: Observation, plan: Plan) -> Turn:
    """One observation later.

    1. The policy learns what was observed.
    2. What is in progress is compared with the plan in force, and requested again if need be.
    3. The policy decides, unless everything is in progress. It sees operators in progress as they are going to be,
       with the slots that they still have: their cores are not free.
    4. What it proposes is accepted or refused, each operator by itself, or all or nothing if it belongs together.
    5. What was accepted is requested.

    Args:
        plan: the plan in force.
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
    proposal, accepted, refused = Proposal(), [], dict[str, str]()
    if len(pending) < len(treatments):
        coming = replace(plan, operators={**plan.operators, **pending}) if pending else plan
        proposal = control.policy.decide(control.history, coming)
        known = [r for r in proposal.revisions if r.operator in treatments and r.action != Action.NOTHING]
        refused = _refused_together(known, treatments) if proposal.together else refused
        for revision in known:
            name = revision.operator
            why = refused.get(name, "") if proposal.together else refusal(treatments[name], revision)
            if why:
                refused[name] = why
                treatments[name] = refuse(treatments[name], revision, why, now)
                continue
            treatments[name], _ = propose(treatments[name], revision, now)
            accepted.append(revision)
            treatments[name], wanted = step(treatments[name], plan.operators[name], now)
            if wanted is not None:
                requests[name] = wanted
    nodes = proposal.nodes if proposal.nodes is not None else control.nodes
    control = replace(control, treatments=treatments, nodes=nodes)
    request = Plan({**plan.operators, **requests}, nodes) if requests or nodes != plan.nodes else None
    told = tuple(f"{name}: {why}" for name, why in refused.items())
    return Turn(control, request, tuple(requests), tuple(accepted), proposal, told)


def carry_out(result: Turn, actuator: Actuator, now: float) -> Control:
    """Ask for what a turn requests, if anything; a failure is noted with every operator that it was to change."""
    if result.request is None:
        return result.control
    try:
        actuator.apply(result.request)
    except RequestError as error:
        return notify_failed(result.control, result.requested, str(error), now)
    return result.control


def notify_failed(control: Control, operators: Collection[str], reason: str, now: float) -> Control:
    """A request failed, now or some time after it was made: it is repeated, and given up after some failures."""
    told = {name: failed(control.treatments[name], reason, now) for name in operators}
    return replace(control, treatments={**control.treatments, **told})


def notify_slot_failed(control: Control, operator: str, slot: int, now: float) -> Control:
    """A slot was lost and comes back knowing nothing: the next turn requests the newest plan again for its operator."""
    told = slot_failed(control.treatments[operator], slot, now)
    return replace(control, treatments={**control.treatments, operator: told})


def _refused_together(revisions: list[Revision], treatments: Mapping[str, Treatment]) -> dict[str, str]:
    """Why each of some revisions that belong together is refused: all of them, if one is."""
    found = {r.operator: refusal(treatments[r.operator], r) for r in revisions}
    others = ", ".join(name for name, why in found.items() if why)
    return {name: why or f"it belongs together with that of {others}" for name, why in found.items()} if others else {}


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
