"""What the driver tells the tasks of a stage, and what they report back: plain values only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.planning.feeds import Feed
from rheostat.planning.physical import KeyedTable, WindowTable
from rheostat.state.files import Folder
from rheostat.state.segments import Segment


@dataclass(frozen=True)
class WindowTableSpec:
    """A table in one epoch.

    Attributes:
        folder: where its segments are.
        segments: the live ones, as far as the stage needs them.
        fold: those to be folded into this epoch's segment.
        before: the watermark up to which windows have been closed; None before the first.
        after: the watermark up to which to close them now; None while rows are taken in.
    """

    table: WindowTable
    folder: Folder
    segments: tuple[Segment, ...]
    fold: tuple[Segment, ...] = ()
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True)
class KeyedTableSpec:
    """A keyed table in one epoch.

    Attributes:
        segments: all live segments, those to be folded among them.
        fold: those to be folded into this epoch's segment.
        before: the watermark up to which timers have been called; None before the first.
        after: the watermark up to which to call them now; None while rows are taken in.
        now: what time to live is measured by.
    """

    table: KeyedTable
    folder: Folder
    segments: tuple[Segment, ...]
    fold: tuple[Segment, ...] = ()
    before: int | None = None
    after: int | None = None
    now: int | None = None


@dataclass(frozen=True)
class StageSpec:
    """A stage of an epoch.

    Attributes:
        parts: for every task, the component and the slot it works for.
        routing: per component, the slot of every shard.
        tables: per component, its tables.
        keyed: per component, its keyed tables.
        staging: per operator with results, where result files go.
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


@dataclass
class TableReport:
    """What a task did to a table."""

    segment: Segment | None = None
    rows: int = 0
    partials: int = 0
    late: int = 0
    dropped: int = 0
    nulls: int = 0
    max_time: int | None = None
    arrivals: list[tuple[float, int]] = field(default_factory=list)


@dataclass
class ResultFile:
    """A file of results: its name in the operator's staging folder, and its rows."""

    operator: str
    file: str
    rows: int


@dataclass
class PartReport:
    """What a task did.

    Attributes:
        seconds: how long it worked, without waiting for rows.
        shards: the same by shard, where work can be told apart: useful seconds.
        hottest: shard, key and share of the task's work of its busiest key; None if it is not known.
        fetched: bytes copied from the checkpoint to the node's cache; ``migrated`` of them because shards moved here.
    """

    component: str
    slot: int
    seconds: float = 0.0
    tables: dict[str, TableReport] = field(default_factory=dict)
    results: list[ResultFile] = field(default_factory=list)
    shards: dict[int, float] = field(default_factory=dict)
    hottest: tuple[int, str, float] | None = None
    fetched: int = 0
    migrated: int = 0

    def spend(
        self, shards: npt.NDArray[np.int64], seconds: float, measured: npt.NDArray[np.float64] | None = None
    ) -> None:
        """Count seconds towards the shards of rows: what was measured by shard, and the rest by rows."""
        if not len(shards):
            return
        rows = np.bincount(shards)
        known = 0.0 if measured is None else float(measured.sum())
        spread = rows * (max(seconds - known, 0.0) / len(shards))
        if measured is not None:
            spread = spread + measured[: len(spread)]
        for shard in np.flatnonzero(spread):
            self.shards[int(shard)] = self.shards.get(int(shard), 0.0) + round(float(spread[shard]), 7)

    def note_hottest(self, found: tuple[int, str, float]) -> None:
        """Remember the busiest key of the busiest operator."""
        if self.hottest is None or found[2] > self.hottest[2]:
            self.hottest = found

    def to_json(self) -> str:
        """As a line that travels through Spark."""
        return json.dumps(self, default=_plain)

    @classmethod
    def from_json(cls, text: str) -> PartReport:
        """What ``to_json`` wrote."""
        value = json.loads(text)
        tables = {name: _table_report(t) for name, t in value["tables"].items()}
        results = [ResultFile(**r) for r in value["results"]]
        shards = {int(shard): seconds for shard, seconds in value["shards"].items()}
        hottest = tuple(value["hottest"]) if value["hottest"] else None
        return cls(
            value["component"],
            value["slot"],
            value["seconds"],
            tables,
            results,
            shards,
            hottest,
            value["fetched"],
            value["migrated"],
        )


def _plain(value: Any) -> Any:
    return value.to_json() if isinstance(value, Segment) else vars(value)


def _table_report(value: dict[str, Any]) -> TableReport:
    report = TableReport(**value)
    if report.segment is not None:
        report.segment = Segment.from_json(value["segment"])
    return report
