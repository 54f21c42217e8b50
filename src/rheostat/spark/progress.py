"""Progress: what one epoch did, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rheostat.elastic.routing.requests import Change


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What one epoch did.

    Attributes:
        epoch: number of the epoch.
        rows: rows that came in, including those without event time.
        late: rows that missed a window, including results of operators that other windows read.
        dropped: late rows that missed every window.
        nulls: rows without event time.
        partials: partials that were taken in; rows are aggregated to partials before they reach a slot.
        results: per operator, its result rows.
        watermarks: per source, its watermark in microseconds since 1970; None before its first row.
        state_bytes: bytes of the state after the epoch.
        state_rows: rows of the state after the epoch.
        seconds: how long the epoch took, including its commit.
        steps: per step, how many seconds it took.
        slot_seconds: per component, how many seconds each slot worked.
        imbalance: per component, the busiest slot's useful seconds over the mean.
        hottest: per component, its busiest key and that key's share of the work, where keys can be told apart.
        hot: per component, a key so busy that no placement of shards is balanced, in words; found while balancing.
        changes: what changed in the routing for this epoch.
        fetched_bytes: bytes of state that nodes copied from the checkpoint; 0 if it is on their own disk.
        migrated_bytes: bytes of ``fetched_bytes`` that were copied because shards moved between slots.
        latency: p50, p99 and maximum of commit time minus arrival time, in seconds; None without arrival times.
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
        """The progress as plain values, for JSON."""
        return asdict(self)


def latency_of(arrivals: Sequence[tuple[float, int]], now: float) -> dict[str, float] | None:
    """Weighted quantiles of the age of rows, in seconds; None if no arrival time is known.

    Args:
        arrivals: arrival times in microseconds with the number of rows at each.
        now: the time to measure the age at, in microseconds.

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
