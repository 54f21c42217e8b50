"""Plans: where every operator runs. Proposals to change a plan, and their reasons.

A plan is an immutable value. The plan that a policy proposes, the plan requested of the engine and the plan observed
there are three separate values (see ``rheostat.elastic.loop.treatment``).
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
        """Return the action that leads from one number of slots to another; ``BALANCE`` if the numbers are equal.

        >>> Action.between(2, 3).value, Action.between(2, 2).value
        ('scale out', 'balance')
        """
        return cls.BALANCE if before == after else cls.SCALE_OUT if after > before else cls.SCALE_IN


@dataclass(frozen=True, eq=False)
class Subspaces:
    """Which part of the key space belongs to which elastic executor (Elasticutor section 2.2).

    Attributes:
        executors: the executor that owns each shard.
        owners: the executor that owns each slot; -1 for slot numbers that are not in use.
        homes: the node of each executor's main process.
    """

    executors: Ints
    owners: Ints
    homes: Ints


@dataclass(frozen=True, eq=False)
class OperatorPlan:
    """Where one operator runs.

    Attributes:
        routing: the slot of every shard.
        nodes: the node of every slot. Slots keep their numbers when others are removed, so there may be gaps: -1 marks
            a number that is not in use.
        subspaces: which elastic executor owns which keys; None without elastic executors.

    >>> plan = OperatorPlan.even(shards=6, slots=3, nodes=2)
    >>> plan.routing.tolist(), plan.nodes.tolist(), plan.slots
    ([0, 0, 1, 1, 2, 2], [0, 1, 0], 3)
    """

    routing: Ints
    nodes: Ints
    subspaces: Subspaces | None = None

    @classmethod
    def even(cls, shards: int, slots: int, nodes: int = 1, first: int = 0) -> OperatorPlan:
        """Return a plan in which every slot has about the same number of neighbouring shards.

        Args:
            shards: the number of shards.
            slots: the number of slots.
            nodes: the number of nodes. Slots go to the nodes in turn.
            first: the node of the first slot.
        """
        if not 1 <= slots <= shards or nodes < 1:
            raise ConfigurationError(
                f"shards={shards}, slots={slots}, nodes={nodes}: slots must be between 1 and shards, nodes at least 1"
            )
        where = (first + np.arange(slots)) % nodes
        return cls(np.arange(shards) * slots // shards, where.astype(np.int64))

    @classmethod
    def elastic(cls, shards: int, executors: int, nodes: int, room: int | None = None, first: int = 0) -> OperatorPlan:
        """Return a plan of elastic executors with one slot and about the same number of neighbouring shards each.

        Args:
            shards: the number of shards.
            executors: the number of executors.
            nodes: the number of nodes. Executors go to the nodes in turn.
            room: the number of slot numbers, used or not; as many as executors if None.
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
        """The slot numbers that are in use, in ascending order."""
        return np.flatnonzero(self.nodes >= 0)

    @property
    def slots(self) -> int:
        """The number of slots in use."""
        return int(np.count_nonzero(self.nodes >= 0))

    def same(self, other: OperatorPlan) -> bool:
        """Return True if both plans have the same slots on the same nodes, and the same slot for every shard.

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
        """Check that the plan has a slot for every shard and that its nodes exist.

        Args:
            shards: the number of shards of the operator.
            nodes: the number of nodes of the cluster.

        Raises:
            ConfigurationError: the plan does not fit the operator or the cluster.
        """
        if self.routing.shape != (shards,):
            raise ConfigurationError(
                f"the operator has {shards} shards, but its plan routes {self.routing.size}: pass one slot per shard"
            )
        unused = (self.routing < 0) | (self.routing >= len(self.nodes))
        unused[~unused] = self.nodes[self.routing[~unused]] < 0
        if unused.any():
            shard = int(unused.argmax())
            raise ConfigurationError(
                f"the plan routes shard {shard} to slot {self.routing[shard]}, which does not exist: "
                f"the slots are {self.used.tolist()}"
            )
        if self.nodes.max() >= nodes:
            raise ConfigurationError(
                f"the plan uses node {self.nodes.max()}, but the cluster has {nodes} nodes, numbered from 0"
            )


@dataclass(frozen=True, eq=False)
class Plan:
    """Where every operator runs.

    Attributes:
        operators: the plan of each operator, by name; with several topologies, by ``topology/operator``.
        nodes: the number of nodes wanted. All node numbers are below it. Nodes with the highest numbers may not be
            there yet, or be gone: ``Observation.cores`` says which are there.
    """

    operators: Mapping[str, OperatorPlan]
    nodes: int

    def slots(self) -> dict[str, int]:
        """Return the number of slots of every operator."""
        return {name: plan.slots for name, plan in self.operators.items()}

    def cores(self, nodes: int) -> Ints:
        """Return the number of cores in use on every node: one for each slot."""
        used = [plan.nodes[plan.nodes >= 0] for plan in self.operators.values()]
        return np.bincount(np.concatenate(used), minlength=nodes) if used else np.zeros(nodes, dtype=np.int64)

    def revised(self, revisions: Iterable[Revision]) -> Plan:
        """Return the plan with the revised operators in their new places."""
        return replace(self, operators={**self.operators, **{r.operator: r.plan for r in revisions}})


@dataclass(frozen=True, eq=False)
class Revision:
    """A new plan for one operator.

    Attributes:
        operator: the operator's name.
        plan: where the operator is to run.
        action: the kind of change. ``NOTHING`` only reports, for example a hot key that no move helps.
        reasons: why, in words and numbers.
        feasible: False if the goal is out of reach and this plan comes closest to it.
        urgent: True if the change is made without waiting for the rest after the last one.
        asked: the kind of user request that it carries out, such as ``rescale``; empty if the policy decided it.
        hot: the key or shard that is too busy for any placement, in words; empty if there is none.
        expected: mean latency in seconds that the policy expects with the new plan; NaN if it expects none.
    """

    operator: str
    plan: OperatorPlan
    action: Action
    reasons: tuple[str, ...]
    feasible: bool = True
    urgent: bool = False
    asked: str = ""
    hot: str = ""
    expected: float = float("nan")


@dataclass(frozen=True, eq=False)
class Proposal:
    """What a policy wants changed, and why.

    Attributes:
        revisions: new plans for the operators to change; empty if all stay as they are.
        nodes: the number of nodes wanted; None to leave it as it is.
        reasons: reasons for the proposal as a whole; given also if nothing is to change.
        together: True if the revisions share cores, so that either all of them are carried out or none.
        feasible: False if the goal is out of reach and this proposal comes closest to it.

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
        """True if the proposal changes anything."""
        return self.nodes is not None or any(r.action != Action.NOTHING for r in self.revisions)


STAY = Proposal()
"""The proposal to change nothing."""


def _padded(nodes: Ints, size: int) -> Ints:
    """Return the nodes of slots with -1 appended up to ``size`` slot numbers."""
    return np.r_[nodes, np.full(size - len(nodes), -1)] if len(nodes) < size else nodes
