"""Writes the results of a task as Parquet files into the staging folder of their operator."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.parquet as pq

from rheostat.spark.stage.specs import StageSpec
from rheostat.spark.stage.task_reports import PartReport, ResultFile
from rheostat.state.files import Folder


def write_results(spec: StageSpec, operator: str, results: pa.Table | None, report: PartReport) -> None:
    """Write an operator's results as one file and note it in the report.

    Nothing is written if there are no results, or if no sink and no operator reads them. Every attempt uses a new
    file name, so repeated or abandoned attempts do no harm.

    Args:
        spec: the stage.
        operator: the operator that the results are from.
        results: the rows; None if there are none.
        report: the report of the task; the file is added to it.
    """
    if results is None or operator not in spec.staging:
        return
    report.results.append(write_file(spec.staging[operator], operator, results, report.slot))
    report.tally.spread(size=results.nbytes)


def write_file(folder: Folder, operator: str, results: pa.Table, slot: int) -> ResultFile:
    """Write an operator's results as one file with a new name.

    Args:
        folder: the staging folder of the operator.
        operator: the operator that the results are from.
        results: the rows.
        slot: the slot of the task.
    """
    file = f"part-{slot}-{uuid.uuid4().hex[:12]}.parquet"
    pq.write_table(results, folder.path(file), filesystem=folder.filesystem)
    return ResultFile(operator, file, len(results))
