"""The loop of a running query: a policy, an actuator, and users' requests, turn after turn.

Users' requests take the same way as the policy's revisions, and come before them. A policy that fails or is paused is
left out of a turn; users' requests and changes in progress are carried out all the same.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rheostat.arrays import Floats
from rheostat.elastic.loop.actuation import Actuator, requested
from rheostat.elastic.loop.inbox import Inbox
from rheostat.elastic.loop.turn import Control, PolicyError, Turn, turn
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Revision
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.routing.requests import Request, revision_of

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
        node_range: the fewest and most nodes; None if any number is allowed.
        fixed_nodes: why the number of nodes cannot change; empty if it can.

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
        node_range: NodeRange | None = None,
        fixed_nodes: str = "",
    ) -> None:
        self.control = Control.start(policy, plan, allowed, node_range, fixed_nodes)
        self.actuator = actuator
        self.inbox = Inbox({name: len(part.routing) for name, part in plan.operators.items()})
        self.paused = False
        self._resumed = tuple(resumed)
        self._guard = guard

    def follow(self, plan: Plan) -> None:
        """Decide about other operators from now on. The policy begins to learn anew, changes in progress are dropped.

        Args:
            plan: the plan in force, with the new operators.
        """
        now = self.control
        self.control = Control.start(now.policy, plan, now.allowed, now.node_range, now.fixed_nodes)
        self.inbox.follow({name: len(part.routing) for name, part in plan.operators.items()})
        self._resumed = ()

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
        result = self._turn(observation, plan, asked, self.inbox.take_nodes())
        self.inbox.put_back(_too_early(requests, result))
        store(result)
        self._resumed = ()
        result = requested(result, self.actuator, observation.time)
        self.control = result.control
        return result

    def _turn(self, observation: Observation, plan: Plan, asked: Sequence[Revision], nodes: int | None) -> Turn:
        """Run one turn with the policy. If it fails, run it again without a decision, so that the policy still learns.

        If that fails too, run the turn without the policy.
        """
        control, decides = self.control, not self.paused
        try:
            result = self._guard(lambda: turn(control, observation, plan, asked, asked_nodes=nodes, decides=decides))
            return result if decides else replace(result, skipped="the policy is paused")
        except PolicyError as failure:
            error = failure
        try:
            result = self._guard(lambda: turn(control, observation, plan, asked, asked_nodes=nodes, decides=False))
        except PolicyError:
            result = turn(control, observation, plan, asked, asked_nodes=nodes, learns=False, decides=False)
        return replace(result, skipped=str(error), policy_error=error)


def _too_early(requests: Mapping[str, Request], result: Turn) -> dict[str, Request]:
    """Return the users' requests that were refused because their operator has another change in progress."""
    refused = {r.revision.operator for r in result.refused if r.revision.asked}
    active = {name for name, treatment in result.control.treatments.items() if treatment.active}
    return {name: request for name, request in requests.items() if name in refused & active}
