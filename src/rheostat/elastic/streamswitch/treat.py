"""Treat: a diagnosis as a change of the plan, with a node for a new slot (StreamSwitch section 5).

The policy calls this after Diagnose. Carrying the change out, asking again until it is observed, and the rest after it
are the loop's (``rheostat.elastic.loop.treatment``), for all policies alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Revision
from rheostat.elastic.streamswitch.diagnosis import Diagnosis


def in_use(part: OperatorPlan, slot: int | None) -> bool:
    """True if the operator has that slot.

    >>> in_use(OperatorPlan.even(4, 2), 1), in_use(OperatorPlan.even(4, 2), 2), in_use(OperatorPlan.even(4, 2), None)
    (True, False, False)
    """
    return slot is not None and slot < len(part.nodes) and bool(part.nodes[slot] >= 0)


def free_cores(plan: Plan, revisions: Sequence[Revision], cores: Ints) -> Ints:
    """Cores of every node that nobody has or is about to get; what is about to be given up is still in use.

    Args:
        revisions: those that were decided on already.
        cores: how many cores every node has.

    >>> free_cores(Plan({"count": OperatorPlan.even(4, 3, 2)}, 2), (), np.array([2, 2])).tolist()
    [0, 1]
    """
    if not len(cores):
        return cores
    used = plan.cores(len(cores))[: len(cores)]
    for revision in revisions:
        old, new = plan.operators[revision.operator].nodes, revision.plan.nodes
        before = np.r_[old, np.full(max(len(new) - len(old), 0), -1)][: len(new)]
        used = used + np.bincount(new[(new >= 0) & (before < 0)], minlength=len(cores))[: len(cores)]
    free: Ints = np.maximum(cores - used, 0)
    return free


def without_empty(name: str, part: OperatorPlan, loaded: Sequence[int], fewest: int) -> Revision | None:
    """The operator without slots that have no shard, down to the fewest that are wanted; None if there is none."""
    empty = np.setdiff1d(part.used, loaded)[max(fewest - len(loaded), 0) :]
    if not len(empty):
        return None
    nodes = part.nodes.copy()
    nodes[empty] = -1
    text = f"slots {', '.join(map(str, empty.tolist()))} have no shards"
    return Revision(name, OperatorPlan(part.routing, nodes), Action.SCALE_IN, (text,))


def treated(part: OperatorPlan, found: Diagnosis, node: int) -> OperatorPlan:
    """The operator's plan after a diagnosis that moves shards; a new slot goes to the node."""
    target = found.target
    assert target is not None
    nodes = np.r_[part.nodes, np.full(max(target + 1 - len(part.nodes), 0), -1)]
    if nodes[target] < 0:
        nodes[target] = node
    if found.action == Action.SCALE_IN and found.source is not None:
        nodes[found.source] = -1
    return OperatorPlan(np.asarray(found.routing, dtype=np.int64), nodes)
