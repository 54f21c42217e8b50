"""Running a stage of an epoch on Spark: one task per slot, Arrow in, one line of report out."""

from __future__ import annotations

import re

from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import CheckpointError, OperatorError, RheostatError
from rheostat.planning.feeds import PART
from rheostat.spark.stage.specs import StageSpec
from rheostat.spark.stage.task_reports import PartReport
from rheostat.spark.tasks.task import REPORT_SCHEMA, close_task, ingest_task

EPOCH_CONF = {
    # The plan of an epoch is known to be good; adapting it would cost a job per exchange.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of the Spark session in which epochs run."""

_CHECKPOINT_FAILED = re.compile(r"CheckpointError: ([^\n]*)")


def ingest_stage(rows: DataFrame, spec: StageSpec) -> DataFrame:
    """The stage that sends feeds to their slots and takes them in; ``collect_reports`` runs it."""
    routed = rows.repartitionById(len(spec.parts), PART).drop(PART)
    return routed.mapInArrow(ingest_task(spec), REPORT_SCHEMA)


def close_stage(spark: SparkSession, spec: StageSpec) -> DataFrame:
    """The stage that closes windows and calls timers, slot by slot; ``collect_reports`` runs it."""
    tasks = len(spec.parts)
    return spark.range(0, tasks, 1, tasks).mapInArrow(close_task(spec), REPORT_SCHEMA)


def collect_reports(stage: DataFrame) -> list[PartReport]:
    """Run a stage and return what its tasks report.

    Raises:
        OperatorError: a user's function failed in a task.
        CheckpointError: a task could not read the state.
    """
    try:
        return [PartReport.from_json(row.report) for row in stage.collect()]
    except Exception as error:
        better = explain_error(error)
        if better is error:
            raise
        raise better from error


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
