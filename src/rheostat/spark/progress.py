"""Progress: what one epoch did, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rheostat.elastic.routing.requests import Change


@dataclass(frozen=True)
class Progress:
    """What one epoch did, as ``query.progress`` and ``start(on_progress=...)`` tell it.

    Attributes:
        epoch: number of the epoch.
        rows: rows that came in, those without event time included.
        late: rows that missed a window, those that an operator gave included.
        dropped: rows that missed every window.
        nulls: rows without event time.
        partials: partials that were taken in; rows are aggregated to these before they reach a slot.
        results: result rows per operator that gives some.
        watermarks: per source, the watermark in microseconds since 1970; None before the first row.
        state_bytes: size of the state that the epoch left.
        state_rows: rows of that state.
        seconds: how long the epoch took, up to its commit.
        steps: seconds by step.
        slot_seconds: per component, how many seconds each slot worked.
        imbalance: per component, the busiest slot's useful seconds over the mean.
        hottest: per component, its busiest key and that key's share of the work, where keys are told apart.
        hot: per component, a key so busy that no placement of shards is balanced, in words; found while balancing.
        changes: what changed in the routing for this epoch.
        fetched_bytes: bytes of state that nodes copied from the checkpoint; none where it is on their own disk.
        migrated_bytes: those of them that were copied because shards moved between slots.
        latency: p50, p99 and maximum of commit time minus arrival time, in seconds; None if no column has it.

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
    latency: Mapping[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON.

        >>> rh.Progress(epoch=0, rows=3).to_dict()["rows"]
        3
        """
        return asdict(self)


def latency_of(arrivals: Sequence[tuple[float, int]], now: float) -> dict[str, float] | None:
    """Weighted quantiles of ``now`` minus arrival (microseconds), in seconds.

    >>> latency_of([(1e6, 99), (0.0, 1)], now=3e6)
    {'p50': 2.0, 'p99': 2.0, 'max': 3.0}
    """
    if not arrivals:
        return None
    ages = np.array([(now - a) / 1e6 for a, _ in arrivals])
    weights = np.array([n for _, n in arrivals], dtype=float)
    order = np.argsort(ages)
    ages, share = ages[order], np.cumsum(weights[order]) / weights.sum()
    at = {
        name: float(ages[min(int(np.searchsorted(share, q)), len(ages) - 1)])
        for name, q in (("p50", 0.5), ("p99", 0.99))
    }
    return {**at, "max": float(ages[-1])}
