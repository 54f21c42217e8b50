"""What one interval, or one epoch, measured: all that a policy ever sees of the world.

An observation is made by an observer: ``rheostat.spark.observer`` on Spark, the engines of ``rheostat.simulate`` in the
simulator. Everything that an observer cannot measure is NaN, or an empty array, and policies have to cope with that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.plan import OperatorPlan

STOPPED = 100.0
"""The largest stretch: a source that lets through less was stopped."""


def _unknown() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False, kw_only=True)
class OperatorObservation:
    """What was measured of one operator.

    Attributes:
        plan: where the operator ran.
        arrived: rows that ever arrived, by shard.
        completed: rows that were ever completed, by shard.
        useful: seconds of this interval spent in deserialising, processing and serialising, by slot.
        latency: mean seconds from arrival to completion of the rows completed in this interval, by shard.
        traffic: bytes per second that came in and went out, by shard.
        state: bytes of state, by shard.
        work: useful seconds of this interval, by shard; empty if only those of whole slots were measured.
        coming: rows that are already counted for the coming epoch, by shard; empty if they were not counted.
        cpu: share of a core that was used, by slot; empty if it was not measured.
        hottest: the busiest key of this interval in words, and its share of the operator's work; None if not known.
    """

    plan: OperatorPlan
    arrived: Floats
    completed: Floats
    useful: Floats
    latency: Floats = field(default_factory=_unknown)
    traffic: Floats = field(default_factory=_unknown)
    state: Floats = field(default_factory=_unknown)
    work: Floats = field(default_factory=_unknown)
    coming: Floats = field(default_factory=_unknown)
    cpu: Floats = field(default_factory=_unknown)
    hottest: tuple[str, float] | None = None


@dataclass(frozen=True)
class TopologyObservation:
    """What was measured of one topology, where several share a cluster (ELYSIUM).

    Attributes:
        load: rows per second that arrived for it; NaN if it was not measured.
        waiting: rows that have arrived and are not through.
    """

    load: float
    waiting: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Observation:
    """What one interval measured.

    Attributes:
        time: when it ended, in seconds on a clock that does not go back.
        seconds: how long it was.
        operators: by name; with several topologies, the name is ``topology/operator``.
        cores: how many cores every node has; 0 for a node that has gone.
        external: rows per second that entered the topology.
        wanted: rows per second that would have entered without back-pressure, since what arrives while the source is
            held back says nothing of what is needed; NaN if unknown.
        epoch: the number of the interval.
        node_cpu: share of its CPU that was used, by node; empty if it was not measured.
        topologies: input of every topology, where several share a cluster.
    """

    time: float
    seconds: float
    operators: Mapping[str, OperatorObservation]
    cores: Ints
    external: float = float("nan")
    wanted: float = float("nan")
    epoch: int = 0
    node_cpu: Floats = field(default_factory=_unknown)
    topologies: Mapping[str, TopologyObservation] = field(default_factory=dict)

    @property
    def stretch(self) -> float:
        """How many times as much would have arrived without back-pressure; 1 if there was none, or if it is unknown.

        >>> seen = Observation(time=1.0, seconds=1.0, operators={}, cores=np.array([8]), external=100.0, wanted=250.0)
        >>> seen.stretch
        2.5
        """
        if not (0 <= self.external < self.wanted < np.inf):
            return 1.0
        return min(self.wanted / self.external, STOPPED) if self.external > 0 else STOPPED

    @property
    def nodes(self) -> int:
        """How many nodes have a core."""
        return int(np.count_nonzero(self.cores > 0))
