"""One level of the dataflow in one epoch: ingest rows, then close windows and call timers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from rheostat.keyed.keyed_layout import WAKE
from rheostat.planning.feed_sql import feeds_sql, part_sql
from rheostat.planning.feeds import Feed, StreamSql, plan_feeds, stays_where_read
from rheostat.planning.tables import Component, KeyedTable, PhysicalPlan, WindowTable
from rheostat.spark.epoch.epoch_state import EpochSetting, EpochState
from rheostat.spark.epoch.source_counts import Observed, read_observed
from rheostat.spark.input.epoch_streams import EpochStreams, with_few_partitions
from rheostat.spark.stage.head_starts import head_starts, share_processors
from rheostat.spark.stage.plan_arrays import mark
from rheostat.spark.stage.planned_stages import PlannedStages, StageRun, run_once
from rheostat.spark.stage.specs import KeyedTableSpec, StageSpec, WindowTableSpec
from rheostat.spark.stage.stage import close_stage, ingest_stage, reading_stage
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport
from rheostat.state import compaction
from rheostat.state.files import Folder
from rheostat.state.segments import Segment


@dataclass(frozen=True, kw_only=True)
class Level:
    """One level of the dataflow: the tables that run in the same stages.

    Attributes:
        number: number of the level, from 0.
        plan: the plan of the topology.
        shards: the number of shards.
        folder_of: from the name of a table to the folder of its segments.
        stages: the Spark plans of stages that epochs have in common.
    """

    number: int
    plan: PhysicalPlan
    shards: int
    folder_of: Callable[[str], Folder]
    stages: PlannedStages

    @property
    def tables(self) -> list[WindowTable]:
        """The window tables of the level."""
        return self.plan.tables_at(self.number)

    @property
    def keyed(self) -> list[KeyedTable]:
        """The keyed tables of the level."""
        return self.plan.keyed_at(self.number)

    @property
    def components(self) -> list[Component]:
        """The components of the level."""
        return self.plan.components_at(self.number)

    def ingest(
        self,
        setting: EpochSetting,
        rows: EpochStreams,
        streams: Mapping[str, StreamSql],
        state: EpochState,
        *,
        fixed: bool,
        observing: bool,
    ) -> tuple[list[PartReport], dict[str, Observed]]:
        """Run the stage that ingests rows: they are aggregated to partials, and tasks write these as segments.

        Spark aggregates the rows of tables that are split, tasks those of tables that are combined.

        Args:
            setting: what all stages of the epoch share.
            rows: the rows of the epoch.
            streams: the streams that have rows, as SQL reads them.
            state: the state so far; the stage's segments are added to it.
            fixed: True if the same rows give the same in every epoch, so that Spark's plan can be used again.
            observing: True if rows are counted by ``SourceCounter.observe``.

        Returns:
            The task reports, and by source the counts of rows made by ``SourceCounter.observe``.
        """
        feeds = plan_feeds(self.plan, self.number, streams, setting.combined)
        leaf = rows.leaf(streams) if fixed else None
        if leaf is not None and feeds and stays_where_read(self.plan, self.number):
            slots = max(max(setting.routing[c.name]) + 1 for c in self.components)
            leaf, tasks = with_few_partitions(setting.spark, leaf, slots)
            if tasks:
                run = self._ingest_where_read(setting, rows, streams, state, feeds, leaf, tasks, observing=observing)
                return run.reports, read_observed(run.metrics) if observing else {}
            leaf = None  # nothing was read, and no task would fold segments
        run = self._ingest_by_slot(setting, rows, streams, state, feeds, leaf, observing=observing)
        return run.reports, read_observed(run.metrics) if observing else {}

    def _ingest_by_slot(
        self,
        setting: EpochSetting,
        rows: EpochStreams,
        streams: Mapping[str, StreamSql],
        state: EpochState,
        feeds: Sequence[Feed],
        leaf: Any,
        *,
        observing: bool,
    ) -> StageRun:
        """Send partials and rows to their slots, and ingest them there."""
        fold = self._to_fold(state)
        windows = self._windows_to_ingest(setting, state, fold)
        keyed = self._keyed_to_ingest(setting, state, fold)
        spec = self._spec(setting, self._parts(setting, self.components), windows, keyed, feeds)
        routes, hosts = self._routes(spec), setting.hosts_of(spec.parts)

        def build() -> DataFrame:
            rows.create_views()
            sql = feeds_sql(feeds, self.plan, streams, self._part_of(routes))
            return ingest_stage(setting.spark.sql(sql), len(spec.parts), self._by_name)

        if leaf is None:
            run = run_once(build(), spec, hosts=hosts, observing=observing)
        else:
            key = feeds_sql(feeds, self.plan, streams, lambda _: "any"), len(spec.parts)
            run = self.stages.run(
                self._name,
                key,
                build,
                spec,
                spark=setting.spark,
                rows=leaf,
                arrays=routes,
                hosts=hosts,
                observing=observing,
            )
        state.add(run.reports, fold)
        return run

    def _ingest_where_read(
        self,
        setting: EpochSetting,
        rows: EpochStreams,
        streams: Mapping[str, StreamSql],
        state: EpochState,
        feeds: Sequence[Feed],
        leaf: Any,
        tasks: int,
        *,
        observing: bool,
    ) -> StageRun:
        """Ingest partials in the tasks that read the rows."""
        (component,) = self.components
        fold = self._to_fold(state)
        windows = self._windows_to_ingest(setting, state, fold)
        spec = self._spec(setting, ((component.name, NO_SLOT),) * tasks, windows, {}, feeds)
        sql = feeds_sql(feeds, self.plan, streams, None)

        def build() -> DataFrame:
            rows.within_partitions().create_views()
            return reading_stage(setting.spark.sql(sql), self._by_name)

        run = self.stages.run(self._name, sql, build, spec, spark=setting.spark, rows=leaf, observing=observing)
        state.add(run.reports, fold)
        return run

    def _to_fold(self, state: EpochState) -> dict[str, tuple[Segment, ...]]:
        """By table, the segments to fold in this epoch."""
        fold = {t.name: compaction.choose(state.segments.get(t.name, ())) for t in self.tables}
        return fold | {t.name: compaction.choose_newest(state.segments.get(t.name, ())) for t in self.keyed}

    def close(self, setting: EpochSetting, after: Mapping[str, int | None], state: EpochState) -> list[PartReport]:
        """Run the stage that closes windows that have ended and calls timers that are due.

        Only the components that have any take part; without any, no stage runs.

        Args:
            setting: what all stages of the epoch share.
            after: by clock, the watermark up to which to close.
            state: the state so far; the stage's segments are added to it.

        Returns:
            The task reports.
        """
        windows = self._windows_to_close(setting, after, state)
        keyed = self._keyed_to_call(setting, after, state)
        components = [c for c in self.components if any(t in windows or t in keyed for t in c.tables)]
        if not components:
            return []
        spec = self._spec(setting, self._parts(setting, components), windows, keyed, [])
        slots = len(spec.parts)
        run = self.stages.run(
            f"close {self.number}",
            slots,
            lambda: close_stage(setting.spark, slots, self._by_name),
            spec,
            spark=setting.spark,
            hosts=setting.hosts_of(spec.parts),
        )
        state.add(run.reports, {})
        return run.reports

    def _windows_to_ingest(
        self, setting: EpochSetting, state: EpochState, fold: Mapping[str, tuple[Segment, ...]]
    ) -> dict[str, WindowTableSpec]:
        """The window tables of the level. Only those that emit updates read their live segments."""
        specs = {}
        for table in self.tables:
            live = tuple(s for s in state.segments.get(table.name, ()) if s not in fold[table.name])
            specs[table.name] = WindowTableSpec(
                table=table,
                folder=self.folder_of(table.name),
                segments=live if table.refreshes else (),
                fold=fold[table.name],
                before=setting.before[table.clock],
            )
        return specs

    def _keyed_to_ingest(
        self, setting: EpochSetting, state: EpochState, fold: Mapping[str, tuple[Segment, ...]]
    ) -> dict[str, KeyedTableSpec]:
        """The keyed tables of the level."""
        return {
            table.name: KeyedTableSpec(
                table=table,
                folder=self.folder_of(table.name),
                segments=state.segments.get(table.name, ()),
                fold=fold[table.name],
                before=setting.before[table.clock],
                now=setting.now(table),
            )
            for table in self.keyed
        }

    def _windows_to_close(
        self, setting: EpochSetting, after: Mapping[str, int | None], state: EpochState
    ) -> dict[str, WindowTableSpec]:
        """The window tables with windows that end between the old and the new watermark."""
        specs = {}
        for table in self.tables:
            before, until = setting.before[table.clock], after[table.clock]
            segments = state.segments.get(table.name, ())
            if until is not None and segments and table.plan.closes_any(before, until):
                specs[table.name] = WindowTableSpec(
                    table=table, folder=self.folder_of(table.name), segments=segments, before=before, after=until
                )
        return specs

    def _keyed_to_call(
        self, setting: EpochSetting, after: Mapping[str, int | None], state: EpochState
    ) -> dict[str, KeyedTableSpec]:
        """The keyed tables that may have timers between the old and the new watermark."""
        specs = {}
        for table in self.keyed:
            before, until = setting.before[table.clock], after[table.clock]
            segments = state.segments.get(table.name, ())
            if until is not None and _any_due(segments, before, until):
                specs[table.name] = KeyedTableSpec(
                    table=table,
                    folder=self.folder_of(table.name),
                    segments=segments,
                    before=before,
                    after=until,
                    now=setting.now(table),
                )
        return specs

    def _parts(self, setting: EpochSetting, components: Sequence[Component]) -> tuple[tuple[str, int], ...]:
        """The component and slot of every task."""
        parts = [(c.name, slot) for c in components for slot in range(max(setting.routing[c.name]) + 1)]
        # Spark starts tasks in the order of their partitions: begin with the longest, so that it does not end last.
        return tuple(sorted(parts, key=lambda part: -setting.expected.get(part, 0.0)))

    def _spec(
        self,
        setting: EpochSetting,
        parts: tuple[tuple[str, int], ...],
        windows: Mapping[str, WindowTableSpec],
        keyed: Mapping[str, KeyedTableSpec],
        feeds: Sequence[Feed],
    ) -> StageSpec:
        components = [c for c in self.components if c.name in {name for name, _ in parts}]
        context = setting.spark.sparkContext
        together = bool(feeds) and share_processors(
            len(parts),
            master=str(context.master),
            at_once=context.defaultParallelism,
            processors=os.cpu_count() or 1,
        )
        return StageSpec(
            epoch=setting.epoch,
            parts=parts,
            routing={c.name: setting.routing[c.name] for c in components},
            tables={c.name: tuple(windows[t] for t in c.tables if t in windows) for c in components},
            keyed={c.name: tuple(keyed[t] for t in c.tables if t in keyed) for c in components},
            feeds=tuple(feeds),
            staging=setting.staging,
            moved=setting.moved,
            head_starts=head_starts([setting.expected.get(part, 0.0) for part in parts]) if together else (),
        )

    @property
    def _name(self) -> str:
        """Name of the stage that ingests rows."""
        return f"ingest {self.number}"

    @property
    def _by_name(self) -> dict[str, WindowTable | KeyedTable]:
        """All tables of the level by name."""
        windows: dict[str, WindowTable | KeyedTable] = {t.name: t for t in self.tables}
        return windows | {t.name: t for t in self.keyed}

    def _routes(self, spec: StageSpec) -> list[list[int]]:
        """By component, the partition of every shard. Nothing if there is only one partition."""
        if len(spec.parts) == 1:
            return []
        number = {part: i for i, part in enumerate(spec.parts)}
        return [[number[c.name, slot] for slot in spec.routing[c.name]] for c in self.components]

    def _part_of(self, routes: Sequence[Sequence[int]]) -> Callable[[str], str]:
        """A function from the name of a table to Spark SQL for the partition of a row."""
        component_of = {t: i for i, c in enumerate(self.components) for t in c.tables}

        def part(table: str) -> str:
            component = component_of[table]
            return part_sql(self.shards, [*routes[component], mark(component)]) if routes else "0"

        return part


def _any_due(segments: Sequence[Segment], before: int | None, until: int) -> bool:
    """True if some key may have a timer in ``(before, until]``, judged by the spans of the segments."""
    spans = [s.spans[WAKE] for s in segments if WAKE in s.spans]
    return any(first <= until and (before is None or last > before) for first, last in spans)
