"""Where everything runs: the plan, and proposals to change it, with their reasons.

A plan is a value. What is desired (a proposal), what was requested of the engine, and what is observed there are three
such values, and they are kept apart (see ``rheostat.elastic.loop.treatment``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from rheostat.arrays import Ints
from rheostat.errors import ConfigurationError


class Action(StrEnum):
    """What a revision does to an operator."""

    NOTHING = "nothing"
    SCALE_IN = "scale in"
    BALANCE = "balance"
    SCALE_OUT = "scale out"

    @classmethod
    def between(cls, before: int, after: int) -> Action:
        """The action that leads from one number of slots to another; with equal numbers, shards move between them.

        >>> Action.between(2, 3).value, Action.between(2, 2).value
        ('scale out', 'balance')
        """
        return cls.BALANCE if before == after else cls.SCALE_OUT if after > before else cls.SCALE_IN


@dataclass(frozen=True, eq=False)
class Subspaces:
    """Which part of the key space belongs to which elastic executor (Elasticutor section 2.2).

    Attributes:
        executors: the executor of every shard.
        owners: the executor of every slot; -1 for slots that are not in use.
        homes: the node of every executor's main process.
    """

    executors: Ints
    owners: Ints
    homes: Ints


@dataclass(frozen=True, eq=False)
class OperatorPlan:
    """Where one operator runs.

    Attributes:
        routing: the slot of every shard.
        nodes: the node of every slot; -1 for numbers that no slot has, since slots keep their numbers when others go.
        subspaces: who owns which keys, if elastic executors do; otherwise every slot owns the shards routed to it.

    >>> plan = OperatorPlan.even(shards=6, slots=3, nodes=2)
    >>> plan.routing.tolist(), plan.nodes.tolist(), plan.slots
    ([0, 0, 1, 1, 2, 2], [0, 1, 0], 3)
    """

    routing: Ints
    nodes: Ints
    subspaces: Subspaces | None = None

    @classmethod
    def even(cls, shards: int, slots: int, nodes: int = 1, first: int = 0) -> OperatorPlan:
        """Equal numbers of neighbouring shards for all slots; slots dealt to the nodes in turn, from ``first`` on."""
        if not 1 <= slots <= shards or nodes < 1:
            raise ConfigurationError(
                f"shards={shards}, slots={slots}, nodes={nodes}: slots must be between 1 and shards, nodes at least 1"
            )
        where = (first + np.arange(slots)) % nodes
        return cls(np.arange(shards) * slots // shards, where.astype(np.int64))

    @classmethod
    def elastic(cls, shards: int, executors: int, nodes: int, room: int | None = None, first: int = 0) -> OperatorPlan:
        """Elastic executors with one slot and equal numbers of neighbouring shards each, dealt to the nodes in turn.

        Args:
            shards: of the operator.
            executors: how many.
            nodes: how many.
            room: slot numbers to keep free for later slots, those of the executors among them.
            first: the node of the first executor.

        >>> OperatorPlan.elastic(shards=4, executors=2, nodes=2, room=3).subspaces.owners.tolist()
        [0, 1, -1]
        """
        plan = cls.even(shards, executors, nodes, first)
        spare = np.full(max((room or executors) - executors, 0), -1)
        owners = np.r_[np.arange(executors), spare]
        return cls(plan.routing, np.r_[plan.nodes, spare], Subspaces(plan.routing, owners, plan.nodes))

    @property
    def used(self) -> Ints:
        """The numbers of the slots that are in use."""
        return np.flatnonzero(self.nodes >= 0)

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return int(np.count_nonzero(self.nodes >= 0))

    def same(self, other: OperatorPlan) -> bool:
        """True if both plans route every shard to the same slot on the same node.

        >>> OperatorPlan.even(4, 2).same(OperatorPlan.even(4, 4))
        False
        """
        if self is other:
            return True
        if not np.array_equal(self.routing, other.routing):
            return False
        size = max(len(self.nodes), len(other.nodes))
        return np.array_equal(_padded(self.nodes, size), _padded(other.nodes, size))

    def check(self, shards: int, nodes: int) -> None:
        """Refuse a plan that drops a shard or uses a node that does not exist."""
        if self.routing.shape != (shards,):
            raise ConfigurationError(f"a plan for {shards} shards routes {self.routing.shape} of them")
        if self.routing.min() < 0 or self.routing.max() >= len(self.nodes) or (self.nodes[self.routing] < 0).any():
            raise ConfigurationError("a plan routes shards to slots that do not exist")
        if self.nodes.max() >= nodes:
            raise ConfigurationError(f"a plan uses node {self.nodes.max()}, but there are only {nodes} nodes")


@dataclass(frozen=True, eq=False)
class Plan:
    """Where every operator runs.

    Attributes:
        operators: by name; with several topologies, the name is ``topology/operator``.
        nodes: how many nodes are wanted; all node numbers are below it.
    """

    operators: Mapping[str, OperatorPlan]
    nodes: int

    def slots(self) -> dict[str, int]:
        """How many slots every operator has."""
        return {name: plan.slots for name, plan in self.operators.items()}

    def cores(self, nodes: int) -> Ints:
        """How many slots are on every node, each of which uses one core."""
        used = [plan.nodes[plan.nodes >= 0] for plan in self.operators.values()]
        return np.bincount(np.concatenate(used), minlength=nodes) if used else np.zeros(nodes, dtype=np.int64)

    def revised(self, revisions: Iterable[Revision]) -> Plan:
        """The plan with the new plans of the revised operators."""
        return replace(self, operators={**self.operators, **{r.operator: r.plan for r in revisions}})


@dataclass(frozen=True, eq=False)
class Revision:
    """A new plan for one operator.

    Attributes:
        operator: its name.
        plan: where it is to run.
        action: what kind of change that is. ``NOTHING`` only reports, for example a hot key that no move helps.
        reasons: why, in words and numbers.
        feasible: False if the goal cannot be reached and this is the best there is.
        urgent: True if it does not wait for the rest after the last change.
        asked: the kind of request that it answers, as ``rescale``; empty if the policy wants it.
        hot: the key or shard that is too busy for any placement, in words; empty if there is none.
    """

    operator: str
    plan: OperatorPlan
    action: Action
    reasons: tuple[str, ...]
    feasible: bool = True
    urgent: bool = False
    asked: str = ""
    hot: str = ""


@dataclass(frozen=True, eq=False)
class Proposal:
    """What a policy wants changed, and why.

    Attributes:
        revisions: operators that are to run elsewhere; none if everything can stay as it is.
        nodes: how many nodes are wanted; None to leave that alone.
        reasons: what holds for all of it, also if nothing is to change.
        together: True if the revisions share cores, so that all of them are carried out or none.
        feasible: False if the goal cannot be reached and this is the best there is.

    >>> STAY.changes
    False
    """

    revisions: tuple[Revision, ...] = ()
    nodes: int | None = None
    reasons: tuple[str, ...] = ()
    together: bool = False
    feasible: bool = True

    @property
    def changes(self) -> bool:
        """True if anything is to change."""
        return self.nodes is not None or any(r.action != Action.NOTHING for r in self.revisions)


STAY = Proposal()
"""Nothing is to change."""


def _padded(nodes: Ints, size: int) -> Ints:
    return np.r_[nodes, np.full(size - len(nodes), -1)] if len(nodes) < size else nodes
