"""What the driver tells the tasks of a stage: plain values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.planning.feeds import Feed
from rheostat.planning.tables import KeyedTable, WindowTable
from rheostat.state.files import Folder
from rheostat.state.segments import Segment


@dataclass(frozen=True, kw_only=True)
class WindowTableSpec:
    """A window table in one stage.

    Attributes:
        table: the table as it was planned.
        folder: where its segments are.
        segments: the live segments that the stage reads.
        fold: the segments to fold into this epoch's segment.
        before: the watermark up to which windows have been closed; None before the first.
        after: the watermark up to which to close them now; None while partials are taken in.
    """

    table: WindowTable
    folder: Folder
    segments: tuple[Segment, ...]
    fold: tuple[Segment, ...] = ()
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, kw_only=True)
class KeyedTableSpec:
    """A keyed table in one stage.

    Attributes:
        table: the table as it was planned.
        folder: where its segments are.
        segments: all live segments, including those to be folded.
        fold: the segments to fold into this epoch's segment.
        before: the watermark up to which timers have been called; None before the first.
        after: the watermark up to which to call them now; None while rows are taken in.
        now: the time that time to live is measured by, in microseconds; None if nothing expires.
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
    """A stage of an epoch.

    Attributes:
        epoch: number of the epoch.
        parts: for every task, the component and the slot it works for.
        routing: per component, the slot of every shard.
        tables: per component, its window tables.
        keyed: per component, its keyed tables.
        feeds: what travels to the tasks; empty when windows are closed.
        staging: per operator whose results are read, the folder for its result files.
        moved: per component, the shards that belong to another slot than in the epoch before.
    """

    epoch: int
    parts: tuple[tuple[str, int], ...]
    routing: Mapping[str, tuple[int, ...]]
    tables: Mapping[str, tuple[WindowTableSpec, ...]]
    keyed: Mapping[str, tuple[KeyedTableSpec, ...]]
    feeds: tuple[Feed, ...]
    staging: Mapping[str, Folder]
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
