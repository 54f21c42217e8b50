"""Every file in ``examples/`` runs, or says why it cannot."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from examples import kafka, tweets

FOLDER = Path(__file__).parents[2] / "examples"

PRINTED = {
    "windows.py": [
        r"30 minutes +1 x 10 minutes \+ 1 x 20 minutes every 5 minutes",
        r"30 minutes +│ 2026-01-01 00:00:00\S* +│ 2026-01-01 00:30:00\S* +│ page-0 +│ 1000 +│ 99 ",
    ],
    "keyed_state.py": [r"balances, epoch 2: 7 +rows", r"overdrafts, epoch 0: \d+ rows"],
    "own_aggregate.py": [r"3 minutes every 1 minute +│ 1970-01-01 00:00:00\S* +│ \S+ \S+ +│ 0 +│ 104\.\d+ +│ 150 "],
    "live_rescale.py": [r"2 -> 4 slots, \d+ of 256 shards moved \(asked for\)", "4 -> 8 slots", "8 -> 2 slots"],
    "tweets.py": [r"enrich, epoch 0: 200 rows", r"│ (media|politician|other) "],
    "lending.py": [r"1 day +4 x 6 hours", r"10 minutes +│ 2026-01-01 00:00:00\S* +│ 2026-01-01 00:10:00\S* +│ 9\d\d "],
    "top_words.py": [r"ranked, epoch \d+: \d+ rows", r"2026-01-01 00:01:00\S* +│ 1 +│ quick +│ \d+ "],
    "sentiment.py": [
        r"moods, epoch \d+: \d rows",
        r"1 minute +│ 2026-01-01 00:00:00\S* +│ \S+ \S+ +│ positive +│ \d+ +│ 0\.\d+",
    ],
}
"""What a file prints, among other things, as regular expressions."""

ELSEWHERE = {
    "exchange.py": "test_exchange.py and test_exchange_on_spark.py run it at a smaller size",
    "kafka.py": "it needs a broker; the tests below build its topology and run its windows over other rows",
}


def test_every_example_is_tested() -> None:
    assert {f.name for f in FOLDER.glob("*.py")} == {*PRINTED, *ELSEWHERE}


def test_most_examples_are_short() -> None:
    lines = {f.name: len(f.read_text().splitlines()) for f in FOLDER.glob("*.py")}
    assert sum(n < 40 for n in lines.values()) >= 5, lines


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_results(
    name: str, spark: SparkSession, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # wide enough for a table's row to stay on one line
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    printed = " ".join(capfd.readouterr().out.split())
    for text in PRINTED[name]:
        assert re.search(text, printed), printed


def test_kafka_asks_for_a_broker(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA", raising=False)
    with pytest.raises(SystemExit, match="set KAFKA to the address of a broker"):
        kafka.topology(spark)


def test_what_kafka_would_bring_reaches_the_sink_as_messages(spark: SparkSession, tmp_path: Path) -> None:
    text = (
        """'{"shop": "s' || id % 2 || '", "ordered": "2026-01-01T0' || id || ':30:00Z", "cents": ' || id * 100 || '}'"""
    )
    rows = spark.range(4).selectExpr(f"binary({text}) as value", "timestamp '2026-01-01 09:00:00' as timestamp")
    rows.write.parquet(str(tmp_path / "in"))
    out = rh.sinks.memory()
    messages = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    kafka.shops(messages, out).start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW).await_termination()
    hours = out.frame().filter(out.frame()["value"].str.contains('"window":"1 hour"')).sort("window_end")
    assert hours["key"].to_list() == ["s0", "s1", "s0"], "the last hour is still open"
    assert '"orders":1,"cents":200' in hours["value"][2]


def test_tweets_are_enriched_as_polars_does(spark: SparkSession, tmp_path: Path) -> None:
    out = rh.sinks.memory()
    query = tweets.topology(spark, out).start(str(tmp_path / "checkpoint"))
    assert query.await_epoch(3)
    query.stop()
    frame = out.frame()
    rows = len(frame)
    assert rows >= 800
    entity = (pl.int_range(rows, eager=True).cast(pl.Int64) ** 2 % 127).alias("entity")
    kind = (
        pl.when(entity < 8)
        .then(pl.lit("media"))
        .when(entity < 40)
        .then(pl.lit("politician"))
        .otherwise(pl.lit("other"))
    )
    expected = entity.to_frame().with_columns(kind.alias("class")).group_by("entity", "class").len()
    assert frame.group_by("entity", "class").len().sort("entity").rows() == expected.sort("entity").rows()
