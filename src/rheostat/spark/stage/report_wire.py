"""Reports on their way to the driver: lines of text, each short enough for one message.

The driver reads them through Py4J, which sends a longer text in two writes. The second waits until the first has been
acknowledged, which the operating system delays by 40 ms; and Py4J decodes bytes one by one. So a report is compressed,
written as text and cut into lines.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator
from typing import Protocol

import pyarrow as pa

from rheostat.spark.stage.task_reports import PartReport, TaskUsage

LENGTH = 8_000
"""Characters of a line at most; Py4J sends up to 8,192 in one write."""

_MORE, _LAST = "+", "."
_HEAD = struct.Struct("<II")  # bytes of the whole report, and of its text
_CODEC = pa.Codec("zstd", compression_level=1)


class WiredReport(Protocol):
    """The report of a task, which says how it travels."""

    seconds: float
    usage: TaskUsage

    def to_wire(self) -> tuple[str, bytes]:
        """The report as text and bytes."""


def to_lines(report: WiredReport) -> list[str]:
    """The lines of a report; the first character of each says whether more follow."""
    text, shards = report.to_wire()
    encoded = text.encode()
    data = encoded + shards
    body = base64.b64encode(_HEAD.pack(len(data), len(encoded)) + _CODEC.compress(data, asbytes=True)).decode()
    step = LENGTH - 1
    parts = [body[i : i + step] for i in range(0, len(body), step)]
    return [(_MORE if i + 1 < len(parts) else _LAST) + part for i, part in enumerate(parts)]


def from_lines(lines: Iterable[str]) -> Iterator[PartReport]:
    """The reports of stages with tables, in the lines of all tasks, in order.

    >>> lines = [*to_lines(PartReport("by key", 0)), *to_lines(PartReport("by key", 1))]
    >>> [(report.component, report.slot) for report in from_lines(lines)]
    [('by key', 0), ('by key', 1)]
    """
    return (PartReport.from_wire(text, data) for text, data in unpacked(lines))


def unpacked(lines: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """What ``to_wire`` gave of every report, in the lines of all tasks, in order."""
    parts: list[str] = []
    for line in lines:
        parts.append(line[1:])
        if line[0] == _LAST:
            packed = base64.b64decode("".join(parts))
            size, end = _HEAD.unpack_from(packed)
            data = _CODEC.decompress(packed[_HEAD.size :], size, asbytes=True)
            yield data[:end].decode(), data[end:]
            parts = []
