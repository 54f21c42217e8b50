"""What one interval, or one epoch, measured: all that a policy ever sees of the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.plan import OperatorPlan

STOPPED = 100.0
"""The largest stretch: a source that lets through less was stopped."""


@dataclass(frozen=True, eq=False)
class OperatorObservation:
    """What was measured of one operator. Values that are missing are NaN.

    Attributes:
        plan: where the operator ran.
        arrived: rows that ever arrived, by shard; ``completed``, rows that were ever completed.
        useful: seconds of this interval spent in deserialising, processing and serialising, by slot.
        latency: mean seconds from arrival to completion of the rows completed in this interval, by shard.
        traffic: bytes per second that came in and went out, by shard.
        state: bytes of state, by shard.
    """

    plan: OperatorPlan
    arrived: Floats
    completed: Floats
    useful: Floats
    latency: Floats
    traffic: Floats
    state: Floats


@dataclass(frozen=True, eq=False)
class Observation:
    """What one interval measured.

    Attributes:
        time: when it ended, in seconds on a clock that does not go back.
        seconds: how long it was.
        cores: how many cores every node has; 0 for a node that has gone.
        external: rows per second that entered the topology.
        wanted: rows per second that would have entered if the source had not been held back by full queues, for what
            arrives under back-pressure says nothing of what is needed; NaN if unknown.
        epoch: the number of the interval.
    """

    time: float
    seconds: float
    operators: Mapping[str, OperatorObservation]
    cores: Ints
    external: float
    wanted: float = float("nan")
    epoch: int = 0

    @property
    def stretch(self) -> float:
        """How much more would have arrived everywhere without back-pressure: 1 if there was none, or nobody knows.

        >>> Observation(1.0, 1.0, {}, np.array([8]), external=100.0, wanted=250.0).stretch
        2.5
        """
        if not (0 <= self.external < self.wanted < np.inf):
            return 1.0
        return min(self.wanted / self.external, STOPPED) if self.external > 0 else STOPPED

    @property
    def nodes(self) -> int:
        """How many nodes are there."""
        return int(np.count_nonzero(self.cores > 0))
