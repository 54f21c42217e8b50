"""Proposals that an earlier run stored and never carried out, because it ended before their epoch was committed.

A new run carries them out in its first epoch, or drops them with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.elastic.loop.decision import USER, Decision
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Revision


@dataclass(frozen=True)
class Setting:
    """What a new run was started with, and what stored proposals have to fit.

    Attributes:
        policy: name of the policy.
        slots: the number of slots that the user asked for; None if any number is fine.
        allowed: the fewest and most slots; None if any number is allowed.
        nodes: the fewest and most nodes; None if their number cannot change.
    """

    policy: str
    slots: int | None = None
    allowed: tuple[int, int] | None = None
    nodes: NodeRange | None = None


@dataclass(frozen=True)
class StoredProposal:
    """A stored proposal for one component.

    Attributes:
        decision: the decision.
        routing: the slot of every shard, without gaps in the slot numbers; empty if it was not stored.
        asked: the kind of user request that it carries out; empty if the policy decided it.
    """

    decision: Decision
    routing: tuple[int, ...]
    asked: str = ""

    def objection(self, plan: Plan, setting: Setting) -> str:
        """Return why the proposal does not fit a new run; empty if it does.

        Args:
            plan: the plan with which the run begins.
            setting: what the run was started with.
        """
        decision, slots = self.decision, len(set(self.routing))
        part = plan.operators.get(decision.component)
        if part is None:
            return "the topology has no such component any more"
        if len(self.routing) != len(part.routing):
            return f"it routes {len(self.routing)} shards, but the component has {len(part.routing)}"
        if decision.policy not in (USER, setting.policy):
            return f"{decision.policy} decided it, and the policy is {setting.policy} now"
        if setting.slots is not None and slots != setting.slots:
            return f"it has {slots} slots, and the query was started with slots={setting.slots}"
        if setting.allowed is not None and not setting.allowed[0] <= slots <= setting.allowed[1]:
            return f"it has {slots} slots, and the query may have {setting.allowed[0]} to {setting.allowed[1]}"
        return ""

    def revision(self) -> Revision:
        """Return the revision that carries the proposal out. It is urgent: it waits for no rest."""
        decision, routing = self.decision, np.array(self.routing, dtype=np.int64)
        why = f"resumed: the query ended before epoch {decision.epoch} was committed"
        return Revision(
            decision.component,
            OperatorPlan(routing, np.zeros(int(routing.max()) + 1, dtype=np.int64)),
            Action(decision.action),
            (*decision.reasons, why),
            feasible=decision.feasible,
            urgent=True,
            asked=self.asked,
        )


def newest_by_component(proposals: Mapping[int, StoredProposal]) -> dict[str, int]:
    """Return by component the number of its newest proposal."""
    return {proposals[number].decision.component: number for number in sorted(proposals)}
