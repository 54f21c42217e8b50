"""Runs a stage of an epoch on Spark: one task per slot, which receives Arrow batches and returns one report."""

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
    # Adaptive execution would cost one more job per exchange, and the plan of an epoch gains nothing from it.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of the Spark session in which epochs run."""

_CHECKPOINT_FAILED = re.compile(r"CheckpointError: ([^\n]*)")


def ingest_stage(rows: DataFrame, spec: StageSpec) -> DataFrame:
    """The stage that sends feeds to their slots and ingests them there; ``collect_reports`` runs it."""
    routed = rows.repartitionById(len(spec.parts), PART).drop(PART)
    return routed.mapInArrow(ingest_task(spec), REPORT_SCHEMA)


def close_stage(spark: SparkSession, spec: StageSpec) -> DataFrame:
    """The stage that closes windows and calls timers in every slot; ``collect_reports`` runs it."""
    tasks = len(spec.parts)
    return spark.range(0, tasks, 1, tasks).mapInArrow(close_task(spec), REPORT_SCHEMA)


def collect_reports(stage: DataFrame) -> list[PartReport]:
    """Run a stage and return the reports of its tasks.

    Raises:
        OperatorError: a function of the user failed in a task.
        CheckpointError: a task could not read the state.
    """
    try:
        return [PartReport.from_wire(row.report, bytes(row.shards)) for row in stage.collect()]
    except Exception as error:
        explained = explain_error(error)
        if explained is error:
            raise
        raise explained from error


def explain_error(error: BaseException) -> BaseException:
    """The error to show to the user.

    If a task failed in the user's code or could not read the state, this is the error that the task raised, with the
    operator's name and the traceback of the user's code. Any other error is returned as it is.
    """
    if isinstance(error, RheostatError):
        return error
    text = str(error)
    if (operator_error := OperatorError.found_in(text)) is not None:
        return operator_error
    if isinstance(error, PythonException) and (match := _CHECKPOINT_FAILED.search(text)):
        return CheckpointError(match[1])
    return error
