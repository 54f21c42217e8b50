"""Running a stage of an epoch on Spark: one task per slot, Arrow in, one line of report out."""

from __future__ import annotations

import re

from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import CheckpointError, OperatorError, RheostatError
from rheostat.planning.feeds import PART
from rheostat.spark.input.counts import Observed, observed_in
from rheostat.spark.stage.specs import PartReport, StageSpec
from rheostat.spark.tasks.window_ingest import REPORT_SCHEMA, close_task, ingest_task

EPOCH_CONF = {
    # The plan of an epoch is known to be good; adapting it would cost a job per exchange.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

_CHECKPOINT_FAILED = re.compile(r"CheckpointError: ([^\n]*)")


def run_ingest(rows: DataFrame, spec: StageSpec) -> tuple[list[PartReport], dict[str, Observed]]:
    """Send feeds to their slots and take them in; also the counts of rows that were observed on the way."""
    routed = rows.repartitionById(len(spec.parts), PART).drop(PART)
    stage = routed.mapInArrow(ingest_task(spec), REPORT_SCHEMA)
    return _collect(stage), observed_in(stage)


def run_close(spark: SparkSession, spec: StageSpec) -> list[PartReport]:
    """Close windows, slot by slot."""
    tasks = len(spec.parts)
    return _collect(spark.range(0, tasks, 1, tasks).mapInArrow(close_task(spec), REPORT_SCHEMA))


def explain_error(error: BaseException) -> BaseException:
    """The error a user should see: one that names the operator and keeps the traceback of the user's own code."""
    if isinstance(error, RheostatError):
        return error
    text = str(error)
    if (found := OperatorError.found_in(text)) is not None:
        return found
    if isinstance(error, PythonException) and (match := _CHECKPOINT_FAILED.search(text)):
        return CheckpointError(match[1])
    return error


def _collect(reports: DataFrame) -> list[PartReport]:
    try:
        return [PartReport.from_json(row.report) for row in reports.collect()]
    except Exception as error:
        better = explain_error(error)
        if better is error:
            raise
        raise better from error
