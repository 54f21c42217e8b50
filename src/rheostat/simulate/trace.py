"""What a simulation saw: one value per interval, and every decision with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.simulate.continuous.records import BINS

_EDGES = np.r_[0.0, 1e-5 * 2.0 ** (np.arange(BINS - 1) // 8) * (1 + np.arange(BINS - 1) % 8 / 8)]
"""Where the bins of latency begin."""


@dataclass(frozen=True)
class TracedDecision:
    """One change of plan.

    Attributes:
        time: when it was made.
        operator: that is changed.
        action: what kind of change.
        slots: of the operator, before and after.
        moved: shards that change their slot.
        reasons: in words and numbers.
    """

    time: float
    operator: str
    action: str
    slots: tuple[int, int]
    moved: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """One run, interval by interval.

    Attributes:
        policy: its name.
        time: when each interval ended.
        seconds: how long each interval was.
        offered: rows per second of the workload.
        admitted: rows per second that entered the job.
        throughput: rows per second that left the job.
        latency: mean seconds from entering to leaving the job.
        p99: seconds in the first operator that 99 in 100 rows stay below.
        operator_latency: mean seconds in each operator.
        slots: of every operator.
        nodes: that have slots.
        remote: bytes per second between executors and their slots on other nodes.
        migrated: bytes per second of state moved.
        decisions: all of them.
        decision_seconds: how long each decision took, by the wall.
        switches: seconds that each change stopped its slots, where both stand still.
        success: share of the windows within the bound, by operator and shard, where a bound was given.
        end_to_end: share of the windows in which the whole job was within its bound; NaN without one.
        moved: what moving shards has taken, by kind.
        bins: completed rows by operator and bin of latency.
    """

    policy: str
    time: Floats
    seconds: Floats
    offered: Floats
    admitted: Floats
    throughput: Floats
    latency: Floats
    p99: Floats
    operator_latency: Mapping[str, Floats]
    slots: Mapping[str, Floats]
    nodes: Floats
    remote: Floats
    migrated: Floats
    decisions: tuple[TracedDecision, ...]
    decision_seconds: Floats
    switches: tuple[float, ...] = ()
    success: Mapping[str, Floats] = field(default_factory=dict)
    end_to_end: float = float("nan")
    moved: Mapping[str, float] = field(default_factory=dict)
    bins: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, BINS), dtype=np.int64))

    def after(self, warm_up: float) -> npt.NDArray[np.bool_]:
        """Which intervals count."""
        kept: npt.NDArray[np.bool_] = self.time > warm_up + 1e-9
        return kept

    def mean(self, values: Floats, warm_up: float = 0.0) -> float:
        """The mean over time of one value per interval; NaN if no interval counts."""
        kept = self.after(warm_up)
        return float((values[kept] * self.seconds[kept]).sum() / self.seconds[kept].sum()) if kept.any() else np.nan

    def mean_throughput(self, warm_up: float = 0.0) -> float:
        """Rows per second that left the job."""
        return self.mean(self.throughput, warm_up)

    def mean_latency(self, warm_up: float = 0.0) -> float:
        """Mean latency of the rows that left the job, in seconds."""
        kept = self.after(warm_up) & np.isfinite(self.latency)
        weights = self.throughput[kept] * self.seconds[kept]
        return float((self.latency[kept] * weights).sum() / weights.sum()) if weights.sum() > 0 else float("inf")

    def mean_slots(self, operator: str | None = None, warm_up: float = 0.0) -> float:
        """Slots in use, of one operator or of all."""
        chosen = [operator] if operator else list(self.slots)
        return sum(self.mean(self.slots[name], warm_up) for name in chosen)

    def mean_success(self, operator: str | None = None) -> float:
        """Share of windows within the bound, averaged over shards: of one operator, or of the first."""
        return float(np.mean(self.success[operator or next(iter(self.success))]))

    def summary(self, warm_up: float = 0.0) -> dict[str, float]:
        """The figures that runs are compared by."""
        found = {
            "throughput": self.mean_throughput(warm_up),
            "latency": self.mean_latency(warm_up),
            "p99": quantile(self.bins[0], 0.99),
            "slots": self.mean_slots(warm_up=warm_up),
            "nodes": self.mean(self.nodes, warm_up),
            "remote_bytes_per_second": self.mean(self.remote, warm_up),
            "migrated_bytes_per_second": self.mean(self.migrated, warm_up),
            "decisions": len(self.decisions),
            "decision_milliseconds": 1e3 * float(self.decision_seconds.mean()) if len(self.decision_seconds) else 0.0,
        }
        if self.success:
            found["success"] = float(np.mean([self.mean_success(name) for name in self.success]))
        if np.isfinite(self.end_to_end):
            found["end_to_end_success"] = self.end_to_end
        return found


def quantile(bins: Sequence[int] | npt.NDArray[np.int64], share: float) -> float:
    """The latency that a share of the rows stays below, from counts by bin, to about 9 %.

    >>> counts = np.zeros(BINS, dtype=np.int64)
    >>> counts[81] = 100
    >>> round(quantile(counts, 0.99), 3)
    0.011
    """
    counts = np.asarray(bins, dtype=np.float64)
    if not counts.sum() > 0:
        return float("nan")
    place = int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
    place = min(place, BINS - 2)
    return float((_EDGES[place] + _EDGES[place + 1]) / 2)
