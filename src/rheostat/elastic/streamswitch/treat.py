"""Treat: turns a diagnosis into a change of the plan, with a node for a new slot (StreamSwitch section 5).

The policy calls these functions after Diagnose. For all policies alike, ``rheostat.elastic.loop.treatment`` carries the
change out, asks again until it is observed, and rests after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Revision
from rheostat.elastic.streamswitch.diagnosis import Diagnosis


def in_use(part: OperatorPlan, slot: int | None) -> bool:
    """Return True if the operator has a slot with this number.

    >>> in_use(OperatorPlan.even(4, 2), 1), in_use(OperatorPlan.even(4, 2), 2), in_use(OperatorPlan.even(4, 2), None)
    (True, False, False)
    """
    return slot is not None and slot < len(part.nodes) and bool(part.nodes[slot] >= 0)


def free_cores(plan: Plan, revisions: Sequence[Revision], cores: Ints) -> Ints:
    """Return the number of free cores of every node; a core that a revision gives up still counts as used.

    Args:
        plan: the plan in force.
        revisions: revisions already decided on, whose new slots use cores too.
        cores: number of cores of every node.

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


def drop_empty_slots(name: str, part: OperatorPlan, loaded: Sequence[int], min_slots: int) -> Revision | None:
    """Return a revision that gives up slots without shards; None if there are none to give up.

    Args:
        name: the operator.
        part: its plan in force.
        loaded: numbers of the slots that have shards.
        min_slots: number of slots to keep, even if some of them are empty.
    """
    empty = np.setdiff1d(part.used, loaded)[max(min_slots - len(loaded), 0) :]
    if not len(empty):
        return None
    nodes = part.nodes.copy()
    nodes[empty] = -1
    reason = f"slots {', '.join(map(str, empty.tolist()))} have no shards"
    return Revision(name, OperatorPlan(part.routing, nodes), Action.SCALE_IN, (reason,))


def apply_diagnosis(part: OperatorPlan, diagnosis: Diagnosis, node: int) -> OperatorPlan:
    """Return the operator's plan after a diagnosis that moves shards; a new slot goes to ``node``."""
    target = diagnosis.target
    assert target is not None
    nodes = np.r_[part.nodes, np.full(max(target + 1 - len(part.nodes), 0), -1)]
    if nodes[target] < 0:
        nodes[target] = node
    if diagnosis.action == Action.SCALE_IN and diagnosis.source is not None:
        nodes[diagnosis.source] = -1
    return OperatorPlan(np.asarray(diagnosis.routing, dtype=np.int64), nodes)
