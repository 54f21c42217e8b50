"""The loop around a policy: learn, decide, propose, request, until it is observed.

One short function, ``turn``, wires the stages. It is pure: whoever calls it has the clock and the engine, on Spark or
in the simulator, and carries the request out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rheostat.elastic.observation import Observation
from rheostat.elastic.plan import Plan, Proposal, Revision
from rheostat.elastic.policy import Policy
from rheostat.elastic.treat import Treatment, propose, refusal, step


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
        accepted: the revisions that were accepted now.
        proposal: what the policy said, accepted or not.
    """

    control: Control
    request: Plan | None
    accepted: tuple[Revision, ...]
    proposal: Proposal


def turn(control: Control, observation: Observation, plan: Plan) -> Turn:
    """One observation later.

    1. The policy learns what was observed.
    2. What is in progress is compared with the plan in force, and requested again if need be.
    3. The policy decides, unless everything is in progress.
    4. What it proposes is accepted or refused, each operator by itself, or all or nothing if it belongs together.
    5. What was accepted is requested.

    Args:
        plan: the plan in force.
    """
    now = observation.time
    control = replace(control, history=control.policy.learn(control.history, observation))
    treatments, requests = dict(control.treatments), {}
    for name, treatment in control.treatments.items():
        treatments[name], wanted = step(treatment, plan.operators[name], now)
        if wanted is not None:
            requests[name] = wanted
    proposal, accepted = Proposal(), []
    if not all(t.active for t in treatments.values()):
        proposal = control.policy.decide(control.history, plan)
        for revision in _admissible(proposal, treatments):
            treatments[revision.operator], fine = propose(treatments[revision.operator], revision, now)
            if fine:
                accepted.append(revision)
                treatments[revision.operator], wanted = step(
                    treatments[revision.operator], plan.operators[revision.operator], now
                )
                if wanted is not None:
                    requests[revision.operator] = wanted
    nodes = proposal.nodes if proposal.nodes is not None else control.nodes
    control = replace(control, treatments=treatments, nodes=nodes)
    request = Plan({**plan.operators, **requests}, nodes) if requests or nodes != plan.nodes else None
    return Turn(control, request, tuple(accepted), proposal)


def _admissible(proposal: Proposal, treatments: Mapping[str, Treatment]) -> tuple[Revision, ...]:
    """All revisions; none of those that belong together if one of them would be refused."""
    known = tuple(r for r in proposal.revisions if r.operator in treatments)
    if proposal.together and any(refusal(treatments[r.operator], r) for r in known):
        return ()
    return known
