"""The report of a task of an apply operator: what it wrote, and what its rows cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from rheostat.spark.stage.task_reports import ResultFile, TaskUsage


@dataclass
class ApplyReport:
    """What one task of an apply operator did.

    Attributes:
        slot: the slot of the task.
        rows: rows received.
        seconds: duration of the task, including the time to read its input.
        useful: the part of it in the user's function.
        results: the result files that it wrote.
        sketch: the costs of its rows by item, as ``posg.serial.to_text`` writes them; empty if not measured.
        usage: what the task used, and where it ran.

    >>> report = ApplyReport(slot=2, rows=10, useful=0.5)
    >>> ApplyReport.from_wire(*report.to_wire()) == report
    True
    """

    slot: int
    rows: int = 0
    seconds: float = 0.0
    useful: float = 0.0
    results: list[ResultFile] = field(default_factory=list)
    sketch: str = ""
    usage: TaskUsage = field(default_factory=lambda: TaskUsage(cpu=0.0, queued=0.0, memory=0.0))

    def to_wire(self) -> tuple[str, bytes]:
        """The report as one line of JSON; it has no bytes."""
        return json.dumps(vars(self), default=vars), b""

    @classmethod
    def from_wire(cls, text: str, data: bytes) -> ApplyReport:  # noqa: ARG003 - the same for all reports
        """The report that ``to_wire`` wrote."""
        value = json.loads(text)
        results = [ResultFile(**result) for result in value["results"]]
        return cls(**{**value, "results": results, "usage": TaskUsage(**value["usage"])})
