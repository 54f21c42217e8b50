"""One turn of the control loop: learn, decide, accept, and say which plan to request (StreamSwitch section 5).

``turn`` is a pure function: the time comes with the observation. ``actuation`` then requests the plan, on Spark or in
the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rheostat.elastic.loop.acceptance import Refusal, accept
from rheostat.elastic.loop.node_change import ASKED, NodeChange, judge
from rheostat.elastic.loop.speed_watch import SpeedWatch
from rheostat.elastic.loop.treatment import Treatment, step
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Policy
from rheostat.errors import RheostatError


@dataclass(frozen=True, eq=False)
class Control:
    """What the loop remembers between two observations.

    Attributes:
        policy: the policy that decides.
        history: what the policy has learned.
        treatments: the change in progress of every operator, by name.
        nodes: the number of nodes requested last; None if the plan's has never been changed.
        allowed: the fewest and most slots of an operator that the policy may ask for; None if it may have any number.
        node_range: the fewest and most nodes; None if any number is allowed.
        fixed_nodes: why the number of nodes cannot change; empty if it can.
        watch: the work of operators on nodes that are not equally fast.
    """

    policy: Policy
    history: Any
    treatments: Mapping[str, Treatment]
    nodes: int | None = None
    allowed: tuple[int, int] | None = None
    node_range: NodeRange | None = None
    fixed_nodes: str = ""
    watch: SpeedWatch = field(default_factory=SpeedWatch)

    @classmethod
    def start(
        cls,
        policy: Policy,
        plan: Plan,
        allowed: tuple[int, int] | None = None,
        node_range: NodeRange | None = None,
        fixed_nodes: str = "",
    ) -> Control:
        """Return the state before the first observation."""
        treatments = {name: Treatment(part, policy.waits) for name, part in plan.operators.items()}
        return cls(policy, policy.begin(plan), treatments, None, allowed, node_range, fixed_nodes)


class PolicyError(RheostatError):
    """A policy failed or took too long. The loop leaves it out of this turn.

    Attributes:
        trace: the traceback of the policy's error; empty if it raised none.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


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
        node_change: another number of nodes, accepted or refused; None if nobody wanted one.
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
    node_change: NodeChange | None = None

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
    asked_nodes: int | None = None,
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
       request wins over the policy's revision of the same operator. The same holds for the number of nodes, which has
       to be in its range.
    6. Operators that nothing else changes get shares that follow the speed of nodes, if the policy moves shards.
    7. Everything accepted is requested.

    Args:
        control: what the loop remembers.
        observation: the newest observation.
        plan: the plan in force.
        asked: users' requests. If several change the same operator, the first is accepted.
        asked_nodes: the number of nodes that a user asked for; None if nobody did.
        learns: False to leave out step 1.
        decides: False to leave out steps 4 to 6.
    """
    now = observation.time
    if learns:
        history = control.policy.learn(control.history, observation)
        control = replace(control, history=history, watch=control.watch.after(observation))
    treatments, requests = _step_all(control.treatments, plan, now)
    accepted, refused = accept(asked, treatments, requests, plan, now)
    changing = {
        name: _during_change(plan.operators[name], goal) for name, goal in requests.items() if treatments[name].active
    }
    proposal = STAY
    nodes = plan.nodes if control.fixed_nodes or control.nodes is None else control.nodes
    change = None if asked_nodes is None else _judged(control, nodes, asked_nodes, (ASKED,), asked=True)
    decides = decides and len(changing) < len(treatments)
    if decides:
        proposal = control.policy.decide(control.history, replace(plan, operators={**plan.operators, **changing}))
        asked_for = frozenset(r.operator for r in asked)
        chosen, rejected = accept(
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
        if proposal.nodes is not None and asked_nodes is None and not (proposal.together and rejected):
            change = _judged(control, nodes, proposal.nodes, proposal.reasons)
        if control.policy.pause != Pause.NONE:
            busy = {*asked_for, *changing, *(r.operator for r in chosen)}
            chosen, _ = accept(control.watch.revisions(observation, plan, busy), treatments, requests, plan, now)
            accepted += chosen
    if change is not None and not change.refused:
        nodes = change.after
        control = replace(control, nodes=nodes)
    control = replace(control, treatments=treatments)
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
        node_change=change,
    )


def _judged(
    control: Control, now: int, wanted: int, reasons: tuple[str, ...], *, asked: bool = False
) -> NodeChange | None:
    return judge(now, wanted, control.node_range, fixed=control.fixed_nodes, reasons=reasons, asked=asked)


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
