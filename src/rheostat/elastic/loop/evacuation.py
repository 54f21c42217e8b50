"""Shards leave nodes that have gone: this comes before any balancing by load.

A node that has gone has no cores in the observation. Its slots do nothing, so their shards go to new slots where cores
are free, or else to the slots that are left. Policies that place cores anew in every decision need no such step.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Revision


@dataclass(frozen=True, eq=False)
class Evacuation:
    """What has to change because nodes have gone.

    Attributes:
        revisions: of operators that had slots there, and of one that gives up a core for those without any.
        reasons: what could not be done.
        stuck: True if an operator has no slot that runs, and gets none now.
    """

    revisions: tuple[Revision, ...] = ()
    reasons: tuple[str, ...] = ()
    stuck: bool = False


NOBODY = Evacuation()


def evacuate(plan: Plan, cores: Ints) -> Evacuation:
    """Every operator off the nodes that have gone.

    An operator that has no slot left and finds no free core waits for one: the operator with most slots gives it up
    first, and the next decision finds it free.

    Args:
        cores: how many cores every node has; 0 for one that has gone, and empty if nothing is known yet.

    >>> plan = Plan({"count": OperatorPlan.even(shards=4, slots=2, nodes=2)}, nodes=2)
    >>> (found,) = evacuate(plan, np.array([2, 0])).revisions
    >>> found.plan.routing.tolist(), found.plan.nodes.tolist(), found.reasons
    ([0, 0, 2, 2], [0, -1, 0], ('1 of 2 slots are on nodes that have gone: 1 new slots',))
    >>> evacuate(plan, np.array([1, 0])).revisions[0].plan.routing.tolist()
    [0, 0, 0, 0]
    """
    if not len(cores):
        return NOBODY
    if not (cores > 0).any():
        return Evacuation(reasons=("no node has a core left",), stuck=True)
    lost = {name: gone for name, part in plan.operators.items() if len(gone := _lost(part, cores))}
    if not lost:
        return NOBODY
    free = np.maximum(cores - plan.cores(len(cores))[: len(cores)], 0)
    # Whoever has no slot left comes first, and the others leave a core for each of them.
    homeless = [name for name, gone in lost.items() if len(gone) == plan.operators[name].slots]
    revisions, helpless = [], []
    for name in [*homeless, *(n for n in lost if n not in homeless)]:
        part, gone = plan.operators[name], lost[name]
        wanted = _moved(part, gone, free, len(homeless) - homeless.index(name) - 1 if name in homeless else 0)
        if wanted is None:
            helpless.append(name)
            continue
        new = int(np.count_nonzero((wanted.nodes[: len(part.nodes)] >= 0) & (part.nodes < 0)))
        new += int(np.count_nonzero(wanted.nodes[len(part.nodes) :] >= 0))
        text = f"{len(gone)} of {part.slots} slots are on nodes that have gone: {new} new slots"
        action = Action.SCALE_IN if wanted.slots < part.slots else Action.BALANCE
        revisions.append(Revision(name, wanted, action, (text,), urgent=True))
    reasons = tuple(f"{name}: its nodes have gone, and all cores are in use" for name in helpless)
    if helpless:
        revisions += _given_up(plan, lost, helpless)
    return Evacuation(tuple(revisions), reasons, bool(helpless))


def _lost(part: OperatorPlan, cores: Ints) -> Ints:
    """The slots on nodes that have gone."""
    used = part.used
    where = part.nodes[used]
    return used[(where >= len(cores)) | (cores[np.minimum(where, len(cores) - 1)] <= 0)]


def _moved(part: OperatorPlan, gone: Ints, free: Ints, others: int) -> OperatorPlan | None:
    """The plan without these slots; None if no slot is left.

    Takes cores from ``free``, and leaves ``others`` of them for operators that have lost all their slots.
    """
    nodes, routing = part.nodes.copy(), part.routing.copy()
    # Numbers that become free now keep their meaning until everybody has seen them go.
    unused = np.flatnonzero(nodes < 0).tolist()
    nodes[gone] = -1
    counts = np.bincount(routing, minlength=len(nodes))
    orphans = np.zeros(len(routing), dtype=np.bool_)
    for slot in gone[np.argsort(-counts[gone], kind="stable")].tolist():
        mine = part.routing == slot
        if mine.any() and free.sum() > (others if (nodes >= 0).any() else 0):
            node = int(free.argmax())
            free[node] -= 1
            if unused:
                number = unused.pop(0)
                nodes[number] = node
            else:
                number, nodes = len(nodes), np.r_[nodes, node]
            routing[mine] = number
        else:
            orphans |= mine
    living = np.flatnonzero(nodes >= 0)
    if not len(living):
        return None
    _spread(routing, np.flatnonzero(orphans), living)
    return OperatorPlan(routing, nodes)


def _spread(routing: Ints, shards: Ints, slots: Ints) -> None:
    """Shards go to the slots that have fewest, one by one."""
    stays = np.delete(routing, shards)
    heap = [(int(np.count_nonzero(stays == slot)), slot) for slot in slots.tolist()]
    heapq.heapify(heap)
    for shard in shards.tolist():
        count, slot = heap[0]
        routing[shard] = slot
        heapq.heapreplace(heap, (count + 1, slot))


def _given_up(plan: Plan, lost: Mapping[str, Ints], helpless: list[str]) -> list[Revision]:
    """One slot less for the operator with most slots, if it has at least two and all of them run."""
    slots = {name: part.slots for name, part in plan.operators.items() if name not in lost}
    name = max(slots, key=lambda n: slots[n], default="")
    if slots.get(name, 0) < 2:
        return []
    part = plan.operators[name]
    counts = np.bincount(part.routing, minlength=len(part.nodes))[part.used]
    nodes, routing, slot = part.nodes.copy(), part.routing.copy(), int(part.used[counts.argmin()])
    nodes[slot] = -1
    _spread(routing, np.flatnonzero(routing == slot), np.flatnonzero(nodes >= 0))
    text = f"slot {slot} gives its core to {helpless[0]}, whose nodes have gone"
    return [Revision(name, OperatorPlan(routing, nodes), Action.SCALE_IN, (text,), urgent=True)]
