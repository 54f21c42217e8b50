"""One level of the dataflow in one epoch: take partials in, then close what the watermark has passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from rheostat.keyed.keyed_layout import WAKE
from rheostat.planning.feeds import Feed, StreamSql, feeds_sql, part_sql, plan_feeds
from rheostat.planning.physical import Component, KeyedTable, PhysicalPlan, WindowTable
from rheostat.spark.input.counts import Observed
from rheostat.spark.stage.specs import KeyedTableSpec, PartReport, StageSpec, WindowTableSpec
from rheostat.spark.stage.stage import run_close, run_ingest
from rheostat.state import compaction
from rheostat.state.files import Folder
from rheostat.state.segments import Segment


@dataclass
class EpochState:
    """The segments as the epoch leaves them, built up stage by stage."""

    segments: dict[str, tuple[Segment, ...]]
    reports: list[PartReport] = field(default_factory=list)

    def add(self, reports: Sequence[PartReport], folded: Mapping[str, tuple[Segment, ...]]) -> None:
        """Take a stage's new segments in, and the ones they replace out."""
        self.reports += reports
        for table, gone in folded.items():
            self.segments[table] = tuple(s for s in self.segments.get(table, ()) if s not in gone)
        for report in reports:
            for table, did in report.tables.items():
                if did.segment is not None:
                    self.segments[table] = (*self.segments.get(table, ()), did.segment)

    def expire(self, tables: Mapping[str, WindowTable], watermarks: Mapping[str, int | None]) -> None:
        """Drop segments of which no window will ever read anything."""
        for name, segments in self.segments.items():
            if name not in tables:
                continue
            plan, watermark = tables[name].plan, watermarks[tables[name].source]
            if watermark is not None:
                self.segments[name] = tuple(
                    s for s in segments if any(plan.expiry(g, last) > watermark for g, (_, last) in s.spans.items())
                )


@dataclass(frozen=True)
class EpochSetting:
    """What all stages of an epoch share.

    Attributes:
        before: per clock, the watermark up to which windows have been closed and timers called.
        routing: per component, the slot of every shard.
        staging: per operator whose results are read, where they go.
        moved: per component, the shards that belong to another slot than in the epoch before.
        expected: per component and slot, the useful seconds it will probably take.
        processing_time: when Spark began the epoch, in microseconds; the same if the epoch is repeated.
    """

    epoch: int
    spark: SparkSession
    before: Mapping[str, int | None]
    routing: Mapping[str, tuple[int, ...]]
    staging: Mapping[str, Folder]
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    expected: Mapping[tuple[str, int], float] = field(default_factory=dict)
    processing_time: int | None = None

    def now(self, table: KeyedTable) -> int | None:
        """What a table's time to live is measured by."""
        return self.before[table.source] if table.process.clock == "event" else self.processing_time


@dataclass(frozen=True)
class Level:
    """The tables that run in one stage, and how to address their slots."""

    number: int
    plan: PhysicalPlan
    shards: int
    folder_of: Callable[[str], Folder]

    @property
    def tables(self) -> list[WindowTable]:
        return self.plan.tables_at(self.number)

    @property
    def keyed(self) -> list[KeyedTable]:
        return self.plan.keyed_at(self.number)

    @property
    def components(self) -> list[Component]:
        return self.plan.components_at(self.number)

    def ingest(
        self, setting: EpochSetting, streams: Mapping[str, StreamSql], state: EpochState
    ) -> tuple[list[PartReport], dict[str, Observed]]:
        """Aggregate rows to partials in the JVM and let every slot write its own; also what was observed on the way."""
        feeds = plan_feeds(self.plan, self.number, streams)
        fold = {t.name: compaction.choose(state.segments.get(t.name, ())) for t in self.tables}
        specs = {}
        for table in self.tables:
            live = tuple(s for s in state.segments.get(table.name, ()) if s not in fold[table.name])
            reads = live if any(o.emit == "update" for o in table.outputs) else ()
            specs[table.name] = WindowTableSpec(
                table, self.folder_of(table.name), reads, fold[table.name], before=setting.before[table.source]
            )
        keyed = {}
        for owner in self.keyed:
            segments = state.segments.get(owner.name, ())
            fold[owner.name] = compaction.choose_newest(segments)
            before, now = setting.before[owner.source], setting.now(owner)
            folder = self.folder_of(owner.name)
            keyed[owner.name] = KeyedTableSpec(owner, folder, segments, fold[owner.name], before, now=now)
        spec = self._spec(setting, self.components, specs, keyed, feeds)
        sql = feeds_sql(feeds, self.plan, streams, self._part_of(spec))
        reports, observed = run_ingest(setting.spark.sql(sql), spec)
        state.add(reports, fold)
        return reports, observed

    def close(self, setting: EpochSetting, after: Mapping[str, int | None], state: EpochState) -> list[PartReport]:
        """Close windows that have ended and call timers that are due; nothing runs if there are none."""
        specs = {}
        for table in self.tables:
            before, until = setting.before[table.source], after[table.source]
            segments = state.segments.get(table.name, ())
            if until is not None and segments and table.plan.closes_any(before, until):
                folder = self.folder_of(table.name)
                specs[table.name] = WindowTableSpec(table, folder, segments, before=before, after=until)
        keyed = {}
        for owner in self.keyed:
            before, until = setting.before[owner.source], after[owner.source]
            segments = state.segments.get(owner.name, ())
            if until is not None and _any_due(segments, before, until):
                folder = self.folder_of(owner.name)
                keyed[owner.name] = KeyedTableSpec(owner, folder, segments, (), before, until, setting.now(owner))
        closing = [c for c in self.components if any(t in specs or t in keyed for t in c.tables)]
        if not closing:
            return []
        reports = run_close(setting.spark, self._spec(setting, closing, specs, keyed, []))
        state.add(reports, {})
        return reports

    def _spec(
        self,
        setting: EpochSetting,
        components: Sequence[Component],
        specs: Mapping[str, WindowTableSpec],
        keyed: Mapping[str, KeyedTableSpec],
        feeds: Sequence[Feed],
    ) -> StageSpec:
        routing = setting.routing
        # Spark starts tasks in the order of their partitions: the longest first, so that it does not end last.
        parts = [(c.name, slot) for c in components for slot in range(max(routing[c.name]) + 1)]
        return StageSpec(
            setting.epoch,
            tuple(sorted(parts, key=lambda part: -setting.expected.get(part, 0.0))),
            {c.name: routing[c.name] for c in components},
            {c.name: tuple(specs[t] for t in c.tables if t in specs) for c in components},
            {c.name: tuple(keyed[t] for t in c.tables if t in keyed) for c in components},
            tuple(feeds),
            setting.staging,
            setting.moved,
        )

    def _part_of(self, spec: StageSpec) -> Callable[[str], str]:
        number = {part: i for i, part in enumerate(spec.parts)}
        component_of = {t: c.name for c in self.components for t in c.tables}

        def part(table: str) -> str:
            component = component_of[table]
            return part_sql(self.shards, [number[component, slot] for slot in spec.routing[component]])

        return part


def _any_due(segments: Sequence[Segment], before: int | None, until: int) -> bool:
    """Whether some key may have a timer in ``(before, until]``, by the spans of the segments."""
    spans = [s.spans[WAKE] for s in segments if WAKE in s.spans]
    return any(first <= until and (before is None or last > before) for first, last in spans)
