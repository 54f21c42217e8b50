"""Skewed keys on Spark: rows counted ahead give a hot key its slot alone, and a hot windowed key needs no placement."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.balance import imbalance
from rheostat.elastic.routing.table import shard_sql, shards_of
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, expected_running, running, same
from tests.spark.streams import SECOND, T0, Batches, expected, run, windowed

SLOTS, SHARDS = 4, 64


def skewed(epochs: int, rows: int, share: float, keys: int, hot: str = "hot") -> Batches:
    """Every key in every epoch, and one more that has a share of all rows."""
    rng = np.random.default_rng(11)
    every = [f"k{i}" for i in range(keys)]
    batches = []
    for epoch in range(epochs):
        names = [*every, *(hot if h else str(rng.choice(every)) for h in rng.random(rows - keys) < share)]
        times = (epoch * 60 + rng.integers(0, 60, rows)) * SECOND
        batches.append([(int(t), k, 1) for t, k in zip(times, names, strict=True)])
    return Batches.of(*batches)


def slow_running(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Every row costs the same, so that the work of a key is known."""
    time.sleep(0.001 * len(rows))
    return running(rows, state)


@pytest.mark.parametrize(("files", "kept"), [(1, ""), (2, "value > 0"), (2, "value > rand() - 1")])
def test_a_hot_key_whose_rows_are_counted_ahead_has_its_slot_alone(
    spark: SparkSession, tmp_path: Path, files: int, kept: str
) -> None:
    """Rows are counted by shard, and counted with them or, if mapped, on the way: each is there exactly once.

    Two files are read by two tasks, whose counts must be added up. A random condition may give other rows each time, so
    they are cached and counted with a plan of their own.
    """
    first, second = skewed(2, 400, 0.8, 40), skewed(2, 400, 0.8, 40, hot="k7")
    batches = Batches([*first.frames, *second.frames])
    untimed = Batches.of([(None, "k1", 1)]).frames[0]
    Batches([pl.concat([frame, untimed]) for frame in batches.frames]).write(tmp_path / "in")
    t = rh.Topology("ahead")
    stream = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema)
    source = t.source(stream.option("maxFilesPerTrigger", files).parquet(str(tmp_path / "in")), event_time="ts")
    rows = source.map("same", lambda frame: frame.where(kept)) if kept else source
    rows.process("running", slow_running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(
        rh.sinks.parquet(str(tmp_path / "out"))
    )
    policy = rh.policies.Balance(threshold=1.05, ahead=True)
    query = run(t, tmp_path / "checkpoint", slots=SLOTS, shards=SHARDS, policy=policy)

    out = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    epochs = [pl.concat(batches.frames[i : i + files]) for i in range(0, 4, files)]
    assert same(out, expected_running(Batches(epochs)))
    assert [(p.rows, p.nulls) for p in query.progress] == [(401 * files, files)] * len(epochs)
    newest = max(ts for frame in batches.frames for ts in frame["ts"])
    assert query.progress[-1].watermarks == {"source": T0 + newest}
    (routing,) = query.routing.values()
    shard_of = shards_of_keys(spark, batches)
    hot = shard_of["k7"]
    beside = {k for k, shard in shard_of.items() if routing[shard] == routing[hot] and shard != hot}
    assert beside <= {"hot"}, "only a key without rows in the last epoch may be beside it"


def test_a_hot_windowed_key_needs_no_placement(spark: SparkSession, tmp_path: Path) -> None:
    """Rows become partials before they are routed, so a key's share of the rows is not its share of the work."""
    batches = skewed(epochs=3, rows=4_000, share=0.9, keys=400)
    windows = rh.tumbling("1 minute")
    found, query = windowed(
        spark, tmp_path, batches, windows, options={"slots": SLOTS, "shards": SHARDS, "policy": "static"}
    )
    assert same(found.select("key", "n"), expected(batches, windows).select("key", "n"))

    (routing,) = query.routing.values()
    files = sorted((tmp_path / "checkpoint").rglob("*.arrow"))
    hashes = [pa.ipc.open_file(pa.memory_map(str(f))).read_all().column("hash").to_numpy() for f in files]
    partials = slots_of(np.concatenate(hashes), routing)
    assert query.progress[-1].partials < 1.5 * 401, "about one partial a key, not one a row"
    assert imbalance(partials) < 1.3

    shard_of = shards_of_keys(spark, batches)
    rows = np.zeros(SLOTS)
    for key, count in batches.frames[-1].group_by("key").len().rows():
        rows[routing[shard_of[key]]] += count
    assert imbalance(rows) > 3.0, "the rows themselves are as uneven as one key makes them"


def shards_of_keys(spark: SparkSession, batches: Batches) -> dict[str, int]:
    """The shard of every key, by Spark's hash."""
    keys = pl.concat(batches.frames)["key"].unique().to_list()
    shards = spark.createDataFrame([(key,) for key in keys], "key string").selectExpr(
        "key", f"{shard_sql('xxhash64(key)', SHARDS)} AS shard"
    )
    return {row.key: int(row.shard) for row in shards.collect()}


def slots_of(hashes: Ints, routing: tuple[int, ...]) -> Floats:
    """The number of rows that each slot has."""
    return np.bincount(np.array(routing)[shards_of(hashes, len(routing))], minlength=SLOTS).astype(np.float64)
