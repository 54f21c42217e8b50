"""What Spark itself says about an epoch: its length, and how far sources are behind, from progress and offsets.

An offset means something else in every kind of source. Only where it counts rows is a number of rows made of it;
elsewhere the number is NaN.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

NAN = float("nan")


@dataclass(frozen=True, kw_only=True)
class SparkProgress:
    """Spark's progress of one epoch.

    Attributes:
        epoch: number of the epoch.
        seconds: from the moment Spark began the epoch to the moment it could begin the next.
        behind: rows that all sources had when the epoch's rows were chosen and did not hand over; NaN if unknown.
        sources: the sources as Spark describes them, in the order of the offset log.
    """

    epoch: int
    seconds: float
    behind: float
    sources: tuple[str, ...]

    @classmethod
    def from_json(cls, text: str) -> SparkProgress | None:
        """Return the progress that Spark wrote as JSON; None if it lacks what is needed.

        >>> text = '{"batchId": 3, "durationMs": {"triggerExecution": 250}, "sources": []}'
        >>> SparkProgress.from_json(text).seconds
        0.25
        """
        try:
            value = json.loads(text)
            return cls(
                epoch=int(value["batchId"]),
                seconds=float(value["durationMs"]["triggerExecution"]) / 1000,
                behind=sum((rows_behind(s) for s in value["sources"]), 0.0),
                sources=tuple(str(s["description"]) for s in value["sources"]),
            )
        except (KeyError, TypeError, ValueError):
            return None


def newest_progress(query: StreamingQuery, epoch: int | None = None) -> str | None:
    """Return Spark's newest progress of a query as JSON; None before the first.

    It is read from the JVM as it is: ``StreamingQuery.lastProgress`` would take it apart and put it together again.

    Args:
        query: Spark's query.
        epoch: the epoch that it has to be of; None to take any.
    """
    newest = query._jsq.lastProgress()
    if newest is None or (epoch is not None and newest.batchId() != epoch):
        return None
    return str(newest.json())


def rows_behind(source: dict[str, Any]) -> float:
    """Return the rows that a source had and did not hand over; NaN if its offsets do not say.

    Args:
        source: the source in Spark's progress.

    >>> kafka = {"description": "KafkaV2[Subscribe[a]]", "endOffset": {"a": {"0": 5}}, "latestOffset": {"a": {"0": 9}}}
    >>> rows_behind(kafka)
    4.0
    """
    kind, end, latest = str(source.get("description")), source.get("endOffset"), source.get("latestOffset")
    if kind.startswith("FileStreamSource") and (source.get("metrics") or {}).get("numFilesOutstanding") == "0":
        return 0.0
    if kind.startswith("RateStream") and end is not None and end == latest:
        return 0.0  # its offsets count seconds, and it hands over all of them
    return _rows_between(kind, end, latest)


def rows_between(sources: Sequence[str], before: Sequence[str], after: Sequence[str]) -> float:
    """Return the rows between two entries of the offset log; NaN if the offsets of some source do not count rows.

    Args:
        sources: the sources as Spark describes them.
        before: the offset of every source in the older entry, as JSON.
        after: the offset of every source in the newer entry.

    >>> rows_between(["TextSocketV2[host: a, port: 1]"], ["-1"], ["11"])
    12.0
    >>> rows_between(["FileStreamSource[file:/a]"], ['{"logOffset":1}'], ['{"logOffset":2}'])
    nan
    """
    if not len(sources) == len(before) == len(after):
        return NAN
    try:
        pairs = [(json.loads(a), json.loads(b)) for a, b in zip(before, after, strict=True)]
    except ValueError:
        return NAN
    return sum((_rows_between(kind, a, b) for kind, (a, b) in zip(sources, pairs, strict=True)), 0.0)


def _rows_between(kind: str, before: Any, after: Any) -> float:
    """Return the rows between two offsets of a source of a known kind; NaN if they do not count rows."""
    try:
        if kind.startswith("KafkaV2"):
            if {t: set(p) for t, p in before.items()} != {t: set(p) for t, p in after.items()}:
                return NAN  # a new partition begins at an offset that is not written here
            return float(sum(after[t][p] - before[t][p] for t in after for p in after[t]))
        if kind.startswith("TextSocketV2"):
            return float(after - before)
        if kind.startswith("RatePerMicroBatchStream"):
            return float(after["offset"] - before["offset"])
    except (AttributeError, KeyError, TypeError):
        pass
    return NAN
