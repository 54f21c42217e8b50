"""Applies plans on Spark: a requested plan becomes the routing of the next epoch.

Nothing is drained or copied. A slot is one task of an epoch, and the task reads its shards from the segments that hold
them. Spark decides on which executor a task runs, so the nodes of slots are nominal, and slots are renumbered without
gaps for every epoch. The number of nodes that a plan wants is asked of Spark by ``executors/executor_nodes``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.loop.turn import Turn
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.routing.balance import Routing, slot_loads
from rheostat.elastic.routing.requests import Change


@dataclass(frozen=True, kw_only=True)
class EpochRouting:
    """The routing of one epoch, and what changed for it.

    Attributes:
        routing: by component, the slot of every shard, without gaps in the slot numbers.
        changes: the changes that the policy or the user asked for, including requests of the user that were refused.
        moved: by component, the shards whose slot differs from that in the previous epoch.
        hot: by component, the key or shard that is too busy for any placement to be balanced, in words.
        expected: by component and slot, the expected useful seconds in this epoch.
    """

    routing: Mapping[str, Routing]
    changes: tuple[Change, ...] = ()
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    hot: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[tuple[str, int], float] = field(default_factory=dict)


class SparkActuator:
    """Holds the current plan, and the requested plan until the next epoch begins.

    ``apply`` and ``begin`` are called in the thread of the epochs; ``routing`` may be read from any thread.

    Args:
        routing: by component, the slot of every shard at the start of the query.
        keyed: the components with keys. Only their shards can move, so only they are in the plan.
        nodes: the number of nodes wanted at the start; slots are counted on them in turn.

    >>> actuator = SparkActuator({"by area": (0, 0, 1, 1), "global": (0, 0, 0, 0)}, keyed=["by area"])
    >>> actuator.plan.slots()
    {'by area': 2}
    >>> requested = OperatorPlan(np.array([0, 3, 3, 5]), np.array([0, -1, -1, 0, -1, 0]))
    >>> actuator.apply(Plan({"by area": requested}, 1))
    >>> actuator.routing["by area"]  # unchanged until the next epoch begins
    (0, 0, 1, 1)
    """

    def __init__(self, routing: Mapping[str, Routing], keyed: Iterable[str], nodes: int = 1) -> None:
        self._routing = dict(routing)
        self._lock = threading.Lock()
        self._plan = self._requested = Plan({name: _plan_of(routing[name], nodes) for name in keyed}, nodes)

    def follow(self, routing: Mapping[str, Routing], keyed: Iterable[str]) -> None:
        """Hold the plan of other components from now on; arguments as those of the class."""
        nodes = self._plan.nodes
        plan = Plan({name: _plan_of(routing[name], nodes) for name in keyed}, nodes)
        with self._lock:
            self._routing, self._plan, self._requested = dict(routing), plan, plan

    def follow_nodes(self, nodes: int) -> None:
        """Hold another number of nodes, because it is not ours to change and others came or went."""
        if nodes != self._plan.nodes:
            with self._lock:
                self._plan, self._requested = replace(self._plan, nodes=nodes), replace(self._requested, nodes=nodes)

    @property
    def plan(self) -> Plan:
        """The current plan: that of the newest epoch."""
        return self._plan

    @property
    def routing(self) -> dict[str, Routing]:
        """By component, the slot of every shard in the newest epoch."""
        with self._lock:
            return dict(self._routing)

    def apply(self, plan: Plan) -> None:
        """Request a plan; it takes effect when the next epoch begins."""
        self._requested = plan

    def begin(self, epoch: int, turn: Turn, loads: Mapping[str, Floats]) -> EpochRouting:
        """Begin an epoch with the requested plan, and return its routing.

        Args:
            epoch: number of the epoch.
            turn: the turn of the policy loop that decided on the plan.
            loads: by component, the expected useful seconds of every shard.
        """
        before = self.routing
        after = {**before, **{name: compact(part) for name, part in self._requested.operators.items()}}
        with self._lock:
            self._plan, self._routing = self._requested, after
        revisions = [(revision, "") for revision in turn.accepted]
        revisions += [(refused.revision, refused.why) for refused in turn.refused if refused.revision.asked]
        moved = {name: np.flatnonzero(np.array(before[name]) != np.array(routing)) for name, routing in after.items()}
        return EpochRouting(
            routing=after,
            changes=tuple(
                Change.between(before[r.operator], after[r.operator], r, loads[r.operator], epoch, why)
                for r, why in revisions
            ),
            moved={name: tuple(shards.tolist()) for name, shards in moved.items() if len(shards)},
            hot=turn.hot,
            expected={
                (name, slot): float(seconds)
                for name, routing in after.items()
                for slot, seconds in enumerate(slot_loads(routing, loads[name], max(routing) + 1))
            },
        )


def compact(plan: OperatorPlan) -> Routing:
    """The slot of every shard, with the slots renumbered without gaps.

    >>> compact(OperatorPlan(np.array([0, 3, 3, 5]), np.array([0, -1, -1, 0, -1, 0])))
    (0, 1, 1, 2)
    """
    _, numbers = np.unique(plan.routing, return_inverse=True)
    return tuple(numbers.tolist())


def _plan_of(routing: Routing, nodes: int) -> OperatorPlan:
    return OperatorPlan(np.array(routing, dtype=np.int64), np.arange(max(routing) + 1, dtype=np.int64) % nodes)
