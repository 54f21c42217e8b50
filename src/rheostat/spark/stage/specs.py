"""The instructions that the driver sends to the tasks of a stage: plain values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.planning.feeds import Feed
from rheostat.planning.tables import KeyedTable, WindowTable
from rheostat.state.files import Folder
from rheostat.state.segments import Segment


@dataclass(frozen=True, kw_only=True)
class WindowTableSpec:
    """What a stage does with a window table.

    Attributes:
        table: the table in the physical plan.
        folder: folder of its segments.
        segments: the live segments that the stage reads.
        fold: the segments to fold into the segment of this epoch.
        before: the watermark up to which windows have been closed; None before the first.
        after: the watermark up to which to close windows now; None in a stage that ingests.
    """

    table: WindowTable
    folder: Folder
    segments: tuple[Segment, ...]
    fold: tuple[Segment, ...] = ()
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, kw_only=True)
class KeyedTableSpec:
    """What a stage does with a keyed table.

    Attributes:
        table: the table in the physical plan.
        folder: folder of its segments.
        segments: all live segments, including those to fold.
        fold: the segments to fold into the segment of this epoch.
        before: the watermark up to which timers have been called; None before the first.
        after: the watermark up to which to call timers now; None in a stage that ingests.
        now: the time by which state expires, in microseconds; None if nothing expires.
    """

    table: KeyedTable
    folder: Folder
    segments: tuple[Segment, ...]
    fold: tuple[Segment, ...] = ()
    before: int | None = None
    after: int | None = None
    now: int | None = None


@dataclass(frozen=True, kw_only=True)
class StageSpec:
    """One stage of an epoch.

    Attributes:
        epoch: number of the epoch.
        parts: for every task, in the order of the partitions, its component and slot.
        routing: by component, the slot of every shard.
        tables: by component, its window tables.
        keyed: by component, its keyed tables.
        feeds: the feeds that the tasks receive; empty in a stage that closes windows.
        staging: by operator whose results are read, the folder for its result files.
        moved: by component, the shards whose slot differs from that in the previous epoch.
        head_starts: for every task, the seconds that it waits before it begins; empty if none waits.
    """

    epoch: int
    parts: tuple[tuple[str, int], ...]
    routing: Mapping[str, tuple[int, ...]]
    tables: Mapping[str, tuple[WindowTableSpec, ...]]
    keyed: Mapping[str, tuple[KeyedTableSpec, ...]]
    feeds: tuple[Feed, ...]
    staging: Mapping[str, Folder]
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    head_starts: tuple[float, ...] = ()
