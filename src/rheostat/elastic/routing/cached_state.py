"""What each executor probably has in its cache: the state of the shards whose slots it ran last."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rheostat.elastic.model.observation import OperatorObservation


def cached_bytes(operators: Mapping[str, OperatorObservation]) -> dict[str, float]:
    """Return by executor the bytes of state of the shards whose slots ran there in the last epoch.

    Args:
        operators: what the last epoch measured of every operator; state that was not measured counts as 0.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> seen = OperatorObservation(plan=OperatorPlan.even(3, 2), arrived=np.zeros(3), completed=np.zeros(3),
    ...                            useful=np.zeros(2), state=np.array([10.0, 20.0, 5.0]), executors=("7", "8"))
    >>> cached_bytes({"sums": seen})
    {'7': 30.0, '8': 5.0}
    """
    found: dict[str, float] = {}
    for seen in operators.values():
        if len(seen.state) != len(seen.plan.routing):
            continue
        by_slot = np.bincount(seen.plan.routing, weights=np.nan_to_num(seen.state), minlength=len(seen.plan.nodes))
        for slot, executor in enumerate(seen.executors):
            if executor:
                found[executor] = found.get(executor, 0.0) + float(by_slot[slot])
    return found
