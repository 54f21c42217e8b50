"""The progress of one epoch, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rheostat.arrays import Floats
from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.model.observation import LatencySummary
from rheostat.elastic.routing.requests import Change


@dataclass(frozen=True)
class Progress:
    """One epoch in numbers, as ``query.progress`` lists it and ``start(on_progress=...)`` receives it.

    Attributes:
        epoch: number of the epoch.
        rows: rows read from all sources, including rows without event time.
        late: rows that missed at least one window, including results of operators that other operators read.
        dropped: rows that missed every window.
        nulls: rows without event time.
        partials: partials and changed keys written to the state; rows are aggregated to partials before routing.
        results: number of result rows, by operator.
        watermarks: by source, the watermark in microseconds since 1970; None before the first row.
        state_bytes: size of the state after the epoch, in bytes.
        state_rows: number of rows in the state after the epoch.
        seconds: duration of the epoch, including its commit.
        steps: seconds by step.
        slot_seconds: by component and apply operator, the seconds that each slot worked.
        imbalance: by component and apply operator, the useful seconds of the busiest slot, divided by the mean of all.
        hottest: by component, the busiest key and its share of the work, where work is measured by key.
        hot: by component, a key or shard too busy for any placement to be balanced, in words.
        changes: the changes of the routing at the beginning of the epoch, including refused requests.
        fetched_bytes: bytes of state that nodes copied from the checkpoint; 0 if it is on a local filesystem.
        migrated_bytes: the part of ``fetched_bytes`` copied because shards moved between slots.
        damaged_copies: copies in the caches of nodes that were damaged, and fetched again.
        homes: by component, the host that each slot prefers because it has its state; empty in local mode, and if the
            checkpoint is on a local filesystem.
        away: tasks that ran on another host than their slot's home.
        latency: ``p50``, ``p99`` and ``max`` of commit time minus arrival time, in seconds; None if no row has an
            arrival time.
        decisions: the decisions made before the epoch, by the policy or by a user's request.
        policy_failure: why the policy was left out of the decision before the epoch; empty if it was not.
        success_rate: how well the promise has been kept since the start, as in ``query.slo()``; NaN if there is none
            or no row has an arrival time.

    >>> t = rh.Topology("lending")
    >>> stored = t.source(loans, event_time="ts").sink(rh.sinks.memory())
    >>> seen = []
    >>> t.start(folder, trigger=rh.AVAILABLE_NOW, on_progress=seen.append).await_termination()
    True
    >>> [(progress.epoch, progress.rows) for progress in seen]
    [(0, 3), (1, 2)]
    """

    epoch: int
    rows: int = 0
    late: int = 0
    dropped: int = 0
    nulls: int = 0
    partials: int = 0
    results: Mapping[str, int] = field(default_factory=dict)
    watermarks: Mapping[str, int | None] = field(default_factory=dict)
    state_bytes: int = 0
    state_rows: int = 0
    seconds: float = 0.0
    steps: Mapping[str, float] = field(default_factory=dict)
    slot_seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    imbalance: Mapping[str, float] = field(default_factory=dict)
    hottest: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    hot: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    fetched_bytes: int = 0
    migrated_bytes: int = 0
    damaged_copies: int = 0
    homes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    away: int = 0
    latency: Mapping[str, float] | None = None
    decisions: Sequence[Decision] = ()
    policy_failure: str = ""
    success_rate: float = float("nan")

    def to_dict(self) -> dict[str, Any]:
        """The progress as plain values, for JSON.

        >>> rh.Progress(epoch=0, rows=3).to_dict()["rows"]
        3
        """
        return {**asdict(self), "decisions": [decision.to_json() for decision in self.decisions]}


def latency_of(summary: LatencySummary, points: tuple[Floats, Floats]) -> dict[str, float] | None:
    """The quantiles of latency, in seconds; None if no row has an arrival time.

    Args:
        summary: the latency of the rows of the epoch.
        points: latencies of its rows, among them the longest, and the rows that each stands for.

    >>> import numpy as np
    >>> latency_of(LatencySummary(rows=2, mean=1.5, p50=1.0, p99=2.0), (np.array([1.0, 2.0]), np.array([1.0, 1.0])))
    {'p50': 1.0, 'p99': 2.0, 'max': 2.0}
    """
    if not summary.rows:
        return None
    return {"p50": summary.p50, "p99": summary.p99, "max": float(points[0].max())}
