"""What the driver tells the tasks of a stage, and what they report back: plain values only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rheostat.planning.feeds import Feed
from rheostat.planning.physical import Table
from rheostat.state.files import Folder
from rheostat.state.segments import Segment


@dataclass(frozen=True)
class TableSpec:
    """A table in one epoch.

    Attributes:
        folder: where its segments are.
        segments: the live ones, as far as the stage needs them.
        fold: those to be folded into this epoch's segment.
        before: the watermark up to which windows have been closed; None before the first.
        after: the watermark up to which to close them now; None while rows are taken in.
    """

    table: Table
    folder: Folder
    segments: tuple[Segment, ...]
    fold: tuple[Segment, ...] = ()
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True)
class StageSpec:
    """A stage of an epoch.

    Attributes:
        parts: for every task, the component and the slot it works for.
        routing: per component, the slot of every shard.
        tables: per component, its tables.
        staging: per consolidate operator, where result files go.
    """

    epoch: int
    parts: tuple[tuple[str, int], ...]
    routing: Mapping[str, tuple[int, ...]]
    tables: Mapping[str, tuple[TableSpec, ...]]
    feeds: tuple[Feed, ...]
    staging: Mapping[str, Folder]

    def component_of(self, table: str) -> str:
        """The component a table belongs to."""
        return next(c for c, tables in self.tables.items() if any(t.table.name == table for t in tables))


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
    """What a task did."""

    component: str
    slot: int
    seconds: float = 0.0
    tables: dict[str, TableReport] = field(default_factory=dict)
    results: list[ResultFile] = field(default_factory=list)

    def to_json(self) -> str:
        """As a line that travels through Spark."""
        return json.dumps(self, default=_plain)

    @classmethod
    def from_json(cls, text: str) -> PartReport:
        """What ``to_json`` wrote."""
        value = json.loads(text)
        tables = {name: _table_report(t) for name, t in value["tables"].items()}
        results = [ResultFile(**r) for r in value["results"]]
        return cls(value["component"], value["slot"], value["seconds"], tables, results)


def _plain(value: Any) -> Any:
    return value.to_json() if isinstance(value, Segment) else vars(value)


def _table_report(value: dict[str, Any]) -> TableReport:
    report = TableReport(**value)
    if report.segment is not None:
        report.segment = Segment.from_json(value["segment"])
    return report
