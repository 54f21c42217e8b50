"""One epoch, from Spark's micro-batch to the commit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from pyspark.sql import DataFrame

from rheostat.elastic.routing.balance import imbalance
from rheostat.planning.feeds import StreamSql, passes
from rheostat.spark.actuator import EpochRouting
from rheostat.spark.epoch.clocks import batch_time, with_clocks
from rheostat.spark.epoch.level import EpochSetting, EpochState, Level
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.epoch.source_counts import Observed, SourceCounts
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.spark.input.shard_counts import rows_by_shard
from rheostat.spark.output.epoch_outputs import EpochOutputs
from rheostat.spark.progress import Progress, latency_of
from rheostat.spark.stage.task_reports import PartReport
from rheostat.state.manifest import SourceState
from rheostat.topology.nodes import Source

_CHANGES = 100
"""How many changes of routing a manifest remembers."""

Watermarks = Mapping[str, int | None]
"""Per clock, the watermark in microseconds; None before its first row."""


class Epoch:
    """The work of one epoch.

    Args:
        query: the query it belongs to.
        batch: Spark's micro-batch.
        epoch: its number.
    """

    def __init__(self, query: QueryContext, batch: DataFrame, epoch: int) -> None:
        self._query = query
        self._epoch = epoch
        self._manifest = query.checkpoint.manifest
        self._began = self._clock = time.perf_counter()
        self._steps: dict[str, float] = {}
        self._state = EpochState(dict(self._manifest.tables))
        self._observed: dict[str, Observed] = {}
        self._streams = EpochStreams(query.graph, batch)
        self._outputs = EpochOutputs(
            graph=query.graph,
            plan=query.plan,
            checkpoint=query.checkpoint.folder,
            epoch=epoch,
            spark=self._streams.spark,
        )
        self._routing = EpochRouting(routing=query.actuator.routing)
        self._counted: dict[str, dict[int, int]] = {}

    def run(self) -> None:
        """Run the epoch, in this order:

        1. Prepare the input: keep the rows in memory if they are read more than once, count them where they must be.
        2. Fix the routing, which may differ from the last epoch's.
        3. Level by level: take rows in, move the watermarks, close what they have passed, stage the results.
        4. Write the sinks, which are idempotent by epoch.
        5. Commit: write the manifest. Until then nothing of the epoch counts; from then on everything does.
        6. Clean up, and tell how it went.
        """
        try:
            before = self._watermarks_before()
            self._prepare_input()
            self._routing = self._fix_routing()
            counts, after = self._run_levels(before)
            self._write_sinks(before, counts)
            self._commit(counts, after)
            self._finish(counts)
        finally:
            self._streams.release()

    def _watermarks_before(self) -> Watermarks:
        """The watermarks up to which earlier epochs have closed windows."""
        known = {s.name: self._manifest.watermarks.get(s.name) for s in self._query.sources}
        return with_clocks(known, self._query.plan.clocks)

    def _prepare_input(self) -> None:
        """Keep the rows in memory if they are read more than once, and count them where they must be."""
        graph, reads = self._query.graph, passes(self._query.plan, 0)
        plain = [s for s in graph.sinks if not s.aside and isinstance(graph.origin_of(s.upstream), Source)]
        observed = {n: c for n, c in self._query.counters.items() if c.must_observe}
        ahead = self._query.loop.control.policy.ahead and reads > 0
        if reads + len(plain) + ahead > 1 or len(self._query.sources) > 1 or reads == 0:
            self._streams.keep()
            self._observed = {name: counter.count(self._streams.stream(name)) for name, counter in observed.items()}
        else:
            for name, counter in observed.items():
                self._streams.replace(name, counter.observe(self._streams.stream(name)))
        if ahead:
            self._counted = rows_by_shard(self._query.plan, self._query.checkpoint.shards, self._streams)

    def _fix_routing(self) -> EpochRouting:
        """One turn of the loop, with what the last epoch measured; then the routing of this epoch is fixed."""
        query = self._query
        seen, loads = query.observer.before(self._counted), query.observer.expected(self._counted)
        turn = query.loop.turn(seen, query.actuator.plan, loads)
        return query.actuator.begin(self._epoch, turn, loads)

    def _run_levels(self, before: Watermarks) -> tuple[dict[str, SourceCounts], Watermarks]:
        """Run all levels; what the epoch brought from every source, and the watermarks after it."""
        query, setting = self._query, self._setting(before)
        counts, after = {s.name: SourceCounts() for s in query.sources}, before
        for number in range(max(query.plan.levels, 1)):
            level = Level(
                number=number,
                plan=query.plan,
                shards=query.checkpoint.shards,
                folder_of=query.checkpoint.table_folder,
            )
            reports = self._ingest(level, setting)
            if number == 0:
                counts = {n: c.counts(reports, self._observed.get(n)) for n, c in query.counters.items()}
                after = self._watermarks_after(before, counts)
            self._step("ingest")
            reports += level.close(setting, after, self._state)
            for operator, staged in self._outputs.stage(reports).items():
                self._streams.add_results(operator, staged.frame)
            self._step("close")
        return counts, after

    def _setting(self, before: Watermarks) -> EpochSetting:
        return EpochSetting(
            epoch=self._epoch,
            spark=self._streams.spark,
            before=before,
            routing=self._routing.routing,
            staging=self._outputs.staging,
            moved=self._routing.moved,
            expected=self._routing.expected,
            processing_time=self._processing_time(),
        )

    def _ingest(self, level: Level, setting: EpochSetting) -> list[PartReport]:
        """Take the rows of a level in, if there are any; what its tasks reported."""
        found = {name: self._streams.sql(name) for name in self._query.plan.streams_at(level.number)}
        streams: dict[str, StreamSql] = {name: sql for name, sql in found.items() if sql is not None}
        if not streams:
            return []
        reports, observed = level.ingest(setting, streams, self._state)
        self._observed.update(observed)
        return reports

    def _watermarks_after(self, before: Watermarks, counts: Mapping[str, SourceCounts]) -> Watermarks:
        """Newest event time minus slack; a watermark never goes back."""
        after: dict[str, int | None] = {}
        for source in self._query.sources:
            seen = self._source_state(source.name, counts[source.name]).watermark(source.slack)
            after[source.name] = max((w for w in (before[source.name], seen) if w is not None), default=None)
        return with_clocks(after, self._query.plan.clocks)

    def _processing_time(self) -> int | None:
        """When Spark began the epoch, if any state expires by it; from Spark's log, so a repetition has the same."""
        if not any(t.process.ttl and t.process.clock == "processing" for t in self._query.plan.keyed.values()):
            return None
        began = batch_time(self._query.checkpoint.folder / "spark" / "offsets", self._epoch)
        return max(began, self._manifest.totals.get("processing_time", began))

    def _source_state(self, name: str, counts: SourceCounts) -> SourceState:
        """How far a source has come with this epoch."""
        return counts.add_to(self._manifest.sources.get(name, SourceState()))

    def _write_sinks(self, before: Watermarks, counts: Mapping[str, SourceCounts]) -> None:
        """Write all sinks, and the rows that sources keep aside if there are any."""
        self._outputs.write(self._streams.stream)
        for source in self._query.sources:
            late = source.late == "aside" and counts[source.name].late > 0
            nulls = source.nulls == "aside" and counts[source.name].nulls > 0
            if late or nulls:
                rows = self._streams.stream(source.name)
                self._outputs.keep_aside(source, rows, before[source.name], late=late, nulls=nulls)
        self._step("sinks")

    def _commit(self, counts: Mapping[str, SourceCounts], after: Watermarks) -> None:
        """Commit the epoch, in this order:

        1. Drop segments that no window will read any more.
        2. Observe what the tasks measured, so that the manifest remembers the load of every shard.
        3. Write the manifest: segments, watermarks, routing, counters, loads. This is the only commit there is.
        """
        self._state.expire(self._query.plan.tables, after)
        self._observe(counts)
        changes = [*self._manifest.changes, *(c.to_json() for c in self._routing.changes)]
        self._query.checkpoint.commit(
            self._manifest.at(
                self._epoch,
                topology=self._query.recorded,
                sources={n: self._source_state(n, c) for n, c in counts.items()},
                watermarks=dict(after),
                routing=dict(self._routing.routing),
                tables=self._state.segments,
                totals=self._totals(counts),
                loads={n: loads.to_pairs() for n, loads in self._query.observer.loads.items()},
                changes=tuple(changes[-_CHANGES:]),
            )
        )

    def _observe(self, counts: Mapping[str, SourceCounts]) -> None:
        """What this epoch measured, for the turn of the loop before the next one."""
        self._query.observer.observe(
            self._state.reports,
            self._counted,
            self._query.actuator.plan,
            epoch=self._epoch,
            time=time.monotonic(),
            seconds=time.perf_counter() - self._began,
            rows=sum(c.rows for c in counts.values()),
        )

    def _totals(self, counts: Mapping[str, SourceCounts]) -> dict[str, int]:
        """The counters since the checkpoint was made."""
        totals = Counter(self._manifest.totals)
        if (began := self._processing_time()) is not None:
            totals["processing_time"] = began
        totals.update(rows=sum(c.rows for c in counts.values()), results=sum(self._outputs.counts.values()))
        return dict(totals)

    def _finish(self, counts: Mapping[str, SourceCounts]) -> None:
        """Delete what was staged, and tell how the epoch went."""
        self._outputs.discard()
        self._step("commit")
        self._query.on_progress(self._progress(counts))

    def _progress(self, counts: Mapping[str, SourceCounts]) -> Progress:
        manifest, reports = self._query.checkpoint.manifest, self._state.reports
        tables = self._query.plan.tables
        # Results of operators that were late for the windows over them; late rows of sources are in the counts.
        after = [did for r in reports for t, did in r.tables.items() if t in tables and tables[t].level > 0]
        arrivals = [point for r in reports for t in r.tables.values() for point in t.arrivals]
        useful = self._by_slot(lambda report: sum(report.shards.values()))
        return Progress(
            epoch=self._epoch,
            rows=sum(c.rows for c in counts.values()),
            late=sum(c.late for c in counts.values()) + sum(did.late for did in after),
            dropped=sum(c.dropped for c in counts.values()) + sum(did.dropped for did in after),
            nulls=sum(c.nulls for c in counts.values()),
            partials=sum(t.partials for r in reports for t in r.tables.values()),
            results=self._outputs.counts,
            watermarks=manifest.watermarks,
            state_bytes=manifest.state_bytes,
            state_rows=manifest.state_rows,
            seconds=time.perf_counter() - self._began,
            steps=self._steps,
            slot_seconds=self._by_slot(lambda report: report.seconds),
            imbalance={name: round(imbalance(np.array(seconds)), 3) for name, seconds in useful.items()},
            hottest=self._query.observer.hottest,
            hot=self._routing.hot,
            changes=self._routing.changes,
            fetched_bytes=sum(r.fetched for r in reports),
            migrated_bytes=sum(r.migrated for r in reports),
            latency=latency_of(arrivals, time.time() * 1e6),
        )

    def _by_slot(self, value: Callable[[PartReport], float]) -> dict[str, list[float]]:
        """Per component, the sum of a value of the reports for each slot."""
        sums: dict[str, list[float]] = {}
        for report in self._state.reports:
            slots = max(self._routing.routing[report.component]) + 1
            sums.setdefault(report.component, [0.0] * slots)[report.slot] += value(report)
        return sums

    def _step(self, name: str) -> None:
        """Note how long a step took, and let tests interfere."""
        now = time.perf_counter()
        self._steps[name] = self._steps.get(name, 0.0) + now - self._clock
        self._clock = now
        self._query.probe(name)
