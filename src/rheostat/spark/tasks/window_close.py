"""Window tables: close the windows that have ended, and store the results that later windows are derived from."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

from rheostat.elastic.routing.table import owned, shards_of
from rheostat.planning.results import finish
from rheostat.spark.stage.specs import StageSpec, WindowTableSpec
from rheostat.spark.stage.task_reports import PartReport, TableReport
from rheostat.spark.tasks.result_files import write_results
from rheostat.state.window_table import TableReader, write_rows
from rheostat.windows.close import close
from rheostat.windows.window_layout import GRANULE, HASH, START


def close_windows(spec: StageSpec, table_spec: WindowTableSpec, report: PartReport) -> None:
    """Close a table's windows up to the new watermark and write their results.

    Args:
        spec: the stage.
        table_spec: the table.
        report: the report of the task; what it does here is added.
    """
    table, after = table_spec.table, table_spec.after
    assert after is not None
    routing = spec.routing[report.component]
    began = time.perf_counter()
    reader = TableReader(table_spec.folder, table.layout, table_spec.segments, owned(routing, report.slot))
    closed = list(close(reader, table.layout, table.plan, table_spec.before, after))
    kept = [
        c.frame.select(
            pl.lit(c.granule, dtype=pl.Int16).alias(GRANULE),
            pl.lit(c.start, dtype=pl.Int64).alias(START),
            *(column.name for column in table.layout.columns),
        )
        for c in closed
        if table.plan.keeps(c.granule, c.start, after)
    ]
    table_report = report.tables[table.name] = TableReport()
    if kept:
        table_report.segment = write_rows(
            table_spec.folder, table.layout, pl.concat(kept), epoch=spec.epoch, slot=report.slot, shards=len(routing)
        )
    for output in table.outputs:
        if output.emit == "append" and output.operator in spec.staging:
            write_results(spec, output.operator, finish(output, closed), report)
    if closed:
        hashes = np.concatenate([c.frame[HASH].to_numpy() for c in closed])
        table_report.seconds = time.perf_counter() - began
        report.tally.spend(shards_of(hashes, len(routing)), table_report.seconds)
