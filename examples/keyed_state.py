"""Your own logic with keyed state, on whole frames and key by key: ``python examples/keyed_state.py``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

import rheostat as rh


def balances(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the new balance of each account with payments; ``rows`` are all rows of a slot in an epoch."""
    paid = rows.group_by("account").agg(paid=pl.col("amount").sum())
    new = paid.join(state, on="account", how="left").select(
        "account", balance=pl.col("paid") + pl.col("balance").fill_null(0)
    )
    return new, new  # output, changed state


class Overdrafts(rh.KeyProcessor):
    """Reports each payment that takes an account below zero; called with the rows of one account at a time."""

    balance = rh.value("bigint", default=0)

    def process(self, key: Any, rows: Any, context: rh.Context) -> Iterator[tuple[Any, ...]]:  # noqa: ARG002
        for row in rows:
            before, self.balance = self.balance, self.balance + row.amount
            if before >= 0 > self.balance:
                yield key.account, row.ts, self.balance


def topology(spark: SparkSession) -> rh.Topology:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
    payments = rows.selectExpr("timestamp as ts", "value % 7 as account", "50 - pmod(hash(value), 100) as amount")
    t = rh.Topology("accounts")
    source = t.source(payments, event_time="ts")
    source.process(
        "balances",
        balances,
        by="account",
        schema="account bigint, balance bigint",
        state=rh.keyed_state("balance bigint"),
    ).sink(rh.sinks.console())
    source.process_keys(
        "overdrafts", Overdrafts, by="account", schema="account bigint, ts timestamp, balance bigint"
    ).sink(rh.sinks.console())
    return t


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as checkpoint:
        query = topology(rh.session("accounts")).start(checkpoint)
        query.await_epoch(2)
        query.stop()
