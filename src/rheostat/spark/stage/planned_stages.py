"""The Spark plans of a query's stages, made once and used in every epoch.

Analysing, optimising and planning the same query text takes longer than running a tiny epoch. What differs between two
epochs is the input, the routing and the instructions to the tasks: the input is the RDD at the leaves of the plan, the
routing is an array in it, and the instructions travel as a property of the job. So a plan is kept as long as the rest
of its text stays the same, and every epoch runs a copy of it with its own RDD at the leaves and its own arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import RheostatError
from rheostat.spark.stage.placed_plan import placed
from rheostat.spark.stage.plan_arrays import PlanArrays, elements
from rheostat.spark.stage.report_wire import from_lines
from rheostat.spark.stage.spec_wire import PROPERTY, encode
from rheostat.spark.stage.specs import StageSpec
from rheostat.spark.stage.stage import explained
from rheostat.spark.stage.task_reports import PartReport

_LEAF = "RDDScanExec"
"""The node of a Spark plan that reads the rows of a micro-batch."""


@dataclass(frozen=True)
class StageRun:
    """What came of a stage.

    Attributes:
        reports: the reports of its tasks.
        metrics: Spark's observed metrics of the run, a Scala map; None if nobody asked for them.
    """

    reports: list[PartReport]
    metrics: Any = None


@dataclass(frozen=True)
class _Kept:
    """A plan that is kept.

    Attributes:
        key: all that it depends on.
        plan: Spark's physical plan; None if it cannot be used again.
        field: the field of its leaves with the RDD; None if the stage has no input.
        arrays: the arrays in it that epochs set; None if Spark has computed with them while planning.
    """

    key: Hashable
    plan: Any = None
    field: Any = None
    arrays: PlanArrays | None = None


@dataclass(frozen=True)
class Collected:
    """What a plan gave.

    Attributes:
        lines: its rows, one text each.
        metrics: returns Spark's observed metrics, a Scala map.
    """

    lines: list[str]
    metrics: Callable[[], Any]


class PlannedStages:
    """The plans of a query's stages, by the name of the stage: one plan each, the newest."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def run(
        self,
        name: str,
        key: Hashable,
        build: Callable[[], DataFrame],
        spec: StageSpec,
        *,
        spark: SparkSession,
        rows: Any = None,
        arrays: Sequence[Sequence[int]] = (),
        hosts: Sequence[str] = (),
        observing: bool = False,
    ) -> StageRun:
        """Run a stage of tasks with its kept plan, or make the plan first.

        Args:
            name: name of the stage.
            key: all that the plan depends on; another key means another plan.
            build: makes the stage as a DataFrame, as in ``collect``.
            spec: the instructions to the tasks.
            spark: the session of the epoch.
            rows: the RDD with the epoch's input; None for a stage without input.
            arrays: the arrays of the plan, as in ``collect``.
            hosts: for every task the host that it prefers, as in ``placed``; empty to leave it to Spark.
            observing: True to return the observed metrics.
        """
        with instructed(spark.sparkContext, encode(spec)), explained():
            collected = self.collect(name, key, build, spark=spark, rows=rows, arrays=arrays, hosts=hosts)
        return _stage_run(collected, spec, observing=observing)

    def collect(
        self,
        name: str,
        key: Hashable,
        build: Callable[[], DataFrame],
        *,
        spark: SparkSession,
        rows: Any = None,
        arrays: Sequence[Sequence[int]] = (),
        hosts: Sequence[str] = (),
    ) -> Collected:
        """Collect a column of texts with a kept plan, or make the plan first.

        Args:
            name: name of the stage.
            key: all that the plan depends on; another key means another plan.
            build: makes the DataFrame, which must be the same function of its rows and arrays in every epoch. If its
                plan reads more than one RDD, or an exchange twice, it is not kept.
            spark: the session of the epoch.
            rows: the RDD with the epoch's input; None for a stage without input.
            arrays: the arrays of whole numbers that the DataFrame has as constants, each without its ``plan_arrays``
                mark. They may differ between epochs with the same key.
            hosts: for every task of the last stage the host that it prefers, as in ``placed``; empty to leave it to
                Spark.
        """
        plan = self.plan(name, key, build, spark=spark, rows=rows, arrays=arrays)
        return collect_once(build(), hosts) if plan is None else _collect(spark, plan, hosts)

    def plan(
        self,
        name: str,
        key: Hashable,
        build: Callable[[], DataFrame],
        *,
        spark: SparkSession,
        rows: Any = None,
        arrays: Sequence[Sequence[int]] = (),
    ) -> Any:
        """A copy of a kept plan with the input and arrays of an epoch, to be executed once; None if it is not kept.

        The arguments are those of ``collect``.
        """
        kept = self._kept.get(name)
        if kept is None or kept.key not in ((key, None), (key, arrays)):
            kept = self._kept[name] = _keep(key, arrays, build(), with_input=rows is not None)
        if kept.plan is None:
            return None
        plan = kept.plan.clone()
        if kept.field is not None:
            for leaf in elements(plan.collectLeaves()):
                kept.field.set(leaf, rows)
        if kept.arrays is not None:
            kept.arrays.set(spark.sparkContext, arrays)
        return plan


