"""Window tables: close the windows that have ended, and keep what later windows are derived from."""

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


def close_windows(spec: StageSpec, given: WindowTableSpec, report: PartReport) -> None:
    """Close a table's windows up to the new watermark and write their results.

    Args:
        spec: the stage.
        given: the table.
        report: what the task did so far; it is added to.
    """
    table, after = given.table, given.after
    assert after is not None
    routing = spec.routing[report.component]
    began = time.perf_counter()
    reader = TableReader(given.folder, table.layout, given.segments, owned(routing, report.slot))
    closed = list(close(reader, table.layout, table.plan, given.before, after))
    kept = [
        c.frame.select(
            pl.lit(c.granule, dtype=pl.Int16).alias(GRANULE),
            pl.lit(c.start, dtype=pl.Int64).alias(START),
            *(column.name for column in table.layout.columns),
        )
        for c in closed
        if table.plan.keeps(c.granule, c.start, after)
    ]
    did = report.tables[table.name] = TableReport()
    if kept:
        did.segment = write_rows(
            given.folder, table.layout, pl.concat(kept), epoch=spec.epoch, slot=report.slot, shards=len(routing)
        )
    for output in table.outputs:
        if output.emit == "append" and output.operator in spec.staging:
            write_results(spec, output.operator, finish(output, closed), report)
    if closed:
        hashes = np.concatenate([c.frame[HASH].to_numpy() for c in closed])
        report.spend(shards_of(hashes, len(routing)), time.perf_counter() - began)
