"""Notes in a task's report what it received: rows, bytes and arrival times by shard."""

from __future__ import annotations

import polars as pl

from rheostat.elastic.routing.table import shards_of
from rheostat.planning.feeds import ARRIVAL
from rheostat.spark.stage.task_reports import PartReport
from rheostat.windows.partials import ROWS
from rheostat.windows.window_layout import HASH


def note_received(report: PartReport, stream: str, frame: pl.DataFrame, shards: int) -> None:
    """Note the rows or partials of one feed.

    Args:
        report: the report of the task.
        stream: the stream that the feed is computed from.
        frame: rows or partials with their routing hash, and with an arrival time where it is known; partials have a
            number of rows.
        shards: the number of shards.
    """
    report.tally.receive(
        stream,
        shards_of(frame[HASH].to_numpy(), shards),
        rows=frame[ROWS].to_numpy() if ROWS in frame.columns else None,
        arrival=frame[ARRIVAL].cast(pl.Float64).to_numpy() if ARRIVAL in frame.columns else None,
        size=int(frame.estimated_size()),
    )
