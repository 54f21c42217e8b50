"""Bytes of state by shard, from what the tasks that write segments report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rheostat.arrays import Floats
from rheostat.spark.stage.task_reports import PartReport
from rheostat.state.segments import Segment


class StateSizes:
    """Remembers how the rows of every live segment are spread over shards.

    A segment's bytes are divided among its shards by rows, as ``rheostat inspect`` does. Segments that were written
    before the query started are unknown until they are folded into newer ones.

    Args:
        shards: the number of shards.
    """

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._known: dict[str, Floats] = {}

    def add(self, reports: Iterable[PartReport], segments: Mapping[str, Sequence[Segment]]) -> None:
        """Add the segments that tasks wrote, and forget those that no longer exist.

        Args:
            reports: the reports of the tasks.
            segments: by table, all live segments.
        """
        for report in reports:
            for table in report.tables.values():
                if table.segment is not None and table.held is not None:
                    rows = table.held.astype(np.float64)
                    self._known[table.segment.file] = rows * (table.segment.bytes / max(table.segment.rows, 1))
        live = {s.file for table in segments.values() for s in table}
        self._known = {file: sizes for file, sizes in self._known.items() if file in live}

    def of(self, segments: Iterable[Segment]) -> Floats:
        """Return the bytes of these segments by shard; NaN if some segment is unknown."""
        total = np.zeros(self._shards)
        for segment in segments:
            sizes = self._known.get(segment.file)
            if sizes is None:
                return np.full(self._shards, np.nan)
            total[: len(sizes)] += sizes
        return total
