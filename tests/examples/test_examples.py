"""Every file in ``examples/`` runs, or says why it cannot."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from examples import kafka

FOLDER = Path(__file__).parents[2] / "examples"

PRINTED = {
    "windows.py": ["30 minutes  3 x 10 minutes", "|30 minutes|2026-01-01 00:00:00|2026-01-01 00:30:00|page-0|"],
    "keyed_state.py": ["|account|balance|", "|account|ts "],
    "own_aggregate.py": ["3 minutes every 1 minute", "vwap"],
    "live_rescale.py": ["2 -> 4 slots, 128 of 256 shards moved (asked for)", "4 -> 8 slots", "8 -> 2 slots"],
    "lending.py": ["1 day       4 x 6 hours", "10 minutes|2026-01-01 00:00:00"],
}
"""What a file prints, among other things."""

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
def test_an_example_prints_results(name: str, spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    printed = capfd.readouterr().out
    for text in PRINTED[name]:
        assert text in printed, printed


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
