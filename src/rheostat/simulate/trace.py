"""The result of a simulation: values of every interval, and every decision with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.simulate.job import ROUNDING
from rheostat.simulate.latency_bins import BINS, quantile


@dataclass(frozen=True)
class TracedDecision:
    """One change of plan.

    Attributes:
        time: when it was made, in simulated seconds.
        operator: name of the operator that it changes.
        action: kind of change, as in ``Action``.
        slots: number of slots of the operator before and after.
        moved: number of shards that move to another slot.
        reasons: why, as texts.
    """

    time: float
    operator: str
    action: str
    slots: tuple[int, int]
    moved: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """One run. Arrays have one value per interval, unless the description says otherwise.

    Attributes:
        policy: name of the policy.
        time: when the interval ended, in simulated seconds.
        seconds: length of the interval.
        offered: rows per second of the workload.
        admitted: rows per second that entered the job.
        throughput: rows per second that left the job.
        latency: mean seconds from entering to leaving the job; NaN if no row left it.
        p99: 99th percentile of the latency in the first operator, in seconds; NaN if no row was completed.
        operator_latency: mean seconds in the operator, by operator; 0 if it completed no row.
        slots: number of slots, by operator.
        nodes: number of nodes that have slots.
        remote: bytes per second between executors and their slots on other nodes.
        migrated: bytes per second of state moved to another node.
        decisions: all decisions, in order.
        decision_seconds: real seconds that the policy took, one value per turn.
        switches: seconds that slots were stopped or state was sent, one value per change; see the engine.
        success: share of windows within the bound, by operator, one value per shard; empty without a bound.
        end_to_end: share of windows in which the whole job was within its bound; NaN without one.
        moved: number of shards moved and the seconds that took; see ``moved`` of the engine.
        bins: completed rows after the warm-up, by operator and latency bin.
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
        """Return which intervals end after the warm-up."""
        counted: npt.NDArray[np.bool_] = self.time > warm_up + ROUNDING
        return counted

    def mean(self, values: Floats, warm_up: float = 0.0) -> float:
        """Return the mean over time of one value per interval; NaN if no interval ends after the warm-up."""
        counted = self.after(warm_up)
        seconds = self.seconds[counted]
        return float((values[counted] * seconds).sum() / seconds.sum()) if counted.any() else np.nan

    def mean_throughput(self, warm_up: float = 0.0) -> float:
        """Return the mean rows per second that left the job."""
        return self.mean(self.throughput, warm_up)

    def mean_latency(self, warm_up: float = 0.0) -> float:
        """Return the mean latency of the rows that left the job, in seconds; infinite if none left it."""
        counted = self.after(warm_up) & np.isfinite(self.latency)
        rows = self.throughput[counted] * self.seconds[counted]
        return float((self.latency[counted] * rows).sum() / rows.sum()) if rows.sum() > 0 else float("inf")

    def mean_slots(self, operator: str | None = None, warm_up: float = 0.0) -> float:
        """Return the mean number of slots, of one operator or of all together."""
        chosen = [operator] if operator else list(self.slots)
        return sum(self.mean(self.slots[name], warm_up) for name in chosen)

    def mean_success(self, operator: str | None = None) -> float:
        """Return the share of windows within the bound, averaged over the shards of one operator or of the first."""
        return float(np.mean(self.success[operator or next(iter(self.success))]))

    def summary(self, warm_up: float = 0.0) -> dict[str, float]:
        """Return the figures by which runs are compared, as ``rheostat simulate --json`` prints them."""
        figures = {
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
            figures["success"] = float(np.mean([self.mean_success(name) for name in self.success]))
        if np.isfinite(self.end_to_end):
            figures["end_to_end_success"] = self.end_to_end
        return figures
