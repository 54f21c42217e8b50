"""Convert a job to the records of the continuous engine, and bound the number of rows in flight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.simulate.continuous.records import NOBODY, OPERATOR
from rheostat.simulate.job import Job


def fan_out(job: Job) -> int:
    """Return the most rows that one row of the workload can cause, itself included, in all operators together.

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
    """Return ``OPERATOR`` records, edges and cumulative weights, as ``World`` holds them.

    Args:
        job: the job.
        room: slots per operator, used or not.
    """
    records: Any = np.zeros(len(job.operators), dtype=OPERATOR)
    edges = job.edges()
    weights: list[Floats] = [np.zeros(0)]
    shards = 0
    for place, operator in enumerate(job.operators):
        record = records[place]
        record["cost"], record["exponential"] = operator.cost, int(operator.variability > 0)
        record["row_bytes"], record["out_bytes"] = operator.row_bytes, operator.out_bytes
        record["selectivity"] = operator.selectivity
        record["first_shard"], record["shards"] = shards, operator.shards
        record["first_slot"], record["slots"] = place * room, room
        record["first_edge"] = sum(sender < place for sender, _ in edges)
        record["edges"] = sum(sender == place for sender, _ in edges)
        record["first_weight"] = NOBODY
        if operator.weights is not None:
            record["first_weight"] = sum(map(len, weights))
            weights.append(np.cumsum(operator.weights) / np.sum(operator.weights))
        shards += operator.shards
    return records, np.array([receiver for _, receiver in edges], dtype=np.int64), np.concatenate(weights)
