"""The cores that are free while a policy revises one operator after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.model.plan import Plan, Revision


def free_cores(plan: Plan, revisions: Sequence[Revision], cores: Ints) -> Ints:
    """Return the number of free cores of every node; a core that a revision gives up still counts as used.

    Args:
        plan: the plan in force.
        revisions: revisions already decided on, whose new slots use cores too.
        cores: number of cores of every node.

    >>> from rheostat.elastic.model.plan import OperatorPlan
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
