"""Processors that go wrong: the error names the operator and what to change, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, expected_running, running, same
from tests.spark.streams import SECOND, Batches, read_stream, run

GIVEN = Batches.of(*([(e * SECOND, f"k{i % 4}", i) for i in range(12)] for e in range(3)))


def topology(spark: SparkSession, folder: Path, **changes: Any) -> rh.Topology:
    t = rh.Topology("wrong")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts")
    options = {"by": "key", "state": RUNNING_STATE, "schema": RUNNING_SCHEMA, **changes}
    logic = options.pop("logic", running)
    process = rows.process_keys if isinstance(logic, type) else rows.process
    process("totals", logic, **options).sink(rh.sinks.parquet(str(folder / "out")))
    return t


def no_column(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    output, changed = running(rows, state)
    return output.drop("s"), changed


def wrong_type(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    output, changed = running(rows, state)
    return output, changed.with_columns(n=pl.lit("many"))


def raises(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    raise KeyError("my own mistake")


def not_a_pair(rows: pl.DataFrame, state: pl.DataFrame) -> pl.DataFrame:
    return rows


def sleeps(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    time.sleep(60)
    return running(rows, state)


@pytest.mark.parametrize(
    ("logic", "message"),
    [
        (
            no_column,
            r"operator 'totals' failed: column 's' is missing from the output; declared columns: key, n, s, last",
        ),
        (wrong_type, r"operator 'totals' failed: the changed state: column 'n' is not bigint"),
        (raises, r"operator 'totals' failed: KeyError: 'my own mistake'"),
        (not_a_pair, r"operator 'totals' failed: the function returned DataFrame, not \(output, changed state\)"),
        (sleeps, r"operator 'totals' failed: it did not return within its time limit of 1 s"),
    ],
)
def test_a_wrong_function_is_named_and_can_be_mended(
    spark: SparkSession, tmp_path: Path, logic: Callable[..., Any], message: str
) -> None:
    Batches(GIVEN.frames[:1]).write(tmp_path / "in")
    run(topology(spark, tmp_path), tmp_path / "checkpoint")
    Batches(GIVEN.frames[1:]).write(tmp_path / "in", first=1)
    limit = "1 second" if logic is sleeps else "10 minutes"
    began = time.monotonic()
    with pytest.raises(rh.OperatorError, match=message) as caught:
        run(topology(spark, tmp_path, logic=logic, time_limit=limit), tmp_path / "checkpoint")
    assert time.monotonic() - began < 30
    if logic is raises:
        assert 'raise KeyError("my own mistake")' in str(caught.value), "the user's own traceback"
    assert sorted(p.name for p in (tmp_path / "out").glob("epoch=*")) == ["epoch=0"]
    run(topology(spark, tmp_path), tmp_path / "checkpoint")
    out = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert same(out, expected_running(GIVEN))


class Fails(rh.KeyProcessor):
    n = rh.value("bigint", default=0)

    def process(self, key: Any, rows: Any, context: rh.Context) -> Iterable[Any]:
        yield key.key, rows[0].nothing


class WrongState(rh.KeyProcessor):
    n = rh.value("bigint", default=0)

    def process(self, key: Any, rows: Any, context: rh.Context) -> Iterable[Any]:
        self.n = "many"
        return ()


@pytest.mark.parametrize(
    ("logic", "message"),
    [
        (Fails, r"operator 'totals' failed: key key='k\d': AttributeError: 'Row' object has no attribute 'nothing'"),
        (WrongState, r"operator 'totals' failed: the state: column 'n' is not bigint"),
    ],
)
def test_a_wrong_processor_names_the_key(spark: SparkSession, tmp_path: Path, logic: Any, message: str) -> None:
    GIVEN.write(tmp_path / "in")
    with pytest.raises(rh.OperatorError, match=message):
        run(topology(spark, tmp_path, logic=logic, state=None, schema="key string, n bigint"), tmp_path / "checkpoint")


def wide(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The running total with a field that an earlier version did not have, and without one it had."""
    output, changed = running(rows, state.with_columns(last=pl.lit(None, dtype=pl.Int64)))
    old = changed.join(state.select("key", "extra"), on="key", how="left", nulls_equal=True)
    return output, old.with_columns(extra=pl.col("extra").fill_null(100) + 1).drop("last")


def test_state_fields_may_come_go_and_widen(spark: SparkSession, tmp_path: Path) -> None:
    Batches(GIVEN.frames[:1]).write(tmp_path / "in")
    run(topology(spark, tmp_path, state=rh.keyed_state("n int, s bigint, last bigint")), tmp_path / "checkpoint")
    Batches(GIVEN.frames[1:]).write(tmp_path / "in", first=1)
    changed = rh.keyed_state("n bigint, s bigint, extra bigint")
    run(topology(spark, tmp_path, logic=wide, state=changed), tmp_path / "checkpoint")
    out = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert same(out, expected_running(GIVEN))


def test_other_changes_of_state_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    Batches(GIVEN.frames[:1]).write(tmp_path / "in")
    run(topology(spark, tmp_path), tmp_path / "checkpoint")
    refused: dict[str, dict[str, Any]] = {
        "operator 'totals': the checkpoint was written with state field 's' of type bigint, the topology has string": {
            "state": rh.keyed_state("n bigint, s string, last bigint")
        },
        r"operator 'totals': the checkpoint was written with keys \[\['key', 'string'\]\]": {"by": "value"},
    }
    for message, change in refused.items():
        with pytest.raises(rh.CheckpointError, match=message):
            run(topology(spark, tmp_path, **change), tmp_path / "checkpoint")
    t = rh.Topology("typed")
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts").map(
        "typed", lambda df: df.withColumn("key", df["key"].cast("binary"))
    )
    rows.process(
        "totals", running, by="key", state=RUNNING_STATE, schema="key binary, n bigint, s bigint, last bigint"
    ).sink(rh.sinks.memory())
    with pytest.raises(rh.CheckpointError, match=r"operator 'totals'.*'string'.*'binary'"):
        run(t, tmp_path / "checkpoint")
