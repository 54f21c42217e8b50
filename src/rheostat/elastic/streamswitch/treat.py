"""Treat: turns a diagnosis into a change of the plan, with a node for a new slot (StreamSwitch section 5).

The policy calls these functions after Diagnose. For all policies alike, ``rheostat.elastic.loop.treatment`` carries the
change out, asks again until it is observed, and rests after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.elastic.model.plan import Action, OperatorPlan, Revision
from rheostat.elastic.streamswitch.diagnosis import Diagnosis


def in_use(part: OperatorPlan, slot: int | None) -> bool:
    """Return True if the operator has a slot with this number.

    >>> in_use(OperatorPlan.even(4, 2), 1), in_use(OperatorPlan.even(4, 2), 2), in_use(OperatorPlan.even(4, 2), None)
    (True, False, False)
    """
    return slot is not None and slot < len(part.nodes) and bool(part.nodes[slot] >= 0)


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
