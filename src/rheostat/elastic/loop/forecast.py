"""What the micro-batch law expects of a plan, given the newest observation."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import OperatorPlan


def settled_length(seen: Observation, plans: Mapping[str, OperatorPlan]) -> float:
    """Return the length at which epochs settle if rows go on arriving as in an observed epoch; NaN if unknown.

    Args:
        seen: the observed epoch, with the law, rows and costs by shard, and the time in which the rows arrived.
        plans: by operator, the plan to judge; operators that are not named stay where they ran.

    >>> from rheostat.elastic.model.epoch_law import EpochLaw
    >>> from rheostat.elastic.model.observation import OperatorObservation
    >>> rows, two = np.full(4, 100.0), OperatorPlan.even(4, 2)
    >>> count = OperatorObservation(
    ...     plan=two, arrived=rows, completed=rows, useful=rows, rows=rows, cost=np.full(4, 0.001))
    >>> law = EpochLaw(overhead=0.2, task=0.02)
    >>> seen = Observation(time=1.0, seconds=1.0, operators={"count": count}, cores=np.array([4]), span=1.0, law=law)
    >>> settled_length(seen, {}), round(settled_length(seen, {"count": OperatorPlan.even(4, 4)}), 3)
    (0.3, 0.311)
    """
    stages = _stages(seen, plans)
    if seen.law is None or not stages or not seen.span > 0:
        return nan
    loads = [work / seen.span for work in stages]
    before = sum(seen.law.stage(load) for load in loads[:-1])
    rate = float(np.nan_to_num(seen.external * seen.seconds / seen.span))
    count = sum(len(load) for load in loads)
    return float(seen.law.length(loads[-1], rate, before=before, slots=count))


def row_seconds(seen: Observation, plans: Mapping[str, OperatorPlan]) -> float:
    """Return the seconds that a row of the source adds to an epoch; NaN if unknown. Arguments as ``settled_length``."""
    stages, read = _stages(seen, plans), seen.external * seen.seconds
    if seen.law is None or not stages or not read > 0:
        return nan
    return float(sum(seen.law.stage(work) for work in stages) / read + seen.law.reading)


def _stages(seen: Observation, plans: Mapping[str, OperatorPlan]) -> list[Floats]:
    """Return for every level the seconds of work of each slot, if a plan had the rows of an epoch; none if unknown."""
    levels: dict[int, list[Floats]] = {}
    for name, operator in seen.operators.items():
        plan = plans.get(name, operator.plan)
        if not len(operator.cost) == len(operator.rows) == len(plan.routing):
            return []
        work = np.nan_to_num(operator.rows) * operator.cost
        slots = np.bincount(plan.routing, weights=work, minlength=len(plan.nodes)).astype(np.float64)
        levels.setdefault(operator.level, []).append(slots[plan.nodes >= 0])
    return [np.concatenate(slots) for _, slots in sorted(levels.items())]
