"""The reports of tasks to the driver: plain values, sent as one line of JSON per task."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.state.segments import Segment


@dataclass(kw_only=True)
class TableReport:
    """What a task did with one table.

    Attributes:
        segment: the segment it wrote; None if there was nothing to write.
        rows: rows received, including rows without event time.
        partials: partials received by a window table, or changed keys of a keyed table.
        late: rows that missed at least one window.
        dropped: rows that missed every window.
        nulls: rows without event time.
        max_time: newest event time, in microseconds; None if no row had one.
        arrivals: arrival times in microseconds with the number of rows at each, thinned.
    """

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
    """A file with results.

    Attributes:
        operator: the operator that they are from.
        file: name of the file in the operator's staging folder.
        rows: number of rows.
    """

    operator: str
    file: str
    rows: int


@dataclass
class PartReport:
    """What one task did.

    Attributes:
        component: the component of the task.
        slot: the slot of the task.
        seconds: duration of the task, without waiting for its input.
        tables: by table, what the task did with it.
        results: the result files that it wrote.
        shards: by shard, its useful seconds; shards without work are left out.
        hottest: the busiest key: its shard, the key in words and its share of the task's work; None if not known.
        fetched: bytes copied from the checkpoint to the node's cache.
        migrated: the part of ``fetched`` copied because shards moved to this slot.
    """

    component: str
    slot: int
    _: KW_ONLY
    seconds: float = 0.0
    tables: dict[str, TableReport] = field(default_factory=dict)
    results: list[ResultFile] = field(default_factory=list)
    shards: dict[int, float] = field(default_factory=dict)
    hottest: tuple[int, str, float] | None = None
    fetched: int = 0
    migrated: int = 0

    def spend(self, shards: Ints, seconds: float, measured: Floats | None = None) -> None:
        """Add seconds of work to the shards that caused it.

        Args:
            shards: the shard of every row.
            seconds: the seconds spent on all rows.
            measured: the measured seconds of every shard, if any. The rest is divided among shards by their rows.
        """
        if not len(shards):
            return
        rows = np.bincount(shards)
        measured_total = 0.0 if measured is None else float(measured.sum())
        by_shard = rows * (max(seconds - measured_total, 0.0) / len(shards))
        if measured is not None:
            by_shard = by_shard + measured[: len(by_shard)]
        for shard in np.flatnonzero(by_shard):
            self.shards[int(shard)] = self.shards.get(int(shard), 0.0) + round(float(by_shard[shard]), 7)

    def note_hottest(self, candidate: tuple[int, str, float]) -> None:
        """Keep the key with the largest share, if the task runs several operators."""
        if self.hottest is None or candidate[2] > self.hottest[2]:
            self.hottest = candidate

    def to_json(self) -> str:
        """The report as one line of JSON."""
        return json.dumps(self, default=_to_plain)

    @classmethod
    def from_json(cls, text: str) -> PartReport:
        """The report that ``to_json`` wrote."""
        value = json.loads(text)
        return cls(
            value["component"],
            value["slot"],
            seconds=value["seconds"],
            tables={name: _table_report(t) for name, t in value["tables"].items()},
            results=[ResultFile(**r) for r in value["results"]],
            shards={int(shard): seconds for shard, seconds in value["shards"].items()},
            hottest=tuple(value["hottest"]) if value["hottest"] else None,
            fetched=value["fetched"],
            migrated=value["migrated"],
        )


def _to_plain(value: Any) -> Any:
    return value.to_json() if isinstance(value, Segment) else vars(value)


def _table_report(value: dict[str, Any]) -> TableReport:
    report = TableReport(**value)
    if report.segment is not None:
        report.segment = Segment.from_json(value["segment"])
    return report
