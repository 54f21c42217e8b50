"""One epoch, from Spark's micro-batch to the commit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pyspark.sql import DataFrame

from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.loop.events import EventKind
from rheostat.elastic.loop.turn import Turn
from rheostat.elastic.routing.cached_state import cached_bytes
from rheostat.errors import CheckpointError
from rheostat.planning.enorm.form_watch import IngestSample
from rheostat.planning.feeds import StreamSql, passes
from rheostat.planning.replan import after_epoch
from rheostat.spark.actuator import EpochRouting
from rheostat.spark.epoch.ahead_counts import AheadCounter
from rheostat.spark.epoch.applied_work import AppliedWork
from rheostat.spark.epoch.clocks import BatchStart, batch_start, batch_time, with_clocks
from rheostat.spark.epoch.epoch_progress import CommittedEpoch
from rheostat.spark.epoch.epoch_state import EpochSetting, EpochState
from rheostat.spark.epoch.level import Level
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.epoch.source_counts import CountedWrite, Observed, SourceCounts, read_observed
from rheostat.spark.epoch.stream_stager import StreamStager
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.spark.output.epoch_outputs import EpochOutputs
from rheostat.spark.stage.planned_stages import observed_metrics
from rheostat.spark.stage.task_reports import PartReport, ResultFile
from rheostat.state.manifest import SourceState
from rheostat.topology.nodes import Source

_KEPT_CHANGES = 100
"""How many changes of routing a manifest keeps."""

Watermarks = Mapping[str, int | None]
"""By clock, the watermark in microseconds; None before its first row."""


class Epoch:
    """The work of one epoch.

    Args:
        query: the query it belongs to.
        batch: Spark's micro-batch.
        epoch: number of the epoch.
    """

    def __init__(self, query: QueryContext, batch: DataFrame, epoch: int) -> None:
        self._query = query
        self._epoch = epoch
        self._manifest = query.checkpoint.manifest
        self._began = self._clock = time.perf_counter()
        self._steps: dict[str, float] = {}
        self._state = EpochState(dict(self._manifest.tables))
        self._observed: dict[str, Observed] = {}
        self._only_written = False
        self._counted_writes: dict[str, CountedWrite] = {}
        self._streams = EpochStreams(query.graph, batch, query.arrivals, query.scans)
        self._stager = StreamStager(self._streams, query.stages, query.is_fixed)
        self._outputs = EpochOutputs(
            graph=query.graph,
            plan=query.plan,
            checkpoint=query.checkpoint.folder,
            epoch=epoch,
            spark=self._streams.spark,
        )
        self._routing = EpochRouting(routing=query.actuator.routing)
        self._homes: dict[str, tuple[str, ...]] = {}
        self._applied = AppliedWork(query, epoch)
        self._counted: dict[str, dict[int, int]] = {}
        self._decisions: list[Decision] = []
        self._policy_failure = ""
        self._samples: dict[str, IngestSample] = {}

    def run(self) -> None:
        """Run the epoch, in this order:

        1. Prepare the input: cache rows that are read more than once, and count rows where that is needed.
        2. Fix the routing, which may differ from that of the last epoch, and the hosts that slots prefer.
        3. For each level: run apply operators, ingest rows, close the windows that the watermark has passed, stage the
           results. The watermarks advance after the first level has ingested its rows.
        4. Write the sinks, which are idempotent by epoch.
        5. Commit by writing the manifest. Before that, nothing of the epoch counts; afterwards, everything does.
        6. Complete the observation, delete staged files and report the progress, while Spark chooses the rows of the
           next epoch.
        """
        try:
            before = self._watermarks_before()
            self._prepare_input()
            self._step("input")
            self._routing = self._fix_routing()
            self._homes = self._query.homes.begin(
                self._epoch,
                self._query.plan,
                self._routing.routing,
                self._state.segments,
                self._query.observer.host_speeds,
            )
            counts, after = self._run_levels(before)
            self._write_sinks(before, counts)
            self._commit(counts, after)
            now, seconds = time.time() * 1e6, time.perf_counter() - self._began
            self._query.epilogue.begin(lambda: self._finish(counts, now, seconds))
        finally:
            self._streams.release()

    def _watermarks_before(self) -> Watermarks:
        """The watermarks up to which earlier epochs have closed windows."""
        watermarks = {s.name: self._manifest.watermarks.get(s.name) for s in self._query.sources}
        return with_clocks(watermarks, self._query.plan.clocks)

    def _prepare_input(self) -> None:
        """Cache the rows if they are read more than once, and count them where that is needed.

        Rows that are counted by shard before the epoch are counted then. Others are counted on the way if they are read
        once, to feed tables or apply operators or to be written to sinks, and else by a Spark job of their own.
        """
        query, graph = self._query, self._query.graph
        tables = passes(query.plan, 0)
        reads = tables + len(query.plan.applied_at(0))
        written = {s.upstream for s in graph.sinks if not s.aside and isinstance(graph.origin_of(s.upstream), Source)}
        counters = {n: c for n, c in query.counters.items() if c.must_observe}
        ahead = query.loop.control.policy.ahead and tables > 0
        once = reads + len(written) == 1 and len(query.sources) == 1
        self._only_written = once and bool(written)
        if not once or (ahead and not query.fixed):
            self._streams.cache()
        if ahead:
            wanted = {name: counter.wanted for name, counter in counters.items()}
            counter = AheadCounter(query.plan, query.checkpoint.shards, wanted)
            counted = counter.count(self._streams, query.stages if query.fixed else None)
            self._counted = counted.shards
            self._observed = {name: counters[name].total(groups) for name, groups in counted.sources.items()}
        for name, source_counter in counters.items():
            if name in self._observed:
                continue
            if once and any(self._outputs.is_direct(stream) for stream in written):
                self._counted_writes[name] = source_counter.observe_write()
                self._streams.count_with(name, self._counted_writes[name].observe)
            elif once:
                self._streams.count_with(name, source_counter.observe)
            else:
                self._observed[name] = source_counter.count(self._streams.stream(name))

    def _fix_routing(self) -> EpochRouting:
        """Begin the epoch with a routing that may differ from that of the last one, in this order:

        1. Look which nodes are there.
        2. Run one turn of the policy loop with the newest observation.
        3. Store what it decided. If the epoch is not committed, the next run finds the proposal and resumes it.
        4. Request the plan, begin the epoch with its routing, and ask for nodes or release some.
        5. Limit the rows of the epochs to come.
        """
        query = self._query
        query.observer.see_nodes(query.nodes.observe(self._epoch), query.nodes.delay)
        if query.nodes.follows:
            query.actuator.follow_nodes(query.nodes.wanted)
        plan = query.actuator.plan
        seen = query.observer.before(self._counted, *self._batch_starts())
        loads = query.observer.expected(self._counted)

        def store(turn: Turn) -> None:
            self._decisions = query.decision_log.record(turn, seen, plan, self._epoch)
            self._step("decide")

        turn = query.loop.turn(seen, plan, loads, store)
        query.recorder.add(self._epoch, seen, plan, turn)
        self._policy_failure = "" if turn.policy_error is None else str(turn.policy_error)
        routing = query.actuator.begin(self._epoch, turn, loads)
        if not query.nodes.fixed:
            speeds = dict(zip(seen.executors, seen.speeds.tolist(), strict=True))
            query.nodes.want(query.actuator.plan.nodes, self._epoch, cached_bytes(seen.operators), speeds)
            query.observer.see_nodes(query.nodes.roster, query.nodes.delay)
        self._decisions += self._new_forms()
        if query.pacer is not None:
            query.pacer.after_turn(seen, query.actuator.plan, self._epoch, self._streams.spark)
        query.keep_profile()
        return routing

    def _new_forms(self) -> list[Decision]:
        """Store which tables have another form from this epoch on. The manifest before has decided it."""
        query, made = self._query, []
        for change in query.forms.changes(self._manifest.forms, self._epoch):
            component = next(c for c in query.plan.components if change.table in c.tables)
            slots = max(self._routing.routing[component.name]) + 1
            reasons = (f"table {change.table}", change.reason)
            made += query.decision_log.change_form(change.form, component.name, self._epoch, slots, reasons)
        return made

    def _batch_starts(self) -> tuple[BatchStart | None, BatchStart | None]:
        """What Spark's offset log says about this epoch, and, in the first of a run, about the one before."""
        log, resumed = self._query.checkpoint.folder / "spark" / "offsets", self._query.observer.start is None
        starts: list[BatchStart | None] = [None, None]
        for i, epoch in enumerate((self._epoch, *((self._epoch - 1,) if resumed and self._epoch else ()))):
            with suppress(CheckpointError):
                starts[i] = batch_start(log, epoch)
        return starts[0], starts[1]

    def _run_levels(self, before: Watermarks) -> tuple[dict[str, SourceCounts], Watermarks]:
        """Run all levels. Return the counts of every source, and the watermarks after the epoch."""
        query, setting = self._query, self._setting(before)
        counts, after = {s.name: SourceCounts() for s in query.sources}, before
        for number in range(max(query.plan.levels, 1)):
            level = Level(
                number=number,
                plan=query.plan,
                shards=query.checkpoint.shards,
                folder_of=query.checkpoint.table_folder,
                stages=query.stages,
            )
            results = self._apply(number, setting)
            reports = self._ingest(level, setting)
            if number == 0:
                self._write_counted()
                counts = {n: c.counts(reports, self._observed.get(n)) for n, c in query.counters.items()}
                after = self._watermarks_after(before, counts)
            self._step("ingest")
            reports += level.close(setting, after, self._state)
            results += [result for report in reports for result in report.results]
            for operator, staged in self._outputs.stage(results).items():
                self._streams.add_results(operator, staged)
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
            homes=self._homes,
            combined=self._query.forms.combined(self._manifest.forms),
            processing_time=self._processing_time(),
        )

    def _apply(self, level: int, setting: EpochSetting) -> list[ResultFile]:
        """Run the apply operators of a level, and return their result files."""
        if not self._query.plan.applied_at(level):
            return []
        results = self._applied.run(level, self._streams, setting)
        self._observed.update(self._applied.observed)
        self._step("apply")
        return results

    def _ingest(self, level: Level, setting: EpochSetting) -> list[PartReport]:
        """Ingest the rows of a level, and return the task reports; none if no stream of the level has rows."""
        by_name = {name: self._streams.sql(name) for name in self._query.plan.streams_at(level.number)}
        streams: dict[str, StreamSql] = {name: sql for name, sql in by_name.items() if sql is not None}
        if not streams:
            return []
        fixed = all(self._query.is_fixed(name) for name in streams)
        observing = level.number == 0 and any(c.must_observe for c in self._query.counters.values())
        began = time.perf_counter()
        reports, observed = level.ingest(setting, self._streams, streams, self._state, fixed=fixed, observing=observing)
        self._sample(level, reports, time.perf_counter() - began)
        self._observed.update(observed)
        return reports

    def _write_counted(self) -> None:
        """Write the rows of a source that are only written. It happens before the sinks, because it counts them."""
        if not self._only_written:
            return
        self._outputs.stage_sources(self._stager)
        for plan in self._stager.plans:
            self._observed.update(read_observed(observed_metrics(self._streams.spark, plan)))
        for name, write in self._counted_writes.items():
            self._observed[name] = write.read(self._streams.spark)

    def _sample(self, level: Level, reports: Sequence[PartReport], seconds: float) -> None:
        """Note what the ingestion of window tables cost. The seconds of a stage tell of a table that is alone in it."""
        alone = len(level.tables) == 1 and not level.keyed
        for name in (t.name for t in level.tables):
            done = [r.tables[name] for r in reports if name in r.tables]
            rows, partials = sum(t.rows for t in done), sum(t.partials for t in done)
            self._samples[name] = IngestSample(self._epoch, rows, partials, seconds if alone else float("nan"))

    def _watermarks_after(self, before: Watermarks, counts: Mapping[str, SourceCounts]) -> Watermarks:
        """The newest event time minus the slack; a watermark never goes back."""
        after: dict[str, int | None] = {}
        for source in self._query.sources:
            seen = self._source_state(source.name, counts[source.name]).watermark(source.slack)
            after[source.name] = max((w for w in (before[source.name], seen) if w is not None), default=None)
        return with_clocks(after, self._query.plan.clocks)

    def _processing_time(self) -> int | None:
        """When Spark began the epoch, in microseconds; None if no state expires by processing time.

        It comes from Spark's offset log, so a repeated epoch has the same time.
        """
        if not any(t.process.ttl and t.process.clock == "processing" for t in self._query.plan.keyed.values()):
            return None
        began = batch_time(self._query.checkpoint.folder / "spark" / "offsets", self._epoch)
        return max(began, self._manifest.totals.get("processing_time", began))

    def _source_state(self, name: str, counts: SourceCounts) -> SourceState:
        """The state of a source after this epoch."""
        return counts.add_to(self._manifest.sources.get(name, SourceState()))

    def _write_sinks(self, before: Watermarks, counts: Mapping[str, SourceCounts]) -> None:
        """Write all sinks, and the rows to keep aside if there are any."""
        self._outputs.write(self._stager)
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
        2. Make the observation of the epoch, so that the manifest has the load of every shard, and learn what the rows
           of apply operators cost.
        3. Write the manifest: segments, watermarks, routing, counters, loads, costs. This write is the commit.
        """
        self._state.expire(self._query.plan.tables, after)
        self._observe(counts)
        self._query.homes.learn(self._state.reports, self._state.segments)
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
                loads={n: loads.to_text() for n, loads in self._query.observer.loads.items()},
                changes=tuple(changes[-_KEPT_CHANGES:]),
                learned=self._applied.learned(),
                traffic=after_epoch(self._manifest.traffic, self._traffic()),
                forms=self._query.forms.after(self._manifest.forms, self._samples),
                homes=dict(self._query.homes.homes),
            )
        )
        self._step("commit")

    def _observe(self, counts: Mapping[str, SourceCounts]) -> None:
        """Make the observation of this epoch, for the turn of the policy loop before the next one."""
        self._query.observer.observe(
            self._state.reports,
            self._counted,
            self._query.actuator.plan,
            epoch=self._epoch,
            time=time.monotonic(),
            rows=sum(c.rows for c in counts.values()),
            segments=self._state.segments,
            homes=self._homes,
        )

    def _traffic(self) -> dict[str, dict[str, float]]:
        """By window table, what the epoch measured of it."""
        seen: dict[str, dict[str, float]] = {}
        for report in self._state.reports:
            for name, done in report.tables.items():
                if name in self._query.plan.tables:
                    sums = seen.setdefault(name, {"partials": 0.0, "seconds": 0.0})
                    sums["partials"] += done.partials
                    sums["seconds"] += done.seconds
        return seen

    def _totals(self, counts: Mapping[str, SourceCounts]) -> dict[str, int]:
        """The counters since the checkpoint was created."""
        totals = Counter(self._manifest.totals)
        if (began := self._processing_time()) is not None:
            totals["processing_time"] = began
        totals.update(rows=sum(c.rows for c in counts.values()), results=sum(self._outputs.counts.values()))
        return dict(totals)

    def _finish(self, counts: Mapping[str, SourceCounts], now: float, seconds: float) -> None:
        """Complete the observation, since the latency of rows is known now; delete staged files; report the progress;
        ask Spark for its own.

        Args:
            counts: the counts of every source.
            now: the time of the commit, in microseconds since 1970.
            seconds: how long the epoch took.
        """
        self._query.meter.add(self._query.observer.commit(now), self._query.observer.points)
        self._outputs.discard()
        for report in self._state.reports:
            if report.damaged:
                files = ", ".join(report.damaged)
                self._query.decision_log.note(EventKind.DAMAGED, self._epoch, host=report.usage.host, files=files)
        committed = CommittedEpoch(
            epoch=self._epoch,
            counts=counts,
            reports=self._state.reports,
            applied=self._applied,
            routing=self._routing,
            homes=self._homes,
            results=self._outputs.counts,
            steps=self._steps,
            seconds=seconds,
            decisions=self._decisions,
            policy_failure=self._policy_failure,
        )
        self._query.on_progress(committed.progress(self._query))
        self._query.observer.fetch(self._query.epilogue.wanted)

    def _step(self, name: str) -> None:
        """Record how long a step took, and call the probe."""
        now = time.perf_counter()
        self._steps[name] = self._steps.get(name, 0.0) + now - self._clock
        self._clock = now
        self._query.probe(name)
