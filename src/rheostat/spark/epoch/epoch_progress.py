"""The progress of an epoch, put together from the reports of its tasks and from the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.routing.balance import imbalance
from rheostat.spark.actuator import EpochRouting
from rheostat.spark.epoch.applied_work import AppliedWork
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.epoch.source_counts import SourceCounts
from rheostat.spark.homes import tasks_away
from rheostat.spark.progress import Progress, latency_of
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport


@dataclass(frozen=True, kw_only=True)
class CommittedEpoch:
    """What is known of an epoch when it is committed.

    Attributes:
        epoch: its number.
        counts: the counts of every source.
        reports: the reports of its tasks.
        applied: its apply operators.
        routing: the routing that it ran with.
        homes: by component, the host that each slot preferred.
        results: by operator, its result rows.
        steps: by step, the seconds that it took.
        seconds: how long all of it took.
        decisions: what was decided before it.
        policy_failure: why the policy was skipped; empty if it was not.
    """

    epoch: int
    counts: Mapping[str, SourceCounts]
    reports: Iterable[PartReport]
    applied: AppliedWork
    routing: EpochRouting
    homes: Mapping[str, Sequence[str]]
    results: Mapping[str, int]
    steps: Mapping[str, float]
    seconds: float
    decisions: Iterable[Decision]
    policy_failure: str

    def progress(self, query: QueryContext) -> Progress:
        """The progress of the epoch, after its commit.

        Args:
            query: the query.
        """
        manifest, tables, reports = query.checkpoint.manifest, query.plan.tables, list(self.reports)
        # Windows over the results of operators have late rows, too; the counts have only those of sources.
        downstream = [done for r in reports for t, done in r.tables.items() if t in tables and tables[t].level > 0]
        counts = self.counts.values()
        useful = self._by_slot(lambda report: report.useful) | self.applied.by_slot(lambda report: report.useful)
        return Progress(
            epoch=self.epoch,
            rows=sum(c.rows for c in counts),
            late=sum(c.late for c in counts) + sum(t.late for t in downstream),
            dropped=sum(c.dropped for c in counts) + sum(t.dropped for t in downstream),
            nulls=sum(c.nulls for c in counts),
            partials=sum(t.partials for r in reports for t in r.tables.values()),
            results=self.results,
            watermarks=manifest.watermarks,
            state_bytes=manifest.state_bytes,
            state_rows=manifest.state_rows,
            seconds=self.seconds,
            steps=self.steps,
            slot_seconds=self._by_slot(lambda r: r.seconds) | self.applied.by_slot(lambda r: r.seconds),
            imbalance={name: round(imbalance(np.array(slots)), 3) for name, slots in useful.items()},
            hottest=query.observer.hottest,
            hot=self.routing.hot,
            changes=self.routing.changes,
            fetched_bytes=sum(r.fetched for r in reports),
            migrated_bytes=sum(r.migrated for r in reports),
            damaged_copies=sum(len(r.damaged) for r in reports),
            homes=self.homes,
            away=tasks_away(self.homes, reports),
            latency=latency_of(query.observer.newest.latency, query.observer.points),
            decisions=(*self.decisions, *self.applied.decisions),
            policy_failure=self.policy_failure,
            success_rate=float("nan") if query.promise is None else query.meter.read().success_rate,
        )

    def _by_slot(self, value: Callable[[PartReport], float]) -> dict[str, list[float]]:
        """By component, the sum of a value over the reports of each slot."""
        sums: dict[str, list[float]] = {}
        for report in self.reports:
            slots = max(self.routing.routing[report.component]) + 1
            by_slot = sums.setdefault(report.component, [0.0] * slots)
            if report.slot != NO_SLOT:
                by_slot[report.slot] += value(report)
        return sums
