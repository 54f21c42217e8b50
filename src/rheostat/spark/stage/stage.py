"""The stages of an epoch as Spark DataFrames: tasks receive Arrow batches and return one report each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import CheckpointError, OperatorError, RheostatError
from rheostat.planning.feeds import PART
from rheostat.spark.stage.spec_wire import Tables
from rheostat.spark.tasks.task import REPORT_SCHEMA, close_task, ingest_task, reading_task

EPOCH_CONF = {
    # Adaptive execution would cost one more job per exchange, and the plan of an epoch gains nothing from it.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of the Spark session in which epochs run."""

_CHECKPOINT_FAILED = re.compile(r"CheckpointError: ([^\n]*)")


def ingest_stage(rows: DataFrame, slots: int, tables: Tables) -> DataFrame:
    """The stage that sends feeds to their slots and ingests them there.

    Args:
        rows: the rows of all feeds, with their partition.
        slots: number of slots of all components, which is the number of tasks.
        tables: the tables of the level.
    """
    routed = rows.repartitionById(slots, PART).drop(PART)
    return routed.mapInArrow(ingest_task(tables), REPORT_SCHEMA)


def reading_stage(partials: DataFrame, tables: Tables) -> DataFrame:
    """The stage that ingests partials in the tasks that read the rows, without an exchange.

    Args:
        partials: the partials of one table, aggregated in every partition on its own.
        tables: the tables of the level.
    """
    return partials.mapInArrow(reading_task(tables), REPORT_SCHEMA)


def close_stage(spark: SparkSession, slots: int, tables: Tables) -> DataFrame:
    """The stage that closes windows and calls timers in every slot.

    Args:
        spark: the session of the epoch.
        slots: number of slots of the components that take part, which is the number of tasks.
        tables: the tables of the level.
    """
    return spark.range(0, slots, 1, slots).mapInArrow(close_task(tables), REPORT_SCHEMA)


@contextmanager
def explained() -> Iterator[None]:
    """Run a stage inside the ``with`` block; its errors are raised as ``explain_error`` explains them.

    Raises:
        OperatorError: a function of the user failed in a task.
        CheckpointError: a task could not read the state.
    """
    try:
        yield
    except Exception as error:
        shown = explain_error(error)
        if shown is error:
            raise
        raise shown from error


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
