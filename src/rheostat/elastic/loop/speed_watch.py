"""Work follows the speed of nodes: the loop moves shards from slots on slow nodes to slots on fast ones.

Policies share work out as if all nodes were equally fast. On a cluster where they are not, the slots have homes
(``OperatorObservation.homes``), and the loop corrects the shares, for every policy that may move shards. A policy then
measures slots that are equally busy, and has nothing to even out. It is done by the speed of nodes, not of slots or
operators: what one operator has shown of a node holds for all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.node_speeds import host_speeds
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Revision
from rheostat.elastic.model.smoothing import LOAD_HALF_LIFE, blend, share_of
from rheostat.elastic.routing.speed_shares import share_by_speed

SETTLED = 3
"""Epochs that the work of an operator is watched before anything moves."""


@dataclass(frozen=True, eq=False)
class StandardWork:
    """What the shards of an operator cost on a node of speed 1.

    Attributes:
        seconds: seconds per epoch, by shard.
        epochs: number of epochs measured.
    """

    seconds: Floats
    epochs: int = 1


@dataclass(frozen=True, eq=False)
class SpeedWatch:
    """The work of operators whose slots have homes.

    Attributes:
        work: by operator, what its shards cost on a node of speed 1.

    >>> plan = Plan({"sum": OperatorPlan(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1]))}, 2)
    >>> seconds = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    >>> found = OperatorObservation(plan=plan.operators["sum"], arrived=seconds, completed=seconds,
    ...                             useful=np.array([3.0, 6.0]), work=seconds, homes=("fast", "slow"))
    >>> seen = Observation(time=1.0, seconds=1.0, operators={"sum": found}, cores=np.array([1, 1]),
    ...                    hosts=("fast", "slow"), speeds=np.array([1.0, 0.5]))
    >>> watch = SpeedWatch().after(seen).after(seen).after(seen)
    >>> (revision,) = watch.revisions(seen, plan)
    >>> revision.plan.routing.tolist(), revision.reasons
    ([0, 0, 0, 1, 1, 0], ('slow has 50% of the speed of the fastest: 33% of the work instead of 50%',))
    """

    work: Mapping[str, StandardWork] = field(default_factory=dict)

    def after(self, observation: Observation) -> SpeedWatch:
        """Return the watch after one more epoch. Without homes, nothing is kept."""
        work = {}
        for name, seen in observation.operators.items():
            speeds = _slot_speeds(observation, seen)
            if speeds is None or len(seen.work) != len(seen.plan.routing) or not np.isfinite(seen.work).all():
                continue
            standard, before = seen.work * speeds[seen.plan.routing], self.work.get(name)
            if before is None or len(before.seconds) != len(standard):
                work[name] = StandardWork(standard)
            else:
                share = share_of(LOAD_HALF_LIFE)
                work[name] = StandardWork(blend(before.seconds, standard, share), before.epochs + 1)
        return SpeedWatch(work)

    def revisions(self, observation: Observation, plan: Plan, busy: Collection[str] = ()) -> tuple[Revision, ...]:
        """Return the revisions that let work follow speed.

        Args:
            observation: the newest observation.
            plan: the plan in force.
            busy: operators that something else changes in this turn.
        """
        made = []
        for name, work in self.work.items():
            part, seen = plan.operators.get(name), observation.operators.get(name)
            if part is None or seen is None or name in busy or work.epochs < SETTLED or not part.same(seen.plan):
                continue
            speeds = _slot_speeds(observation, seen)
            if speeds is None:
                continue
            numbers, routing = np.unique(part.routing, return_inverse=True)
            shared = share_by_speed(routing, work.seconds, speeds[numbers])
            if shared is None:
                continue
            new = OperatorPlan(numbers[shared], part.nodes, part.subspaces)
            made.append(Revision(name, new, Action.BALANCE, (_reason(seen, speeds, work.seconds, new),)))
        return tuple(made)


def _slot_speeds(observation: Observation, seen: OperatorObservation) -> Floats | None:
    """Return the speed of every slot, by its home; None if slots have no homes or speeds are unknown."""
    if len(seen.homes) != len(seen.plan.nodes) or len(observation.hosts) != len(observation.speeds):
        return None
    speeds = host_speeds(observation.hosts, observation.speeds)
    used = [seen.homes[slot] for slot in np.unique(seen.plan.routing).tolist()]
    if not all(home in speeds for home in used):
        return None
    return np.array([speeds.get(home, 1.0) for home in seen.homes])


def _reason(seen: OperatorObservation, speeds: Floats, work: Floats, new: OperatorPlan) -> str:
    """Say what the slowest node gets, and why."""
    used = np.unique(seen.plan.routing)
    slowest = int(used[speeds[used].argmin()])
    home = seen.homes[slowest]
    slots = [slot for slot in used.tolist() if seen.homes[slot] == home]
    before, after = (
        float(work[np.isin(routing, slots)].sum() / work.sum()) for routing in (seen.plan.routing, new.routing)
    )
    share = speeds[slowest] / speeds[used].max()
    return f"{home} has {share:.0%} of the speed of the fastest: {after:.0%} of the work instead of {before:.0%}"
