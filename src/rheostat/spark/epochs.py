"""One epoch, from Spark's micro-batch to a commit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from rheostat.errors import CheckpointError
from rheostat.planning.feeds import StreamSql, passes
from rheostat.planning.physical import PhysicalPlan
from rheostat.planning.results import result_schema
from rheostat.spark.asides import rows_aside
from rheostat.spark.counts import Counts, Observed, SourceCounter
from rheostat.spark.levels import EpochSetting, EpochState, Level
from rheostat.spark.progress import Progress, latency_of
from rheostat.spark.rows import EpochRows
from rheostat.spark.sinks import Staged, staging_folder, write_sinks
from rheostat.spark.specs import PartReport
from rheostat.spark.stages import EPOCH_CONF, explained
from rheostat.state.checkpoint import Checkpoint
from rheostat.state.files import Folder
from rheostat.state.manifest import SourceState
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Consolidate, Source
from rheostat.topology.sinks import ParquetSink, Sink
from rheostat.topology.types import micros_sql
from rheostat.windows.partials import quoted

Probe = Callable[[str], None]
"""Called with the name of every step that is done; tests make epochs fail there."""


class EpochRunner:
    """Runs epochs: the function that Spark calls with every micro-batch.

    Attributes:
        failure: what made the last epoch fail, as the user should see it.
    """

    def __init__(
        self,
        graph: Graph,
        plan: PhysicalPlan,
        checkpoint: Checkpoint,
        topology: Mapping[str, Mapping[str, object]],
        routing: Mapping[str, tuple[int, ...]],
        on_progress: Callable[[Progress], None],
        probe: Probe,
    ) -> None:
        self._graph = graph
        self._plan = plan
        self._checkpoint = checkpoint
        self._topology = topology
        self._routing = routing
        self._on_progress = on_progress
        self._probe = probe
        self._sources = [n for n in graph.nodes.values() if isinstance(n, Source)]
        self._counters = {s.name: SourceCounter(graph, plan, s, s.frame) for s in self._sources}
        self._configured = False
        self.failure: BaseException | None = None

    def __call__(self, batch: DataFrame, epoch: int) -> None:
        """One epoch, in this order:

        1. If the epoch is already committed, Spark only failed to note it: there is nothing to do.
        2. Level by level: take partials in, move the watermark, close windows into staged results.
        3. Write the sinks, which are idempotent by epoch.
        4. Commit: write the manifest. Up to here nothing counted; from here on everything does.
        """
        try:
            self._run(batch, epoch)
        except BaseException as error:
            self.failure = explained(error)
            raise

    def _run(self, batch: DataFrame, epoch: int) -> None:
        done = self._checkpoint.manifest.epoch
        if epoch == done:
            return
        if epoch != done + 1:
            raise CheckpointError(
                f"Spark wants to run epoch {epoch}, but the newest manifest in {self._checkpoint.folder.uri} is of "
                f"epoch {done}: spark/ and epochs/ are of different times; restore both from the same copy"
            )
        self._configure(batch)
        work = _Epoch(self, batch, epoch)
        try:
            work.run()
        finally:
            work.rows.release()

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
    """The work of one epoch; a short-lived companion of the runner."""

    def __init__(self, runner: EpochRunner, batch: DataFrame, epoch: int) -> None:
        self._r = runner
        self._epoch = epoch
        self._before = runner._checkpoint.manifest
        self._spark = batch.sparkSession
        self._steps: dict[str, float] = {}
        self._clock = time.perf_counter()
        self._began = self._clock
        self._state = EpochState(dict(self._before.tables))
        self._observed: dict[str, Observed] = {}
        self._staging = self._staging_folders()
        self.rows = EpochRows(runner._graph, batch)

    def run(self) -> None:
        plan, manifest = self._r._plan, self._before
        before = {s.name: manifest.watermarks.get(s.name) for s in self._r._sources}
        setting = EpochSetting(self._epoch, self._spark, before, self._r._routing, self._staging)
        after = before
        counts: dict[str, Counts] = {}
        self._count_passes()
        for number in range(max(plan.levels, 1)):
            level = Level(number, plan, self._r._checkpoint.shards, self._r._checkpoint.table_folder)
            streams = self._streams(level)
            reports: list[PartReport] = []
            if streams:
                reports, observed = level.ingest(setting, streams, self._state)
                self._observed.update(observed)
            if number == 0:
                counts = self._counts(reports)
                after = self._watermarks(before, counts)
            self._step("ingest")
            closed = level.close(setting, after, self._state)
            self._stage([*reports, *closed])
            self._step("close")
        self._write_sinks(before, counts)
        self._step("sinks")
        self._commit(counts, after)

    def _count_passes(self) -> None:
        """Decide whether rows are kept in memory, and where they are counted."""
        graph, plan = self._r._graph, self._r._plan
        level_0 = plan.tables_at(0)
        plain = [s for s in graph.sinks if not s.aside and isinstance(graph.origin_of(s.upstream), Source)]
        total = passes(level_0) + len(plain)
        observed = [c for c in self._r._counters.values() if c.must_observe]
        if total > 1 or len(self._r._sources) > 1 or not level_0:
            self.rows.keep()
            for name, counter in self._r._counters.items():
                if counter.must_observe:
                    self._observed[name] = counter.count(self.rows.stream(name))
        elif observed:
            (source,) = self._r._sources
            self.rows.replace(source.name, observed[0].observe(self.rows.stream(source.name)))

    def _streams(self, level: Level) -> dict[str, StreamSql]:
        """The rows that the tables of a level read, as far as there are some."""
        streams = {}
        for upstream in dict.fromkeys(t.upstream for t in level.tables):
            origin = self._r._graph.origin_of(upstream)
            if isinstance(origin, Source):
                arrival = None
                if origin.arrival_time and origin.arrival_time in self.rows.stream(upstream).columns:
                    arrival = micros_sql(quoted(origin.arrival_time), origin.arrival_time_type or "timestamp")
                streams[upstream] = StreamSql(self.rows.view(upstream), arrival)
            elif origin.name in self.rows.results:
                streams[upstream] = StreamSql(self.rows.view(upstream))
        return streams

    def _counts(self, reports: Iterable[PartReport]) -> dict[str, Counts]:
        counts = {}
        for name, counter in self._r._counters.items():
            counts[name] = counter.counts(reports, self._observed.get(name))
        return counts

    def _watermarks(self, before: Mapping[str, int | None], counts: Mapping[str, Counts]) -> dict[str, int | None]:
        """Newest event time minus slack, never going back."""
        after = {}
        for source in self._r._sources:
            newest = self._source_state(source.name, counts[source.name]).max_time
            seen = None if newest is None else newest - source.slack
            known = [w for w in (before[source.name], seen) if w is not None]
            after[source.name] = max(known, default=None)
        return after

    def _source_state(self, name: str, counts: Counts) -> SourceState:
        old = self._before.sources.get(name, SourceState())
        times = [t for t in (old.max_time, counts.max_time) if t is not None]
        return SourceState(
            max(times, default=None),
            old.rows + counts.rows,
            old.late + counts.late,
            old.dropped + counts.dropped,
            old.nulls + counts.nulls,
        )

    def _staging_folders(self) -> dict[str, Folder]:
        """Where results go first, for every consolidate operator that anything reads."""
        graph, folders = self._r._graph, {}
        read = {t.upstream for t in self._r._plan.tables.values()} | {s.upstream for s in graph.sinks}
        for node in graph.nodes.values():
            if isinstance(node, Consolidate) and any(_begins_with(graph, r, node.name) for r in read):
                folders[node.name] = self._staging_for(node.name)
        return folders

    def _staging_for(self, stream: str, sinks: list[Sink] | None = None) -> Folder:
        given = self._sinks_of(stream) if sinks is None else sinks
        folder = staging_folder(given, self._r._checkpoint.folder / "results" / stream, self._epoch)
        folder.create()
        return folder

    def _sinks_of(self, stream: str, *, aside: bool = False) -> list[Sink]:
        return [s.sink for s in self._r._graph.sinks if s.upstream == stream and s.aside == aside]

    def _stage(self, reports: Iterable[PartReport]) -> None:
        """Gather the result files of a level."""
        files: dict[str, list[tuple[str, int]]] = {}
        for report in reports:
            for result in report.results:
                files.setdefault(result.operator, []).append((result.file, result.rows))
        for operator, written in files.items():
            schema = _schema_of(self._r._plan, operator)
            names, rows = tuple(f for f, _ in written), sum(n for _, n in written)
            self.rows.results[operator] = Staged(self._staging[operator], names, rows, schema)

    def _write_sinks(self, before: Mapping[str, int | None], counts: Mapping[str, Counts]) -> None:
        graph = self._r._graph
        for stream in dict.fromkeys(s.upstream for s in graph.sinks if not s.aside):
            staged = self.rows.results.get(stream)
            if staged is None and not isinstance(graph.nodes[stream], Consolidate):
                staged = self._staged_rows(stream)
            if staged is not None and staged.rows:
                write_sinks(stream, self._sinks_of(stream), staged, self._epoch, self._spark)
        for source in self._r._sources:
            late = source.late == "aside" and counts[source.name].late > 0
            nulls = source.nulls == "aside" and counts[source.name].nulls > 0
            if late or nulls:
                self._keep_aside(source, before[source.name], late=late, nulls=nulls)

    def _staged_rows(self, stream: str) -> Staged | None:
        """A stream without windows, written to staging by Spark itself."""
        origin = self._r._graph.origin_of(stream)
        if isinstance(origin, Consolidate) and origin.name not in self.rows.results:
            return None
        return _written(self.rows.stream(stream), self._staging_for(stream))

    def _keep_aside(self, source: Source, watermark: int | None, *, late: bool, nulls: bool) -> None:
        default: Sink = ParquetSink((self._r._checkpoint.folder / "aside" / source.name).uri)
        sinks = self._sinks_of(source.name, aside=True) or [default]
        time_sql = micros_sql(quoted(source.event_time), source.event_time_type)
        tables = [t for t in self._r._plan.tables_at(0) if t.source == source.name]
        rows = rows_aside(self.rows.stream(source.name), time_sql, tables, watermark, late=late, nulls=nulls)
        staged = _written(rows, self._staging_for(f"{source.name} aside", sinks))
        if staged.rows:
            write_sinks(f"{source.name} aside", sinks, staged, self._epoch, self._spark)

    def _commit(self, counts: Mapping[str, Counts], after: Mapping[str, int | None]) -> None:
        checkpoint = self._r._checkpoint
        self._state.expire(self._r._plan.tables, after)
        results = {name: staged.rows for name, staged in self.rows.results.items()}
        totals = Counter(self._before.totals)
        totals.update({"rows": sum(c.rows for c in counts.values()), "results": sum(results.values())})
        checkpoint.commit(
            self._before.at(
                self._epoch,
                topology=self._r._topology,
                sources={n: self._source_state(n, c) for n, c in counts.items()},
                watermarks=dict(after),
                routing=dict(self._r._routing),
                tables=self._state.segments,
                totals=dict(totals),
            )
        )
        for name in (checkpoint.folder / "results").names():
            (checkpoint.folder / "results").delete_folder(name)
        self._step("commit")
        self._r._on_progress(self._progress(counts, results))

    def _progress(self, counts: Mapping[str, Counts], results: Mapping[str, int]) -> Progress:
        manifest = self._r._checkpoint.manifest
        reports = self._state.reports
        arrivals = [point for r in reports for t in r.tables.values() for point in t.arrivals]
        seconds: dict[str, list[float]] = {}
        for report in reports:
            slots = seconds.setdefault(report.component, [0.0] * (max(self._r._routing[report.component]) + 1))
            slots[report.slot] += report.seconds
        return Progress(
            self._epoch,
            sum(c.rows for c in counts.values()),
            sum(c.late for c in counts.values()),
            sum(c.dropped for c in counts.values()),
            sum(c.nulls for c in counts.values()),
            sum(t.partials for r in reports for t in r.tables.values()),
            results,
            manifest.watermarks,
            manifest.state_bytes,
            manifest.state_rows,
            time.perf_counter() - self._began,
            self._steps,
            seconds,
            latency_of(arrivals, time.time() * 1e6),
        )

    def _step(self, name: str) -> None:
        """Note how long a step took, and let tests interfere."""
        now = time.perf_counter()
        self._steps[name] = self._steps.get(name, 0.0) + now - self._clock
        self._clock = now
        self._r._probe(name)


def _begins_with(graph: Graph, stream: str, operator: str) -> bool:
    return stream == operator or graph.origin_of(stream).name == operator


def _schema_of(plan: PhysicalPlan, operator: str) -> str:
    for table in plan.tables.values():
        for output in table.outputs:
            if output.operator == operator:
                types = {c.name.removeprefix("k."): c.type for c in table.layout.keys}
                return ", ".join(f"{quoted(n)} {t}" for n, t in result_schema(output, types).items())
    raise KeyError(operator)


def _written(rows: DataFrame, folder: Folder) -> Staged:
    rows.write.mode("overwrite").parquet(folder.spark_uri)
    files = tuple(n for n in folder.names() if n.endswith(".parquet"))
    count = sum(pq.read_metadata(folder.path(f), filesystem=folder.filesystem).num_rows for f in files)
    schema = ", ".join(f"{quoted(n)} {t}" for n, t in rows.dtypes)
    return Staged(folder, files, count, schema)
