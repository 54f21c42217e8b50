"""The stages of an apply operator as Spark DataFrames: rows are dealt to slots, and tasks return one report each."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from rheostat.planning.apply_sql import ITEM
from rheostat.planning.feeds import PART
from rheostat.spark.tasks.apply_task import apply_task, order_task
from rheostat.spark.tasks.router_task import deal_items
from rheostat.spark.tasks.task import REPORT_SCHEMA
from rheostat.topology.nodes import Apply


def deal_in_turn(rows: DataFrame, slots: int, apply: Apply) -> DataFrame:
    """The stage with rows that are dealt in turn, which the query of the rows has done.

    Args:
        rows: the rows as ``apply_sql`` selects them, with their slot.
        slots: number of slots.
        apply: the operator.
    """
    return rows.repartitionById(slots, PART).drop(PART).mapInArrow(apply_task(apply), REPORT_SCHEMA)


def deal_by_cost(rows: DataFrame, slots: int, apply: Apply) -> DataFrame:
    """The stage with rows that routers deal by cost.

    Args:
        rows: the rows as ``apply_sql`` selects them, with their item.
        slots: number of slots.
        apply: the operator.
    """
    # By its annotations a function over iterators of batches; to name that kind gives a warning.
    router: Any = arrow_udf(deal_items, "int")  # type: ignore[call-overload]
    # Not deterministic for Spark: the slot of a row depends on the rows before, and must be computed once.
    return deal_in_turn(rows.withColumn(PART, router.asNondeterministic()(ITEM)), slots, apply)


def order_stage(spark: SparkSession, apply: Apply) -> DataFrame:
    """The stage with the one task that puts the output of all slots in order."""
    return spark.range(0, 1, 1, 1).mapInArrow(order_task(apply), REPORT_SCHEMA)
