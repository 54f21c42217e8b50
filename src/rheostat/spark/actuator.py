"""Makes plans real on Spark: a plan is held until the next epoch begins, and then is the routing of that epoch.

Nothing is drained or copied: the slots of an epoch are its tasks, and each reads its shards out of whatever segments
hold them. Spark's slots are numbered without gaps and have no place of their own, since Spark decides on which executor
a task runs. So a plan's slots are numbered anew for an epoch, and its nodes do not matter here.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.loop.loop import Turn
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.routing.balance import Routing, slot_loads
from rheostat.elastic.routing.requests import Change


@dataclass(frozen=True, kw_only=True)
class EpochRouting:
    """The routing of one epoch, and what changed for it.

    Attributes:
        routing: by component, the slot of every shard, without gaps in the slot numbers.
        changes: what was asked for or wanted, and what came of it.
        moved: by component, the shards that belong to another slot than in the epoch before.
        hot: by component, the key or shard that is too busy for any placement, in words.
        expected: by component and slot, the useful seconds it will probably take.
    """

    routing: Mapping[str, Routing]
    changes: tuple[Change, ...] = ()
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    hot: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[tuple[str, int], float] = field(default_factory=dict)


class SparkActuator:
    """Holds the plan in force, and the one that is asked for until an epoch begins.

    Plans are asked for and epochs begin in the epoch's thread; the routing may be read from any.

    Args:
        routing: by component, the slot of every shard, as the checkpoint has it.
        keyed: the components that have keys. Only they can be routed anew, so only they are in the plan.

    >>> actuator = SparkActuator({"by area": (0, 0, 1, 1), "global": (0, 0, 0, 0)}, keyed=["by area"])
    >>> actuator.plan.slots()
    {'by area': 2}
    >>> wanted = OperatorPlan(np.array([0, 3, 3, 5]), np.array([0, -1, -1, 0, -1, 0]))
    >>> actuator.apply(Plan({"by area": wanted}, 1))
    >>> actuator.routing["by area"]  # an epoch has not begun since
    (0, 0, 1, 1)
    """

    def __init__(self, routing: Mapping[str, Routing], keyed: Mapping[str, object] | list[str]) -> None:
        self._routing = dict(routing)
        self._lock = threading.Lock()
        self._plan = self._wanted = Plan({name: _plan_of(routing[name]) for name in keyed}, nodes=1)

    @property
    def plan(self) -> Plan:
        """The plan in force: that of the newest epoch."""
        return self._plan

    @property
    def routing(self) -> dict[str, Routing]:
        """By component, the slot of every shard in the newest epoch."""
        with self._lock:
            return dict(self._routing)

    def apply(self, plan: Plan) -> None:
        """Ask for a plan; it holds from the next epoch on."""
        self._wanted = plan

    def begin(self, epoch: int, turn: Turn, loads: Mapping[str, Floats]) -> EpochRouting:
        """The routing of an epoch that begins now, after the turn that decided on it.

        Args:
            epoch: its number.
            turn: what was accepted and refused.
            loads: useful seconds by component and shard to expect.
        """
        before = self.routing
        after = {**before, **{name: compact(part) for name, part in self._wanted.operators.items()}}
        with self._lock:
            self._plan, self._routing = self._wanted, after
        told = [(revision, "") for revision in turn.accepted]
        told += [(refused.revision, refused.why) for refused in turn.refused if refused.revision.asked]
        moved = {name: np.flatnonzero(np.array(before[name]) != np.array(routing)) for name, routing in after.items()}
        return EpochRouting(
            routing=after,
            changes=tuple(
                Change.between(before[r.operator], after[r.operator], r, loads[r.operator], epoch, why)
                for r, why in told
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
    """The slot of every shard, with slots numbered anew such that there is no gap.

    >>> compact(OperatorPlan(np.array([0, 3, 3, 5]), np.array([0, -1, -1, 0, -1, 0])))
    (0, 1, 1, 2)
    """
    _, numbers = np.unique(plan.routing, return_inverse=True)
    return tuple(numbers.tolist())


def _plan_of(routing: Routing) -> OperatorPlan:
    return OperatorPlan(np.array(routing, dtype=np.int64), np.zeros(max(routing) + 1, dtype=np.int64))
