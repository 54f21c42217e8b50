"""The exchange on Spark, rescaled while it trades: the trades of an undisturbed run, and books that balance."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

import rheostat as rh
from examples import exchange as ex
from rheostat.workloads.exchange import SCHEMA, Exchange
from tests.examples.test_exchange import WATCHES, run, transact

DAY = Exchange(8_000, stocks=20, seconds=7_200, traders=100)
EPOCHS = 4


def test_the_exchange_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    DAY.write(tmp_path / "in", EPOCHS)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    t, results = ex.exchange(stream, {0: 100, 1: 104})
    kept = {n: rh.sinks.memory() for n in ("trades", "volume", "composite_index", "wash_trades", *WATCHES)}
    for name, sink in kept.items():
        results[name].sink(sink)
    queries: list[rh.Query] = []

    def rescale(progress: rh.Progress) -> None:
        for query in queries:
            query.rescale(slots=1 + (progress.epoch + 1) % 3)

    queries.append(t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, on_progress=rescale))
    assert queries[0].await_termination(timeout=200)
    assert sum(c.moved for p in queries[0].progress for c in p.changes) > 0
    orders = DAY.frame()
    made = transact(orders, 1)
    found = kept["trades"].frame()
    by = ["ts", "stock", "buy_order", "sell_order"]
    assert found.select(made.columns).sort(by).equals(made.sort(by))
    left = ex.unfilled(orders, found)
    for side in ("B", "S"):
        own = left.filter(side=side)
        assert int(own["shares"].sum()) == int(found["shares"].sum()) + int(own["left"].sum()), "shares in, shares out"
    assert left["left"].min() == 0
    in_order = found.sort("ts", "buy_order", "sell_order")
    for name, (logic, state) in WATCHES.items():
        parts = [p for _, p in sorted(made.partition_by("stock", as_dict=True).items())]
        oracle = run(logic, parts, state)
        assert oracle.height > 0, name
        columns = ["stock", "ts", "price", "shares"]
        assert kept[name].frame().select(columns).sort(columns).equals(oracle.select(columns).sort(columns)), name
    minutes = kept["volume"].frame().filter(pl.col("window") == "1 minute")
    closed = minutes["window_end"].max()
    traded = in_order.filter(pl.col("ts") < closed).group_by("stock").agg(pl.col("shares").sum()).sort("stock")
    assert minutes.group_by("stock").agg(pl.col("shares").sum()).sort("stock").equals(traded)
    assert kept["wash_trades"].frame().height == in_order.filter(pl.col("buyer") == pl.col("seller")).height
    final = kept["composite_index"].frame().sort("ts")["level"][-1]
    opened = made.group_by("stock").agg(first=pl.col("price").first(), last=pl.col("price").last())
    moves = float(((opened["last"] - opened["first"]) / opened["first"]).sum()) * ex.BASE / ex.DAY.stocks
    assert abs(final - ex.BASE - moves) < 1e-6
