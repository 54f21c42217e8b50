"""A kept plan runs with other arrays in every epoch, and gives what a new plan would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from rheostat.spark.stage.plan_arrays import mark
from rheostat.spark.stage.planned_stages import PlannedStages
from rheostat.spark.stage.stage import EPOCH_CONF

SHARDS = 8
routes = st.lists(st.integers(0, 3), min_size=SHARDS, max_size=SHARDS)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    for name, value in EPOCH_CONF.items():
        own.conf.set(name, value)
    return own


@pytest.fixture(scope="module")
def rows(session: SparkSession) -> Any:
    """Shards 0 to 7 as the RDD of a micro-batch."""
    return session.range(0, SHARDS, 1, 2)._jdf.queryExecution().toRdd()


def stage(
    session: SparkSession, rows: Any, arrays: Sequence[Sequence[int]], made: list[Any], shard: str = "id"
) -> Callable[[], DataFrame]:
    """A stage that sends shards to partitions, once for every array, and says where they went."""

    def build() -> DataFrame:
        made.append(arrays)
        schema = session.range(1)._jdf.schema()
        frame = session._jsparkSession.internalCreateDataFrame(rows, schema, False)
        DataFrame(frame, session).createOrReplaceTempView("shards")
        selects = []
        for i, array in enumerate(arrays):
            table = ",".join(map(str, [*array, mark(i)]))
            place = f"element_at(from_json('[{table}]', 'array<int>'), cast({shard} + 1 as int))"
            selects.append(f"SELECT {i} AS n, id, {place} AS part FROM shards")
        sql = f"SELECT concat_ws(' ', n, id, part) AS line, part FROM ({' UNION ALL '.join(selects)})"
        return session.sql(sql).repartitionById(4, "part").select("line")

    return build


def wanted(arrays: Sequence[Sequence[int]]) -> list[str]:
    return sorted(f"{i} {shard} {part}" for i, array in enumerate(arrays) for shard, part in enumerate(array))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(epochs=st.lists(routes, min_size=2, max_size=4))
def test_every_epoch_has_its_own_routing_and_one_plan(
    session: SparkSession, rows: Any, epochs: list[list[int]]
) -> None:
    stages, made = PlannedStages(), list[Any]()
    for array in epochs:
        build = stage(session, rows, [array], made)
        found = stages.collect("s", "key", build, spark=session, rows=rows, arrays=[array])
        assert sorted(found.lines) == wanted([array])
    assert len(made) == 1, "Spark planned once"


def test_two_components_have_a_routing_each(session: SparkSession, rows: Any) -> None:
    stages, made = PlannedStages(), list[Any]()
    for arrays in ([[0] * SHARDS, [1] * SHARDS], [[3, 2] * 4, [0, 1] * 4]):
        build = stage(session, rows, arrays, made)
        found = stages.collect("s", "key", build, spark=session, rows=rows, arrays=arrays)
        assert sorted(found.lines) == wanted(arrays)
    assert len(made) == 1


def test_an_array_that_spark_computes_with_while_planning_is_part_of_the_key(session: SparkSession, rows: Any) -> None:
    stages, made = PlannedStages(), list[Any]()
    for array in ([0] * SHARDS, [2] * SHARDS, [2] * SHARDS, [1] * SHARDS):
        build = stage(session, rows, [array], made, shard="3")  # a constant: the array folds into one number
        found = stages.collect("s", "key", build, spark=session, rows=rows, arrays=[array])
        assert sorted(found.lines) == wanted([array])
    assert len(made) == 3, "the same array twice has one plan"


def test_a_routing_of_many_shards_is_set(session: SparkSession, rows: Any) -> None:
    stages, made = PlannedStages(), list[Any]()
    for first in (0, 1):
        array = [(i + first) % 4 for i in range(8192)]
        build = stage(session, rows, [array], made)
        found = stages.collect("s", "key", build, spark=session, rows=rows, arrays=[array])
        assert sorted(found.lines) == wanted([array[:SHARDS]])
    assert len(made) == 1