def run_once(stage: DataFrame, spec: StageSpec, *, hosts: Sequence[str] = (), observing: bool = False) -> StageRun:
    """Run a stage that is made anew in every epoch.

    Args:
        stage: the stage.
        spec: the instructions to its tasks.
        hosts: for every task the host that it prefers, as in ``placed``; empty to leave it to Spark.
        observing: True to return the observed metrics.
    """
    with instructed(stage.sparkSession.sparkContext, encode(spec)), explained():
        collected = collect_once(stage, hosts)
    return _stage_run(collected, spec, observing=observing)


def collect_once(stage: DataFrame, hosts: Sequence[str] = ()) -> Collected:
    """Collect a column of texts with a plan that is made anew in every epoch.

    Args:
        stage: the DataFrame.
        hosts: for every task of the last stage the host that it prefers, as in ``placed``; empty to leave it to Spark.
    """
    if hosts:
        return _collect(stage.sparkSession, stage._jdf.queryExecution().executedPlan(), hosts)
    return Collected([row[0] for row in stage.collect()], lambda: stage._jdf.queryExecution().observedMetrics())


def _collect(spark: SparkSession, plan: Any, hosts: Sequence[str]) -> Collected:
    """Execute a plan, and return its column of texts."""
    found = (placed(spark.sparkContext, plan, hosts) if hosts else plan).executeCollect()
    return Collected([found[i].getString(0) for i in range(len(found))], lambda: observed_metrics(spark, plan))


def _stage_run(collected: Collected, spec: StageSpec, *, observing: bool) -> StageRun:
    reports = list(from_lines(collected.lines))
    if len(reports) != len(spec.parts):  # a task that did not run has not folded its share of older segments
        raise RheostatError(f"{len(reports)} of {len(spec.parts)} tasks of epoch {spec.epoch} sent a report")
    return StageRun(reports, collected.metrics() if observing else None)


@contextmanager
def instructed(context: SparkContext, instructions: str) -> Iterator[None]:
    """Give instructions to the tasks of the jobs that this thread runs inside the ``with`` block."""
    context.setLocalProperty(PROPERTY, instructions)
    try:
        yield
    finally:
        context.setLocalProperty(PROPERTY, None)  # type: ignore[arg-type]


def _keep(key: Hashable, arrays: Sequence[Sequence[int]], stage: DataFrame, *, with_input: bool) -> _Kept:
    plan = stage._jdf.queryExecution().executedPlan()
    found = PlanArrays.find(plan, len(arrays))
    key = key, arrays if found is None else None
    if not with_input:
        return _Kept(key, plan, arrays=found)
    leaves = elements(plan.collectLeaves())
    if {leaf.getClass().getSimpleName() for leaf in leaves} != {_LEAF} or len({leaf.rdd().id() for leaf in leaves}) > 1:
        return _Kept(key)  # an exchange that is used twice is a leaf, and would keep its rows
    field = leaves[0].getClass().getDeclaredField("rdd")
    field.setAccessible(True)
    return _Kept(key, plan, field, found)


def observed_metrics(spark: SparkSession, plan: Any) -> Any:
    """Spark's observed metrics of a plan that was executed, a Scala map.

    Args:
        spark: the session of the epoch.
        plan: Spark's physical plan.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    collector = getattr(jvm.org.apache.spark.sql.execution, "CollectMetricsExec$")
    return getattr(collector, "MODULE$").collect(plan)
