"""One epoch, from Spark's micro-batch to a commit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from pyspark.sql import DataFrame

from rheostat.elastic.routing.balance import imbalance
from rheostat.errors import CheckpointError, RheostatError
from rheostat.planning.feeds import StreamSql, passes
from rheostat.spark.actuator import EpochRouting
from rheostat.spark.epoch.clocks import batch_time, with_clocks
from rheostat.spark.epoch.job import Job
from rheostat.spark.epoch.level import EpochSetting, EpochState, Level
from rheostat.spark.input.counts import Counts, Observed, rows_by_shard
from rheostat.spark.input.rows import EpochRows
from rheostat.spark.output.outputs import EpochOutputs
from rheostat.spark.progress import Progress, latency_of
from rheostat.spark.stage.specs import PartReport
from rheostat.spark.stage.stage import EPOCH_CONF, explained
from rheostat.state.manifest import SourceState
from rheostat.topology.nodes import Source
from rheostat.types import micros_sql
from rheostat.windows.partials import quoted

_CHANGES = 100
"""How many changes of routing a manifest remembers."""


class _StoppedError(RheostatError):
    """An epoch was given up because its query is being stopped.

    Spark knows such an error by words in its message (SPARK-39218). It looks for them with an expression that overflows
    its stack if the Java error that came of the stop, with all its causes, is left in the message.
    """

    def __init__(self) -> None:
        super().__init__(
            "the query is being stopped: py4j.protocol.Py4JJavaError: An error occurred while calling an epoch: "
            "java.lang.InterruptedException"
        )


class EpochRunner:
    """Runs epochs: the function that Spark calls with every micro-batch.

    Attributes:
        failure: what made the last epoch fail, as the user should see it.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._configured = False
        self._stopping = False
        self.failure: BaseException | None = None

    def give_up(self) -> None:
        """The query is about to be stopped: if an epoch under way fails now, Spark is told that this is why."""
        self._stopping = True

    def __call__(self, batch: DataFrame, epoch: int) -> None:
        """Run an epoch that has not been committed yet; Spark may not have noted that it has."""
        try:
            if epoch != self._job.checkpoint.manifest.epoch:
                self._check_next(epoch)
                self._configure(batch)
                _Epoch(self._job, batch, epoch).run()
        except BaseException as error:
            self.failure = explained(error)
            if self._stopping:
                raise _StoppedError from None
            raise

    def _check_next(self, epoch: int) -> None:
        done = self._job.checkpoint.manifest.epoch
        if epoch != done + 1:
            raise CheckpointError(
                f"Spark wants to run epoch {epoch}, but the newest manifest in {self._job.checkpoint.folder.uri} is of "
                f"epoch {done}: spark/ and epochs/ are of different times; restore both from the same copy"
            )

    def _configure(self, batch: DataFrame) -> None:
        """Settings for the session that Spark made for this query; the user's own is not touched."""
        if self._configured:
            return
        conf = batch.sparkSession.conf
        for name, value in EPOCH_CONF.items():
            conf.set(name, value)
        conf.set("spark.sql.shuffle.partitions", str(batch.sparkSession.sparkContext.defaultParallelism))
        self._configured = True


