"""Observations: what one interval or epoch measured. A policy sees nothing else of the running query.

``rheostat.spark.observer`` makes observations on Spark, the engines of ``rheostat.simulate`` in the simulator. Values
that were not measured are NaN, and arrays that were not measured are empty. Policies must accept both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.epoch_law import EpochLaw
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
        useful: seconds of this interval spent on deserialising, processing and serialising rows, by slot. Where it is
            known for how long slots waited for a processor that others had, that is not part of it.
        latency: mean seconds from arrival to completion of the rows completed in this interval, by shard.
        traffic: bytes per second in and out, by shard.
        state: bytes of state, by shard.
        work: useful seconds of this interval, by shard; empty if they were measured by slot only.
        coming: rows of the next epoch, by shard; empty if they were not counted ahead.
        cpu: share of a core that was used, by slot; empty if not measured.
        hottest: the busiest key of this interval in words, and its share of the operator's work; None if unknown.
        rows: rows completed in this interval, by shard.
        level: number of the stage in which it runs; operators of one level run at the same time, levels one after the
            other.
        p50: median seconds from arrival to completion, by shard.
        p99: 99th percentile of the seconds from arrival to completion, by shard.
        cost: seconds per row as calibrated so far, by shard; the micro-batch law uses them.
        cpu_seconds: seconds of a core that were used, by slot.
        queued: seconds of this interval in which slots were ready to run and had no processor, by slot; NaN if unknown.
        memory: bytes of memory at the peak, by slot.
        hosts: the host that each slot ran on; empty text for slots that did not run.
        executors: the Spark executor that each slot ran on; empty text for slots that did not run.
        homes: the host that each slot prefers; empty text for slots without one. Empty if slots run anywhere.
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
    rows: Floats = field(default_factory=_not_measured)
    level: int = 0
    p50: Floats = field(default_factory=_not_measured)
    p99: Floats = field(default_factory=_not_measured)
    cost: Floats = field(default_factory=_not_measured)
    cpu_seconds: Floats = field(default_factory=_not_measured)
    queued: Floats = field(default_factory=_not_measured)
    memory: Floats = field(default_factory=_not_measured)
    hosts: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LatencySummary:
    """Latency from arrival to commit of the rows that an interval completed, in seconds; NaN where unknown.

    Attributes:
        rows: rows with a known arrival time.
        mean: mean latency.
        p50: median.
        p99: 99th percentile.
    """

    rows: float = 0.0
    mean: float = float("nan")
    p50: float = float("nan")
    p99: float = float("nan")


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
        cores: the number of cores of every node that is there; 0 for a node that is gone. ``Plan.nodes`` is the number
            of nodes wanted, which may differ: nodes that were asked for come when the cluster gives them.
        external: rows per second that entered the topology; NaN if unknown.
        wanted: rows per second that would have entered without back-pressure; NaN if unknown.
        epoch: the number of the interval.
        node_cpu: share of the CPU that was used, by node; empty if not measured.
        topologies: the input of every topology by name, where several share a cluster.
        busy: seconds that the epoch itself took, from the moment the engine began it to the moment it could begin the
            next; NaN in an engine without epochs. ``seconds`` also has the pause before it.
        committed: seconds from its begin to its commit.
        span: seconds in which the rows of this epoch arrived: from the begin of the epoch before to its own begin.
        cpus: processors of all hosts that slots ran on, of which Spark may be told more as cores; NaN if unknown.
        behind: rows that the source had at the end of the epoch and did not hand over yet; NaN if unknown.
        next_rows: rows of the epoch that begins now; NaN if unknown.
        next_span: seconds in which they arrived; NaN if unknown.
        latency: latency of the rows that were completed.
        law: the micro-batch law as calibrated up to this epoch; None in an engine without epochs.
        expected: what the law, as calibrated before this epoch, expected for ``busy``, given the epoch's rows and plan.
        expected_latency: the same for the mean latency.
        executors: the Spark executor that is each node; empty text for a node that is gone. Empty if unknown.
        hosts: the host of each node, likewise.
        speeds: speed of each node relative to the mean of all, from the useful seconds that a row takes there; 1 where
            unknown. Empty if not measured.
        node_delay: seconds from the last request for more nodes to the first epoch that had all of them; NaN before.
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
    busy: float = float("nan")
    committed: float = float("nan")
    span: float = float("nan")
    cpus: float = float("nan")
    behind: float = float("nan")
    next_rows: float = float("nan")
    next_span: float = float("nan")
    latency: LatencySummary = LatencySummary()
    law: EpochLaw | None = None
    expected: float = float("nan")
    expected_latency: float = float("nan")
    executors: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    speeds: Floats = field(default_factory=_not_measured)
    node_delay: float = float("nan")

    @property
    def error(self) -> float:
        """By what share the law's expectation missed the length of the epoch; NaN if there was none.

        >>> seen = Observation(time=1.0, seconds=1.0, operators={}, cores=np.array([8]), busy=0.5, expected=0.4)
        >>> round(seen.error, 3)
        0.2
        """
        return abs(self.expected - self.busy) / self.busy if self.busy > 0 else float("nan")

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
