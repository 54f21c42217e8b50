"""What the tasks of a stage report to the driver: plain values that travel as one line of JSON per task."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.state.segments import Segment


@dataclass(kw_only=True)
class TableReport:
    """What a task did to a table.

    Attributes:
        segment: the segment it wrote; None if there was nothing to write.
        rows: rows that came in, including those without event time.
        partials: partials, or changed keys, that were taken in.
        late: rows that missed a window.
        dropped: late rows that missed every window.
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
    """A file of results.

    Attributes:
        operator: the operator that gave them.
        file: name of the file in the operator's staging folder.
        rows: number of rows.
    """

    operator: str
    file: str
    rows: int


@dataclass
class PartReport:
    """What a task did.

    Attributes:
        component: the component it worked for.
        slot: the slot it worked for.
        seconds: how long it worked, without waiting for rows.
        tables: per table, what it did.
        results: the result files it wrote.
        shards: per shard, useful seconds, where the work of shards can be told apart.
        hottest: shard, key and share of the task's work of its busiest key; None if it is not known.
        fetched: bytes copied from the checkpoint to the node's cache.
        migrated: bytes of ``fetched`` that were copied because shards moved to this slot.
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
        """Count seconds towards shards.

        Args:
            shards: the shard of every row.
            seconds: the seconds spent on all rows.
            measured: per shard, the seconds that were measured; the rest is spread over shards by their rows.
        """
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
        """The report as a line that travels through Spark."""
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
