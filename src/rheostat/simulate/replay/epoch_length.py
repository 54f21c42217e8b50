"""The length of an epoch by the micro-batch law, given the work of every shard of all its operators."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.plan import OperatorPlan


def epoch_length(law: EpochLaw, stages: Iterable[tuple[int, OperatorPlan, Floats]], read: float) -> float:
    """Return the length of an epoch: operators of a level work at the same time, levels one after the other.

    Args:
        law: the law.
        stages: of every operator, the number of its level, its plan, and its work by shard in seconds.
        read: rows that are read from the sources.

    >>> law, plan = EpochLaw(overhead=0.2, task=0.05), OperatorPlan.even(shards=2, slots=2)
    >>> round(epoch_length(law, [(0, plan, np.array([0.3, 0.1])), (1, plan, np.array([0.1, 0.2]))], read=100.0), 3)
    0.9
    """
    levels: dict[int, list[Floats]] = {}
    for level, plan, work in stages:
        levels.setdefault(level, []).append(by_slot(plan, work)[plan.nodes >= 0])
    slots = [np.concatenate(parts) for parts in levels.values()]
    before = sum(law.stage(work) for work in slots[1:])
    return float(law.seconds(slots[0], read, before=before, slots=sum(map(len, slots))))


def by_slot(plan: OperatorPlan, work: Floats) -> Floats:
    """Return the work of every slot.

    >>> by_slot(OperatorPlan.even(shards=4, slots=2), np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [3.0, 7.0]
    """
    return np.bincount(plan.routing, weights=work, minlength=len(plan.nodes)).astype(np.float64)
