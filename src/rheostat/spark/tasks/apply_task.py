"""The tasks of an apply operator: one calls the user's function in a slot, one puts the output of all slots in order.

A slot returns with its report what its rows cost by item. Spark takes the report of one attempt of a task, so nothing
is learned twice, and only the files that this attempt wrote count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

from rheostat.elastic.posg.array_sketch import sketch_of
from rheostat.elastic.posg.learned_costs import COLUMNS, ROWS
from rheostat.elastic.posg.serial import to_text
from rheostat.errors import TopologyError
from rheostat.keyed.apply_calls import call_function
from rheostat.planning.apply_sql import ITEM, input_columns
from rheostat.planning.feeds import SEQUENCE
from rheostat.spark.stage.apply_report import ApplyReport
from rheostat.spark.stage.apply_spec import ApplySpec
from rheostat.spark.stage.spec_wire import PROPERTY
from rheostat.spark.tasks.result_files import write_file
from rheostat.spark.tasks.time_limit import time_limit
from rheostat.spark.tasks.worker import TaskClock, freeze_modules
from rheostat.topology.nodes import Apply
from rheostat.types import arrow_type

ApplyTask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for ``mapInArrow``."""


def apply_task(apply: Apply) -> ApplyTask:
    """The task that calls the user's function with the rows of a slot."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spec, slot = _instructions()
        clock, report = TaskClock(), ApplyReport(slot)
        arrived = list(batches)
        if arrived:
            _call(apply, spec, pa.Table.from_batches(arrived), report)
        yield clock.wire(report)

    return run


def order_task(apply: Apply) -> ApplyTask:
    """The task that writes the result files of all slots as one, in the order of the input."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spec, slot = _instructions()
        clock, report = TaskClock(), ApplyReport(slot)
        for _ in batches:
            pass  # the input has one row, only to make Spark start the task
        folder = spec.staging
        assert folder is not None
        rows = pa.concat_tables(pq.read_table(folder.path(f), filesystem=folder.filesystem) for f in spec.files)
        # Several output rows of one input row have the same number, and are next to each other in one file.
        order = np.argsort(rows.column(SEQUENCE).to_numpy(), kind="stable")
        report.results.append(write_file(folder, apply.name, rows.drop_columns([SEQUENCE]).take(pa.array(order)), slot))
        yield clock.wire(report)

    return run


def _instructions() -> tuple[ApplySpec, int]:
    """The instructions to this task, and the number of its partition."""
    freeze_modules()
    context = TaskContext.get()
    assert context is not None
    return ApplySpec.decode(context.getLocalProperty(PROPERTY) or ""), context.partitionId()


def _call(apply: Apply, spec: ApplySpec, arrived: pa.Table, report: ApplyReport) -> None:
    """Call the function with the rows that arrived, write its output, and note what rows cost."""
    report.rows = len(arrived)
    measured = apply.learns and report.slot in spec.measuring
    items = arrived.column(ITEM).to_numpy() if measured else None
    began = time.perf_counter()
    with time_limit(apply.time_limit, apply.name):
        applied = call_function(apply, _inputs(apply, arrived), items, spec.epoch)
    report.useful = time.perf_counter() - began
    if applied.output is not None and spec.staging is not None:
        output = applied.output
        if applied.origin is not None:
            output = output.append_column(SEQUENCE, arrived.column(SEQUENCE).take(pa.array(applied.origin)))
        report.results.append(write_file(spec.staging, apply.name, output, report.slot))
    if applied.costs is not None:
        report.sketch = to_text(sketch_of(*applied.costs, ROWS, COLUMNS))


def _inputs(apply: Apply, arrived: pa.Table) -> pa.Table:
    """The columns that the function reads, with their names and the types of the topology."""
    columns = []
    for column, wire in zip(apply.inputs, input_columns(apply), strict=True):
        values = arrived.column(wire)
        with suppress(TopologyError):  # a type that results cannot have: the function gets what Spark sends
            values = values.cast(arrow_type(column.type))
        columns.append(values)
    return pa.table(columns, names=[c.name for c in apply.inputs])
