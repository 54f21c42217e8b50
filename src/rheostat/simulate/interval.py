"""What an engine reports of one interval: the observation for policies, and what only the trace may know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation


@dataclass(frozen=True, eq=False)
class Interval:
    """What happened in one interval. Policies see only the observation.

    Attributes:
        observation: the part that policies see.
        offered: rows of the workload that were due.
        admitted: rows that entered the job.
        done: rows completed, by operator and shard.
        waited: sum of the latencies of the completed rows in seconds, by operator and shard.
        bins: completed rows by operator and latency bin.
        end_rows: rows that reached the end of the job.
        end_waited: sum of their latencies from entering the job, in seconds.
        remote: bytes sent between executors and their slots on other nodes.
        migrated: bytes of state moved to another node.
        switching: seconds that slots were stopped for changes, summed over slots.
    """

    observation: Observation
    offered: int
    admitted: int
    done: Mapping[str, npt.NDArray[np.int64]]
    waited: Mapping[str, Floats]
    bins: npt.NDArray[np.int64]
    end_rows: int
    end_waited: float
    remote: float
    migrated: float
    switching: float
