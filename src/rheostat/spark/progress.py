"""Progress: what one epoch did, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rheostat.elastic.routing.requests import Change


@dataclass(frozen=True)
class Progress:
    """What one epoch did. Times are in seconds, ``watermarks`` in microseconds since 1970.

    Attributes:
        rows: rows that came in, those without event time included.
        late: rows that missed a window, those an operator gave among them; ``dropped`` of them missed every one.
        nulls: rows without event time.
        partials: partials that were taken in; rows are aggregated to these before they reach a slot.
        results: result rows per operator that gives some.
        seconds: how long the epoch took, up to its commit.
        steps: the same by step.
        slot_seconds: per component, how long each slot worked.
        imbalance: per component, the busiest slot's useful seconds over the mean.
        hottest: per component, its busiest key and that key's share of the work, where keys are told apart.
        hot: per component, a key so busy that no placement of shards is balanced, in words; found while balancing.
        changes: what changed in the routing for this epoch.
        fetched_bytes: bytes of state that nodes copied from the checkpoint; none where it is on their own disk.
        migrated_bytes: those of them that were copied because shards moved between slots.
        latency: p50, p99 and maximum of commit time minus arrival time; None without an arrival-time column.
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
        """As plain values, for JSON."""
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
