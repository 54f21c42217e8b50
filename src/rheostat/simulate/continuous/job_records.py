"""A job as the continuous engine's records hold it, and how many rows it may have at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.simulate.continuous.records import NOBODY, OPERATOR
from rheostat.simulate.job import Job


def fan_out(job: Job) -> int:
    """Rows that one row of the workload becomes at most, in all operators together.

    >>> from rheostat.simulate.job import Operator
    >>> fan_out(Job((Operator("a", 1, 0.1, selectivity=1.5), Operator("b", 1, 0.1, inputs=("a",)))))
    3
    """
    rows = {job.operators[0].name: 1}
    sends = {o.name: max(math.ceil(o.selectivity), 1) for o in job.operators}
    for operator in job.operators[1:]:
        rows[operator.name] = sum(rows[name] * sends[name] for name in operator.inputs)
    return sum(rows.values())


def operators_of(job: Job, room: int) -> tuple[Any, npt.NDArray[np.int64], Floats]:
    """Operators as records, whom they send to, and cumulated weights of shards."""
    found: Any = np.zeros(len(job.operators), dtype=OPERATOR)
    edges = job.edges()
    weights: list[Floats] = [np.zeros(0)]
    shards = 0
    for place, operator in enumerate(job.operators):
        record = found[place]
        record["cost"], record["exponential"] = operator.cost, int(operator.variability > 0)
        record["row_bytes"], record["out_bytes"] = operator.row_bytes, operator.out_bytes
        record["selectivity"] = operator.selectivity
        record["first_shard"], record["shards"] = shards, operator.shards
        record["first_slot"], record["slots"] = place * room, room
        record["first_edge"] = sum(a < place for a, _ in edges)
        record["edges"] = sum(a == place for a, _ in edges)
        record["first_weight"] = NOBODY
        if operator.weights is not None:
            record["first_weight"] = sum(map(len, weights))
            weights.append(np.cumsum(operator.weights) / np.sum(operator.weights))
        shards += operator.shards
    return found, np.array([b for _, b in edges], dtype=np.int64), np.concatenate(weights)
