"""Observations: what one interval or epoch measured. A policy sees nothing else of the running query.

``rheostat.spark.observer`` makes observations on Spark, the engines of ``rheostat.simulate`` in the simulator. Values
that were not measured are NaN, and arrays that were not measured are empty. Policies must accept both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.plan import OperatorPlan

MAX_STRETCH = 100.0
"""The largest value of ``Observation.stretch``: a source that lets less through counts as stopped."""


def _not_measured() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False, kw_only=True)
class OperatorObservation:
    """What one interval measured of one operator.

    Attributes:
        plan: where the operator ran.
        arrived: rows that have arrived since the start, by shard.
        completed: rows that have been completed since the start, by shard.
        useful: seconds of this interval spent on deserialising, processing and serialising rows, by slot.
        latency: mean seconds from arrival to completion of the rows completed in this interval, by shard.
        traffic: bytes per second in and out, by shard.
        state: bytes of state, by shard.
        work: useful seconds of this interval, by shard; empty if they were measured by slot only.
        coming: rows of the next epoch, by shard; empty if they were not counted ahead.
        cpu: share of a core that was used, by slot; empty if not measured.
        hottest: the busiest key of this interval in words, and its share of the operator's work; None if unknown.
    """

    plan: OperatorPlan
    arrived: Floats
    completed: Floats
    useful: Floats
    latency: Floats = field(default_factory=_not_measured)
    traffic: Floats = field(default_factory=_not_measured)
    state: Floats = field(default_factory=_not_measured)
    work: Floats = field(default_factory=_not_measured)
    coming: Floats = field(default_factory=_not_measured)
    cpu: Floats = field(default_factory=_not_measured)
    hottest: tuple[str, float] | None = None


@dataclass(frozen=True)
class TopologyObservation:
    """What one interval measured of one topology, where several share a cluster (ELYSIUM).

    Attributes:
        load: rows per second that arrived; NaN if not measured.
        waiting: rows that have arrived and are not completed.
    """

    load: float
    waiting: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Observation:
    """What one interval measured.

    Attributes:
        time: when the interval ended, in seconds on a clock that never goes back.
        seconds: the length of the interval.
        operators: what was measured of each operator, by name; with several topologies, by ``topology/operator``.
        cores: the number of cores of every node; 0 for a node that is gone.
        external: rows per second that entered the topology; NaN if unknown.
        wanted: rows per second that would have entered without back-pressure; NaN if unknown.
        epoch: the number of the interval.
        node_cpu: share of the CPU that was used, by node; empty if not measured.
        topologies: the input of every topology by name, where several share a cluster.
    """

    time: float
    seconds: float
    operators: Mapping[str, OperatorObservation]
    cores: Ints
    external: float = float("nan")
    wanted: float = float("nan")
    epoch: int = 0
    node_cpu: Floats = field(default_factory=_not_measured)
    topologies: Mapping[str, TopologyObservation] = field(default_factory=dict)

    @property
    def stretch(self) -> float:
        """How many times as many rows would have entered without back-pressure; 1 if there was none or it is unknown.

        >>> seen = Observation(time=1.0, seconds=1.0, operators={}, cores=np.array([8]), external=100.0, wanted=250.0)
        >>> seen.stretch
        2.5
        """
        if not (0 <= self.external < self.wanted < np.inf):
            return 1.0
        return min(self.wanted / self.external, MAX_STRETCH) if self.external > 0 else MAX_STRETCH

    @property
    def nodes(self) -> int:
        """The number of nodes that have a core."""
        return int(np.count_nonzero(self.cores > 0))
