"""Move shards off nodes that are gone. This comes before any balancing by load.

A node that is gone has no cores in the observation, and its slots do nothing. Their shards go to new slots where cores
are free, or else to the remaining slots. Policies that place all cores anew in every decision do not need this step.
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
    """What has to change because nodes are gone.

    Attributes:
        revisions: new plans for operators that had slots there, and for an operator that gives up a core for them.
        reasons: what could not be done, in words.
        stuck: True if an operator has no running slot and gets none now.
    """

    revisions: tuple[Revision, ...] = ()
    reasons: tuple[str, ...] = ()
    stuck: bool = False


NOBODY = Evacuation()
"""No slot is on a node that is gone."""


def evacuate(plan: Plan, cores: Ints) -> Evacuation:
    """Move every operator off the nodes that are gone.

    An operator that has no slot left and finds no free core has to wait: the operator with most slots gives up a core,
    and the next decision finds that core free.

    Args:
        plan: where all operators run.
        cores: the number of cores of every node; 0 for a node that is gone, empty if nothing was observed yet.

    >>> plan = Plan({"count": OperatorPlan.even(shards=4, slots=2, nodes=2)}, nodes=2)
    >>> (revision,) = evacuate(plan, np.array([2, 0])).revisions
    >>> revision.plan.routing.tolist(), revision.plan.nodes.tolist(), revision.reasons
    ([0, 0, 2, 2], [0, -1, 0], ('1 of 2 slots are on nodes that are gone: 1 new slots',))
    >>> evacuate(plan, np.array([1, 0])).revisions[0].plan.routing.tolist()
    [0, 0, 0, 0]
    """
    if not len(cores):
        return NOBODY
    if not (cores > 0).any():
        return Evacuation(reasons=("no node has a core left",), stuck=True)
    lost = {name: slots for name, part in plan.operators.items() if len(slots := _lost_slots(part, cores))}
    if not lost:
        return NOBODY
    free = np.maximum(cores - plan.cores(len(cores))[: len(cores)], 0)
    # Operators without any slot come first, and each of them leaves a core for the next ones.
    homeless = [name for name, slots in lost.items() if len(slots) == plan.operators[name].slots]
    revisions, helpless = [], []
    for name in [*homeless, *(n for n in lost if n not in homeless)]:
        part, reserved = plan.operators[name], 0
        if name in homeless:
            reserved = len(homeless) - homeless.index(name) - 1
        wanted = _without(part, lost[name], free, reserved)
        if wanted is None:
            helpless.append(name)
        else:
            revisions.append(_revision(name, part, wanted, len(lost[name])))
    reasons = tuple(f"{name}: its nodes are gone, and all cores are in use" for name in helpless)
    if helpless:
        revisions += _give_up_core(plan, lost, helpless[0])
    return Evacuation(tuple(revisions), reasons, bool(helpless))


def _lost_slots(part: OperatorPlan, cores: Ints) -> Ints:
    """Return the slots on nodes that are gone."""
    used = part.used
    where = part.nodes[used]
    return used[(where >= len(cores)) | (cores[np.minimum(where, len(cores) - 1)] <= 0)]


def _without(part: OperatorPlan, lost: Ints, free: Ints, reserved: int) -> OperatorPlan | None:
    """Return the plan without the lost slots; None if no slot is left.

    Takes cores from ``free``, but leaves ``reserved`` of them for operators that have no slot at all.
    """
    nodes, routing = part.nodes.copy(), part.routing.copy()
    # The numbers of lost slots are not used again before the loss is observed everywhere.
    unused = np.flatnonzero(nodes < 0).tolist()
    nodes[lost] = -1
    counts = np.bincount(routing, minlength=len(nodes))
    orphans = np.zeros(len(routing), dtype=np.bool_)
    for slot in lost[np.argsort(-counts[lost], kind="stable")].tolist():
        shards = part.routing == slot
        if shards.any() and free.sum() > (reserved if (nodes >= 0).any() else 0):
            node = int(free.argmax())
            free[node] -= 1
            if unused:
                number = unused.pop(0)
                nodes[number] = node
            else:
                number, nodes = len(nodes), np.r_[nodes, node]
            routing[shards] = number
        else:
            orphans |= shards
    running = np.flatnonzero(nodes >= 0)
    if not len(running):
        return None
    _spread(routing, np.flatnonzero(orphans), running)
    return OperatorPlan(routing, nodes)


def _revision(name: str, part: OperatorPlan, wanted: OperatorPlan, lost: int) -> Revision:
    known = len(part.nodes)
    new = int(np.count_nonzero((wanted.nodes[:known] >= 0) & (part.nodes < 0)))
    new += int(np.count_nonzero(wanted.nodes[known:] >= 0))
    text = f"{lost} of {part.slots} slots are on nodes that are gone: {new} new slots"
    action = Action.SCALE_IN if wanted.slots < part.slots else Action.BALANCE
    return Revision(name, wanted, action, (text,), urgent=True)


def _spread(routing: Ints, shards: Ints, slots: Ints) -> None:
    """Give shards one by one to the slot with fewest shards. Changes ``routing``."""
    others = np.delete(routing, shards)
    heap = [(int(np.count_nonzero(others == slot)), slot) for slot in slots.tolist()]
    heapq.heapify(heap)
    for shard in shards.tolist():
        count, slot = heap[0]
        routing[shard] = slot
        heapq.heapreplace(heap, (count + 1, slot))


def _give_up_core(plan: Plan, lost: Mapping[str, Ints], helpless: str) -> list[Revision]:
    """Take one slot from the operator with most slots, if it has at least two and all of them run."""
    slots = {name: part.slots for name, part in plan.operators.items() if name not in lost}
    name = max(slots, key=lambda n: slots[n], default="")
    if slots.get(name, 0) < 2:
        return []
    part = plan.operators[name]
    counts = np.bincount(part.routing, minlength=len(part.nodes))[part.used]
    nodes, routing, slot = part.nodes.copy(), part.routing.copy(), int(part.used[counts.argmin()])
    nodes[slot] = -1
    _spread(routing, np.flatnonzero(routing == slot), np.flatnonzero(nodes >= 0))
    text = f"slot {slot} gives its core to {helpless}, whose nodes are gone"
    return [Revision(name, OperatorPlan(routing, nodes), Action.SCALE_IN, (text,), urgent=True)]
