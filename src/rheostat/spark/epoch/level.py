"""One level of the dataflow in one epoch: ingest rows, then close windows and call timers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rheostat.keyed.keyed_layout import WAKE
from rheostat.planning.feed_sql import feeds_sql, part_sql
from rheostat.planning.feeds import Feed, StreamSql, plan_feeds
from rheostat.planning.tables import Component, KeyedTable, PhysicalPlan, WindowTable
from rheostat.spark.epoch.epoch_state import EpochSetting, EpochState
from rheostat.spark.epoch.source_counts import Observed, read_observed
from rheostat.spark.stage.head_starts import head_starts, share_processors
from rheostat.spark.stage.specs import KeyedTableSpec, StageSpec, WindowTableSpec
from rheostat.spark.stage.stage import close_stage, collect_reports, ingest_stage
from rheostat.spark.stage.task_reports import PartReport
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
    """

    number: int
    plan: PhysicalPlan
    shards: int
    folder_of: Callable[[str], Folder]

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
        self, setting: EpochSetting, streams: Mapping[str, StreamSql], state: EpochState
    ) -> tuple[list[PartReport], dict[str, Observed]]:
        """Run the stage that ingests rows: the JVM aggregates them to partials, and each slot writes its own.

        Args:
            setting: what all stages of the epoch share.
            streams: the streams that have rows.
            state: the state so far; the stage's segments are added to it.

        Returns:
            The task reports, and by source the counts of rows made by ``SourceCounter.observe``.
        """
        feeds = plan_feeds(self.plan, self.number, streams)
        fold = {t.name: compaction.choose(state.segments.get(t.name, ())) for t in self.tables}
        fold |= {t.name: compaction.choose_newest(state.segments.get(t.name, ())) for t in self.keyed}
        windows = self._windows_to_ingest(setting, state, fold)
        keyed = self._keyed_to_ingest(setting, state, fold)
        spec = self._spec(setting, self.components, windows, keyed, feeds)
        sql = feeds_sql(feeds, self.plan, streams, self._part_of(spec))
        stage = ingest_stage(setting.spark.sql(sql), spec)
        reports = collect_reports(stage)
        state.add(reports, fold)
        return reports, read_observed(stage)

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
        reports = collect_reports(close_stage(setting.spark, self._spec(setting, components, windows, keyed, [])))
        state.add(reports, {})
        return reports

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

    def _spec(
        self,
        setting: EpochSetting,
        components: Sequence[Component],
        windows: Mapping[str, WindowTableSpec],
        keyed: Mapping[str, KeyedTableSpec],
        feeds: Sequence[Feed],
    ) -> StageSpec:
        routing = setting.routing
        # Spark starts tasks in the order of their partitions: begin with the longest, so that it does not end last.
        slots = [(c.name, slot) for c in components for slot in range(max(routing[c.name]) + 1)]
        parts = sorted(slots, key=lambda part: -setting.expected.get(part, 0.0))
        context = setting.spark.sparkContext
        together = bool(feeds) and share_processors(
            len(parts),
            master=str(context.master),
            at_once=context.defaultParallelism,
            processors=os.cpu_count() or 1,
        )
        return StageSpec(
            epoch=setting.epoch,
            parts=tuple(parts),
            routing={c.name: routing[c.name] for c in components},
            tables={c.name: tuple(windows[t] for t in c.tables if t in windows) for c in components},
            keyed={c.name: tuple(keyed[t] for t in c.tables if t in keyed) for c in components},
            feeds=tuple(feeds),
            staging=setting.staging,
            moved=setting.moved,
            head_starts=head_starts([setting.expected.get(part, 0.0) for part in parts]) if together else (),
        )

    def _part_of(self, spec: StageSpec) -> Callable[[str], str]:
        """A function from the name of a table to Spark SQL for the partition of a row."""
        number = {part: i for i, part in enumerate(spec.parts)}
        component_of = {t: c.name for c in self.components for t in c.tables}

        def part(table: str) -> str:
            component = component_of[table]
            return part_sql(self.shards, [number[component, slot] for slot in spec.routing[component]])

        return part


def _any_due(segments: Sequence[Segment], before: int | None, until: int) -> bool:
    """True if some key may have a timer in ``(before, until]``, judged by the spans of the segments."""
    spans = [s.spans[WAKE] for s in segments if WAKE in s.spans]
    return any(first <= until and (before is None or last > before) for first, last in spans)