class _Epoch:
    """The work of one epoch."""

    def __init__(self, job: Job, batch: DataFrame, epoch: int) -> None:
        self._job = job
        self._epoch = epoch
        self._manifest = job.checkpoint.manifest
        self._began = self._clock = time.perf_counter()
        self._steps: dict[str, float] = {}
        self._state = EpochState(dict(self._manifest.tables))
        self._observed: dict[str, Observed] = {}
        self._rows = EpochRows(job.graph, batch)
        self._outputs = EpochOutputs(job, epoch, self._rows)
        self._turn = EpochRouting(routing=job.actuator.routing)
        self._counted: dict[str, dict[int, int]] = {}

    def run(self) -> None:
        """One epoch, in this order:

        0. Fix the routing, which may differ from the last epoch's.
        1. Level by level: take partials in, move the watermark, close windows into staged results.
        2. Write the sinks, which are idempotent by epoch.
        3. Commit: write the manifest. Up to here nothing counted; from here on everything does.
        """
        try:
            self._run()
        finally:
            self._rows.release()

    def _run(self) -> None:
        job = self._job
        self._prepare()
        self._turn = self._routed()
        before = with_clocks({s.name: self._manifest.watermarks.get(s.name) for s in job.sources}, job.plan.clocks)
        setting = EpochSetting(
            self._epoch,
            self._rows.spark,
            before,
            self._turn.routing,
            self._outputs.staging,
            self._turn.moved,
            self._turn.expected,
            self._processing_time(),
        )
        counts, after = {s.name: Counts() for s in job.sources}, before
        for number in range(max(job.plan.levels, 1)):
            level = Level(number, job.plan, job.checkpoint.shards, job.checkpoint.table_folder)
            streams = self._streams(level)
            reports: list[PartReport] = []
            if streams:
                reports, observed = level.ingest(setting, streams, self._state)
                self._observed.update(observed)
            if number == 0:
                counts = {n: c.counts(reports, self._observed.get(n)) for n, c in job.counters.items()}
                after = self._watermarks(before, counts)
            self._step("ingest")
            self._outputs.stage([*reports, *level.close(setting, after, self._state)])
            self._step("close")
        self._outputs.write(before, counts)
        self._step("sinks")
        self._commit(counts, after)

    def _routed(self) -> EpochRouting:
        """One turn of the loop, with what the last epoch measured; then the routing of this epoch is fixed."""
        job = self._job
        seen, loads = job.observer.before(self._counted), job.observer.expected(self._counted)
        turn = job.loop.turn(seen, job.actuator.plan, loads)
        return job.actuator.begin(self._epoch, turn, loads)

    def _observe(self, counts: Mapping[str, Counts]) -> None:
        """What this epoch measured, for the turn before the next one."""
        self._job.observer.observe(
            self._state.reports,
            self._counted,
            self._job.actuator.plan,
            epoch=self._epoch,
            time=time.monotonic(),
            seconds=time.perf_counter() - self._began,
            rows=sum(c.rows for c in counts.values()),
        )

    def _prepare(self) -> None:
        """Keep the rows in memory if they are read more than once, and count them where they must be."""
        graph, reads = self._job.graph, passes(self._job.plan, 0)
        plain = [s for s in graph.sinks if not s.aside and isinstance(graph.origin_of(s.upstream), Source)]
        observed = {n: c for n, c in self._job.counters.items() if c.must_observe}
        ahead = self._job.loop.control.policy.ahead and reads > 0
        if reads + len(plain) + ahead > 1 or len(self._job.sources) > 1 or reads == 0:
            self._rows.keep()
            self._observed = {name: counter.count(self._rows.stream(name)) for name, counter in observed.items()}
        else:
            for name, counter in observed.items():
                self._rows.replace(name, counter.observe(self._rows.stream(name)))
        if ahead:
            self._counted = rows_by_shard(self._job.plan, self._job.checkpoint.shards, self._rows)

    def _streams(self, level: Level) -> dict[str, StreamSql]:
        """The rows that the tables of a level read, as far as there are some."""
        streams = {}
        read = [t.upstream for t in level.tables] + [u for t in level.keyed for u in t.process.upstreams]
        for upstream in dict.fromkeys(read):
            origin = self._job.graph.origin_of(upstream)
            if isinstance(origin, Source):
                arrival = None
                if origin.arrival_time and origin.arrival_time in self._rows.stream(upstream).columns:
                    arrival = micros_sql(quoted(origin.arrival_time), origin.arrival_time_type or "timestamp")
                streams[upstream] = StreamSql(self._rows.view(upstream), arrival)
            elif origin.name in self._rows.results:
                streams[upstream] = StreamSql(self._rows.view(upstream))
        return streams

    def _watermarks(self, before: Mapping[str, int | None], counts: Mapping[str, Counts]) -> dict[str, int | None]:
        """Newest event time minus slack, never going back."""
        after: dict[str, int | None] = {}
        for source in self._job.sources:
            seen = self._source_state(source.name, counts[source.name]).watermark(source.slack)
            after[source.name] = max((w for w in (before[source.name], seen) if w is not None), default=None)
        return with_clocks(after, self._job.plan.clocks)

    def _processing_time(self) -> int | None:
        """When Spark began the epoch, if any state expires by it; from Spark's log, so a repetition has the same."""
        if not any(t.process.ttl and t.process.clock == "processing" for t in self._job.plan.keyed.values()):
            return None
        began = batch_time(self._job.checkpoint.folder / "spark" / "offsets", self._epoch)
        return max(began, self._manifest.totals.get("processing_time", began))

    def _source_state(self, name: str, counts: Counts) -> SourceState:
        old = self._manifest.sources.get(name, SourceState())
        return SourceState(
            max((t for t in (old.max_time, counts.max_time) if t is not None), default=None),
            old.rows + counts.rows,
            old.late + counts.late,
            old.dropped + counts.dropped,
            old.nulls + counts.nulls,
        )

    def _commit(self, counts: Mapping[str, Counts], after: Mapping[str, int | None]) -> None:
        job = self._job
        self._state.expire(job.plan.tables, after)
        totals = Counter(self._manifest.totals)
        if (began := self._processing_time()) is not None:
            totals["processing_time"] = began
        totals.update(rows=sum(c.rows for c in counts.values()), results=sum(self._outputs.counts.values()))
        self._observe(counts)
        changes = [*self._manifest.changes, *(c.to_json() for c in self._turn.changes)]
        job.checkpoint.commit(
            self._manifest.at(
                self._epoch,
                topology=job.recorded,
                sources={n: self._source_state(n, c) for n, c in counts.items()},
                watermarks=dict(after),
                routing=dict(self._turn.routing),
                tables=self._state.segments,
                totals=dict(totals),
                loads={n: loads.to_pairs() for n, loads in job.observer.loads.items()},
                changes=tuple(changes[-_CHANGES:]),
            )
        )
        self._outputs.discard()
        self._step("commit")
        job.on_progress(self._progress(counts))

    def _progress(self, counts: Mapping[str, Counts]) -> Progress:
        manifest, reports = self._job.checkpoint.manifest, self._state.reports
        tables = self._job.plan.tables
        # What operators gave too late for the windows after them; what sources gave too late is in the counts.
        after = [did for r in reports for t, did in r.tables.items() if t in tables and tables[t].level > 0]
        arrivals = [point for r in reports for t in r.tables.values() for point in t.arrivals]
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
            slot_seconds=self._slot_seconds(reports),
            imbalance=self._imbalance(reports),
            hottest=self._job.observer.hottest,
            hot=self._turn.hot,
            changes=self._turn.changes,
            fetched_bytes=sum(r.fetched for r in reports),
            migrated_bytes=sum(r.migrated for r in reports),
            latency=latency_of(arrivals, time.time() * 1e6),
        )

    def _slot_seconds(self, reports: Iterable[PartReport]) -> dict[str, list[float]]:
        seconds: dict[str, list[float]] = {}
        for report in reports:
            slots = max(self._turn.routing[report.component]) + 1
            seconds.setdefault(report.component, [0.0] * slots)[report.slot] += report.seconds
        return seconds

    def _imbalance(self, reports: Iterable[PartReport]) -> dict[str, float]:
        useful: dict[str, list[float]] = {}
        for report in reports:
            slots = max(self._turn.routing[report.component]) + 1
            useful.setdefault(report.component, [0.0] * slots)[report.slot] += sum(report.shards.values())
        return {name: round(imbalance(np.array(seconds)), 3) for name, seconds in useful.items()}

    def _step(self, name: str) -> None:
        """Note how long a step took, and let tests interfere."""
        now = time.perf_counter()
        self._steps[name] = self._steps.get(name, 0.0) + now - self._clock
        self._clock = now
        self._job.probe(name)
