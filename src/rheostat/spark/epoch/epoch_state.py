"""The values that the stages of an epoch share: its setting, which is fixed, and its state, which grows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from rheostat.planning.tables import KeyedTable, WindowTable
from rheostat.spark.stage.task_reports import PartReport
from rheostat.state.files import Folder
from rheostat.state.segments import Segment


@dataclass
class EpochState:
    """The state after the epoch, built up stage by stage.

    Attributes:
        segments: by table, its live segments, oldest first.
        reports: the task reports of all stages so far.
    """

    segments: dict[str, tuple[Segment, ...]]
    reports: list[PartReport] = field(default_factory=list)

    def add(self, reports: Sequence[PartReport], folded: Mapping[str, tuple[Segment, ...]]) -> None:
        """Add the segments that a stage wrote, and remove those that it folded.

        Args:
            reports: the task reports of the stage.
            folded: by table, the segments that the new ones replace.
        """
        self.reports += reports
        for table, replaced in folded.items():
            self.segments[table] = tuple(s for s in self.segments.get(table, ()) if s not in replaced)
        for report in reports:
            for table, table_report in report.tables.items():
                if table_report.segment is not None:
                    self.segments[table] = (*self.segments.get(table, ()), table_report.segment)

    def expire(self, tables: Mapping[str, WindowTable], watermarks: Mapping[str, int | None]) -> None:
        """Remove segments that no window will read any more.

        Args:
            tables: the window tables of the topology.
            watermarks: by clock, the watermark up to which windows have been closed.
        """
        for name, segments in self.segments.items():
            if name not in tables:
                continue
            plan, watermark = tables[name].plan, watermarks[tables[name].clock]
            if watermark is not None:
                self.segments[name] = tuple(
                    s for s in segments if any(plan.expiry(g, last) > watermark for g, (_, last) in s.spans.items())
                )


@dataclass(frozen=True, kw_only=True)
class EpochSetting:
    """What all stages of an epoch share.

    Attributes:
        epoch: number of the epoch.
        spark: the session of the epoch.
        before: by clock, the watermark up to which windows have been closed and timers called.
        routing: by component, the slot of every shard.
        staging: by operator whose results are read, the folder for its result files.
        moved: by component, the shards whose slot differs from that in the previous epoch.
        expected: by component and slot, the expected useful seconds.
        homes: by component, the host that each slot prefers; empty if that does not matter.
        combined: names of the tables whose rows are aggregated by tasks, and not by Spark.
        processing_time: when Spark began the epoch, in microseconds, the same if the epoch is repeated; None if no
            state expires by processing time.
    """

    epoch: int
    spark: SparkSession
    before: Mapping[str, int | None]
    routing: Mapping[str, tuple[int, ...]]
    staging: Mapping[str, Folder]
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    expected: Mapping[tuple[str, int], float] = field(default_factory=dict)
    homes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    combined: Collection[str] = ()
    processing_time: int | None = None

    def hosts_of(self, parts: Sequence[tuple[str, int]]) -> list[str]:
        """For every task the host that it prefers, empty text if it has none; an empty list if no component has homes.

        Args:
            parts: for every task, its component and slot.
        """
        if not self.homes:
            return []
        return [self.homes[name][slot] if name in self.homes else "" for name, slot in parts]

    def now(self, table: KeyedTable) -> int | None:
        """The time by which the state of a table expires, in microseconds: its watermark or the processing time."""
        return self.before[table.clock] if table.process.clock == "event" else self.processing_time
