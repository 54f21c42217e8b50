"""The reports of tasks to the driver: one line of JSON per task, and bytes with what was measured of every shard."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.spark.stage.shard_tally import RECORD, Records, ShardTally
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
        seconds: useful seconds of a window table whose placement matters, that is, in a task with a slot.
        held: on the driver, the rows of every shard in the segment, up to the last that has any; None if unknown.
    """

    segment: Segment | None = None
    rows: int = 0
    partials: int = 0
    late: int = 0
    dropped: int = 0
    nulls: int = 0
    max_time: int | None = None
    seconds: float = 0.0
    held: npt.NDArray[np.int32] | None = None


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


@dataclass(frozen=True, kw_only=True)
class TaskUsage:
    """What a task used, and where it ran.

    Attributes:
        cpu: seconds of a core that its process used during the task.
        queued: seconds in which it was ready to run and had no processor, because others had them; NaN if unknown.
        memory: largest resident memory of the process so far, in bytes.
        host: the host as Spark names it.
        executor: id of the Spark executor; empty if unknown.
        machine: the machine's own name; several hosts of Spark may be one machine.
        processors: processors of the machine that the process may use.
    """

    cpu: float = float("nan")
    queued: float = float("nan")
    memory: float = float("nan")
    host: str = ""
    executor: str = ""
    machine: str = ""
    processors: int = 0


NO_SLOT = -1
"""The slot of a task that reads rows of all shards, whatever their routing."""


@dataclass(eq=False)
class PartReport:
    """What one task did.

    A task creates the report before it reads its input, and fills it in this order:

    1. For every feed, ``tally.receive`` with the shard, the number of rows and the arrival time of what it received.
    2. For every table, ``tables[name]``, and ``tally.spend`` with the shards that its work was for.
    3. ``tally.spread`` with the seconds of reading and decoding the input, which belong to all rows.
    4. ``seconds``, ``reading`` and ``usage``.

    Then ``to_wire`` gives what travels to the driver, where ``from_wire`` restores the report with ``shards`` filled.

    Attributes:
        component: the component of the task.
        slot: the slot of the task. ``NO_SLOT`` if no placement of shards changes what the task does: its rows count by
            shard, but its seconds belong to reading and not to the work of the component's slots.
        seconds: duration of the task, including the time to read its input.
        reading: the part of it until all input was read.
        tables: by table, what the task did with it.
        results: the result files that it wrote.
        hottest: the busiest key: its shard, the key in words and its share of the task's work; None if not known.
        fetched: bytes copied from the checkpoint to the node's cache.
        migrated: the part of ``fetched`` copied because shards moved to this slot.
        copied: the segments that were copied.
        damaged: those of them that were copied because the copy in the cache was damaged.
        usage: what the task used, and where it ran.
        shards: on the driver, one record for every shard with rows or work.
        tally: in the task, what was measured of every shard so far.
    """

    component: str
    slot: int
    _: KW_ONLY
    seconds: float = 0.0
    reading: float = 0.0
    tables: dict[str, TableReport] = field(default_factory=dict)
    results: list[ResultFile] = field(default_factory=list)
    hottest: tuple[int, str, float] | None = None
    fetched: int = 0
    migrated: int = 0
    copied: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    usage: TaskUsage = TaskUsage()
    shards: Records = field(default_factory=lambda: np.zeros(0, RECORD))
    tally: ShardTally = field(default_factory=ShardTally)

    @property
    def useful(self) -> float:
        """On the driver, the useful seconds of all shards."""
        return float(self.shards["seconds"].sum())

    def note_hottest(self, candidate: tuple[int, str, float]) -> None:
        """Keep the key with the largest share, if the task runs several operators."""
        if self.hottest is None or candidate[2] > self.hottest[2]:
            self.hottest = candidate

    def to_wire(self) -> tuple[str, bytes]:
        """The report as one line of JSON, and its shards as bytes."""
        held = [(n, t.segment.held) for n, t in self.tables.items() if t.segment and t.segment.held is not None]
        value = {name: v for name, v in vars(self).items() if name not in ("shards", "tally")}
        value["held"] = {name: len(rows) for name, rows in held}
        parts = [self.tally.records().tobytes(), *(rows.astype("<i4").tobytes() for _, rows in held)]
        return json.dumps(value, default=_to_plain), b"".join(parts)

    @classmethod
    def from_wire(cls, text: str, data: bytes) -> PartReport:
        """The report that ``to_wire`` wrote."""
        value = json.loads(text)
        tables = {name: _table_report(t) for name, t in value["tables"].items()}
        end = len(data)
        for name, length in reversed(value["held"].items()):
            end -= 4 * length
            tables[name].held = np.frombuffer(data, "<i4", length, end)
        return cls(
            value["component"],
            value["slot"],
            seconds=value["seconds"],
            reading=value["reading"],
            tables=tables,
            results=[ResultFile(**r) for r in value["results"]],
            hottest=tuple(value["hottest"]) if value["hottest"] else None,
            fetched=value["fetched"],
            migrated=value["migrated"],
            copied=value["copied"],
            damaged=value["damaged"],
            usage=TaskUsage(**value["usage"]),
            shards=np.frombuffer(data[:end], RECORD),
        )


def _to_plain(value: Any) -> Any:
    return value.to_json() if isinstance(value, Segment) else vars(value)


def _table_report(value: dict[str, Any]) -> TableReport:
    report = TableReport(**value)
    if report.segment is not None:
        report.segment = Segment.from_json(value["segment"])
    return report
