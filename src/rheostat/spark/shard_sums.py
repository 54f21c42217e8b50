"""The reports of several tasks as arrays by shard, and the latency of their rows once the commit time is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.observation import LatencySummary
from rheostat.spark.stage.shard_tally import QUANTILES, RECORD, SHARES, Records
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport

_BINS = 1024
"""Into how many bins values are sorted roughly."""

_MEDIAN, _P99 = (int(np.flatnonzero(q == QUANTILES)[0]) for q in (0.5, 0.99))


@dataclass(frozen=True, eq=False)
class ShardSums:
    """What tasks measured of every shard, added up.

    Attributes:
        rows: rows received, by shard.
        seconds: useful seconds of slots, by shard.
        bytes: bytes of rows in and out, by shard.
        timed: rows with a known arrival time, by shard.
        arrival: their mean arrival time in microseconds since 1970, by shard; NaN where there are none.
        records: the records of all tasks that have arrival times.
    """

    rows: Floats
    seconds: Floats
    bytes: Floats
    timed: Floats
    arrival: Floats
    records: Records

    @classmethod
    def of(cls, reports: Iterable[PartReport], shards: int) -> ShardSums:
        """Add up reports.

        Args:
            reports: the reports of tasks of one component, or of several.
            shards: the number of shards.
        """
        every = list(reports)
        records = np.concatenate([np.zeros(0, RECORD), *(r.shards for r in every)])
        in_slots = np.repeat([r.slot != NO_SLOT for r in every], [len(r.shards) for r in every])
        return cls._of(records, records["seconds"] * in_slots, shards)

    @classmethod
    def joined(cls, parts: Iterable[ShardSums], shards: int) -> ShardSums:
        """Join the latencies of several components: the result has only their rows with an arrival time.

        Args:
            parts: the sums of every component; those of a single one are returned as they are.
            shards: the number of shards.
        """
        every = list(parts)
        if len(every) == 1:
            return every[0]
        records = np.concatenate([np.zeros(0, RECORD), *(p.records for p in every)])
        return cls._of(records, records["seconds"], shards)

    @classmethod
    def _of(cls, records: Records, seconds: Floats, shards: int) -> ShardSums:
        has_time = records["timed"] > 0
        known = records if has_time.all() else records[has_time]
        timed = _by_shard(known, known["timed"], shards)
        first = known["arrival"].min(initial=np.inf)  # sums of offsets are more exact than sums of times since 1970
        offsets = _by_shard(known, known["timed"] * (known["arrival"] - first), shards)
        with np.errstate(invalid="ignore", divide="ignore"):
            arrival = np.where(timed > 0, first + offsets / timed, np.nan)
        return cls(
            rows=_by_shard(records, records["rows"], shards),
            seconds=_by_shard(records, seconds, shards),
            bytes=_by_shard(records, records["bytes"], shards),
            timed=timed,
            arrival=arrival,
            records=known,
        )

    def latency(self, now: float) -> Floats:
        """Return the mean latency by shard in seconds; NaN where unknown.

        Args:
            now: the time of the commit, in microseconds since 1970.
        """
        return (now - self.arrival) / 1e6

    def quantiles(self, now: float) -> tuple[Floats, Floats]:
        """Return the median and the 99th percentile of latency by shard in seconds; NaN where unknown.

        They are exact for shards that one task has seen, and otherwise as close as the points of several tasks allow.

        Args:
            now: the time of the commit, in microseconds since 1970.
        """
        p50, p99 = np.full(len(self.rows), np.nan), np.full(len(self.rows), np.nan)
        shards = self.records["shard"]
        if np.bincount(shards, minlength=1).max() <= 1:
            mean = now - self.records["arrival"]
            p50[shards] = (mean - self.records["points"][:, _MEDIAN]) / 1e6
            p99[shards] = (mean - self.records["points"][:, _P99]) / 1e6
            return p50, p99
        latencies, weights = self.points(now)
        owner = np.repeat(shards, len(QUANTILES)).astype(np.int64)
        for values, share in ((p50, 0.5), (p99, 0.99)):
            values[:] = _quantile_by_group(owner, latencies, weights, share, len(values))
        return p50, p99

    def points(self, now: float) -> tuple[Floats, Floats]:
        """Return latencies in seconds, and the number of rows that each stands for.

        Args:
            now: the time of the commit, in microseconds since 1970.
        """
        latencies = (now - self.records["arrival"][:, None] - self.records["points"]) / 1e6
        weights = self.records["timed"][:, None] * SHARES
        return latencies.ravel(), weights.ravel()

    def summary(self, now: float) -> LatencySummary:
        """Return the latency of all rows.

        Args:
            now: the time of the commit, in microseconds since 1970.
        """
        rows = float(self.timed.sum())
        if not rows:
            return LatencySummary()
        latencies, weights = self.points(now)
        p50, p99 = weighted_quantiles(latencies, weights, (0.5, 0.99))
        mean = float(np.nansum(self.latency(now) * self.timed)) / rows
        return LatencySummary(rows=rows, mean=mean, p50=p50, p99=p99)


def weighted_quantiles(values: Floats, weights: Floats, shares: tuple[float, ...]) -> tuple[float, ...]:
    """Return the smallest values that at least these shares of the weight do not exceed.

    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 98.0, 1.0]), (0.5, 0.99, 1.0))
    (1.0, 2.0, 3.0)
    """
    low, high = float(values.min()), float(values.max())
    bins = np.zeros(len(values), np.int64)
    if high > low:  # sort only the values close to the wanted ones
        bins = ((values - low) * (min(len(values), _BINS) / (high - low) * (1 - 1e-9))).astype(np.int64)
    reached = np.cumsum(np.bincount(bins, weights=weights))
    found = []
    for share in shares:
        wanted = share * reached[-1] * (1 - 1e-12)
        number = int(np.searchsorted(reached, wanted))
        near = np.flatnonzero(bins == number)
        order = near[np.argsort(values[near])]
        missing = wanted - (reached[number - 1] if number else 0.0)
        at = np.searchsorted(np.cumsum(weights[order]), missing)
        found.append(float(values[order[min(int(at), len(order) - 1)]]))
    return tuple(found)


def _by_shard(records: Records, values: Floats, shards: int) -> Floats:
    return np.bincount(records["shard"], weights=values, minlength=shards).astype(np.float64)


def _quantile_by_group(groups: Ints, values: Floats, weights: Floats, share: float, count: int) -> Floats:
    """Return by group the smallest value that at least a share of its weight does not exceed; NaN for empty groups."""
    order = np.lexsort((values, groups))
    totals = np.bincount(groups, weights=weights, minlength=count)
    present = np.flatnonzero(totals)
    reached = np.cumsum(weights[order])
    targets = (np.cumsum(totals) - totals)[present] + share * totals[present]
    quantiles = np.full(count, np.nan)
    quantiles[present] = values[order][np.minimum(np.searchsorted(reached, targets * (1 - 1e-12)), len(order) - 1)]
    return quantiles
