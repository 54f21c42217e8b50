"""One level of the dataflow in one epoch: take partials in, then close what the watermark has passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from rheostat.planning.feeds import Feed, StreamSql, feeds_sql, plan_feeds, slot_sql
from rheostat.planning.physical import Component, PhysicalPlan, Table
from rheostat.spark.counts import Observed
from rheostat.spark.specs import PartReport, StageSpec, TableSpec
from rheostat.spark.stages import run_close, run_ingest
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

    def expire(self, tables: Mapping[str, Table], watermarks: Mapping[str, int | None]) -> None:
        """Drop segments of which no window will ever read anything."""
        for name, segments in self.segments.items():
            plan, watermark = tables[name].plan, watermarks[tables[name].source]
            if watermark is not None:
                self.segments[name] = tuple(
                    s for s in segments if any(plan.expiry(g, last) > watermark for g, (_, last) in s.spans.items())
                )


@dataclass(frozen=True)
class EpochSetting:
    """What all stages of an epoch share.

    Attributes:
        before: per source, the watermark up to which windows have been closed.
        routing: per component, the slot of every shard.
        staging: per consolidate operator whose results are read, where they go.
    """

    epoch: int
    spark: SparkSession
    before: Mapping[str, int | None]
    routing: Mapping[str, tuple[int, ...]]
    staging: Mapping[str, Folder]


@dataclass(frozen=True)
class Level:
    """The tables that run in one stage, and how to address their slots."""

    number: int
    plan: PhysicalPlan
    shards: int
    folder_of: Callable[[str], Folder]

    @property
    def tables(self) -> list[Table]:
        return self.plan.tables_at(self.number)

    @property
    def components(self) -> list[Component]:
        return self.plan.components_at(self.number)

    def ingest(
        self, setting: EpochSetting, streams: Mapping[str, StreamSql], state: EpochState
    ) -> tuple[list[PartReport], dict[str, Observed]]:
        """Aggregate rows to partials in the JVM and let every slot write its own; also what was observed on the way."""
        feeds = plan_feeds(self.tables, streams)
        fold = {t.name: compaction.choose(state.segments.get(t.name, ())) for t in self.tables}
        specs = {}
        for table in self.tables:
            live = tuple(s for s in state.segments.get(table.name, ()) if s not in fold[table.name])
            reads = live if any(o.emit == "update" for o in table.outputs) else ()
            specs[table.name] = TableSpec(
                table, self.folder_of(table.name), reads, fold[table.name], before=setting.before[table.source]
            )
        spec = self._spec(setting, self.components, specs, feeds)
        sql = feeds_sql(feeds, self.plan.tables, streams, self._part_sql(spec))
        reports, observed = run_ingest(setting.spark.sql(sql), spec)
        state.add(reports, fold)
        return reports, observed

    def close(self, setting: EpochSetting, after: Mapping[str, int | None], state: EpochState) -> list[PartReport]:
        """Close the windows of tables that have some to close; nothing runs if there are none."""
        specs = {}
        for table in self.tables:
            before, until = setting.before[table.source], after[table.source]
            segments = state.segments.get(table.name, ())
            if until is not None and segments and table.plan.closes_any(before, until):
                folder = self.folder_of(table.name)
                specs[table.name] = TableSpec(table, folder, segments, before=before, after=until)
        closing = [c for c in self.components if any(t in specs for t in c.tables)]
        if not closing:
            return []
        reports = run_close(setting.spark, self._spec(setting, closing, specs, []))
        state.add(reports, {})
        return reports

    def _spec(
        self,
        setting: EpochSetting,
        components: Sequence[Component],
        specs: Mapping[str, TableSpec],
        feeds: Sequence[Feed],
    ) -> StageSpec:
        routing = setting.routing
        return StageSpec(
            setting.epoch,
            tuple((c.name, slot) for c in components for slot in range(max(routing[c.name]) + 1)),
            {c.name: routing[c.name] for c in components},
            {c.name: tuple(specs[t] for t in c.tables if t in specs) for c in components},
            tuple(feeds),
            setting.staging,
        )

    def _part_sql(self, spec: StageSpec) -> Callable[[Table], str]:
        first = {c: spec.parts.index((c, 0)) for c in spec.routing}

        def part(table: Table) -> str:
            component = spec.component_of(table.name)
            return slot_sql(self.shards, spec.routing[component], first[component])

        return part
