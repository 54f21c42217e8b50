"""Window tables: write partials where their rows were read, without sending them to a slot.

A partial may be made anywhere, because partials of a key are merged when they are read (Enorm's flexible operators,
section 4.2). So every task that reads rows writes a segment with partials of all shards. A key with most of the rows
is spread over these tasks by itself.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from rheostat.arrays import Flags
from rheostat.elastic.routing.table import shards_of
from rheostat.spark.stage.specs import StageSpec, WindowTableSpec
from rheostat.spark.stage.task_reports import PartReport, TableReport
from rheostat.spark.tasks.pane_placement import place_partials
from rheostat.spark.tasks.window_ingest import new_partials, with_folded
from rheostat.state.window_table import write_rows
from rheostat.windows.window_layout import HASH


def ingest_anywhere(
    spec: StageSpec, table_spec: WindowTableSpec, arrived: pa.Table | None, report: PartReport, part: int
) -> None:
    """Write the new partials of a task as one segment, together with its share of the segments to fold.

    Args:
        spec: the stage.
        table_spec: the table, which must not refresh open windows.
        arrived: the partials of the rows that the task read; None if there are none.
        report: the report of the task; what it does here is added.
        part: number of the task in its stage.
    """
    began = time.perf_counter()
    shards = len(spec.routing[report.component])
    table_report = report.tables[table_spec.table.name] = TableReport()
    new = new_partials(spec, table_spec, arrived, report)
    placed = [] if new is None or new.is_empty() else [place_partials(table_spec, new, table_report)]
    rows = with_folded(table_spec, placed, share_of(shards, part, len(spec.parts)))
    if rows is not None:
        table_report.segment = write_rows(
            table_spec.folder, table_spec.table.layout, rows, epoch=spec.epoch, slot=part, shards=shards
        )
    if new is not None:
        report.tally.spend(shards_of(new[HASH].to_numpy(), shards), time.perf_counter() - began)


def share_of(shards: int, part: int, parts: int) -> Flags:
    """For every shard, True if this task folds its rows: each shard belongs to one task.

    >>> share_of(5, 0, 2).tolist(), share_of(5, 1, 2).tolist()
    ([True, True, True, False, False], [False, False, False, True, True])
    """
    owners = np.arange(shards) * parts // shards
    return np.equal(owners, part)
