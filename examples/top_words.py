"""The most frequent words of the last minute, T1 of ELYSIUM (section 5.1): ``python examples/top_words.py``.

Words are counted over a sliding window and ranked in two steps: first in every slot, then all together.
"""

from __future__ import annotations

import tempfile
from functools import partial

import polars as pl
from pyspark.sql import DataFrame, SparkSession

import rheostat as rh

STOP_WORDS = ("a", "an", "and", "he", "in", "is", "it", "of", "the", "to", "was")


def top_words(t: rh.Topology, sentences: DataFrame, k: int = 5) -> rh.Stream:
    """The ``k`` most frequent words of a minute, every ten seconds. Sentences have the columns ``ts`` and ``text``."""
    source = t.source(sentences, event_time="ts", name="sentences")
    split = "explode(split(lower(text), '[^a-z]+')) as word"
    words = source.map("words", lambda df: df.selectExpr("ts", split).where(f"word <> '' and word not in {STOP_WORDS}"))
    minute = rh.sliding("1 minute", every="10 seconds")
    counts = words.aggregate("counts", by="word", windows=minute, times=rh.count())
    ranks = partial(ranked, k=k), "window_end timestamp, rank bigint, word string, times bigint"
    in_slots = counts.process(
        "ranked_in_slots", ranks[0], by="word", order=None, schema=ranks[1], event_time="window_end"
    )
    return in_slots.process("ranked", ranks[0], by="window_end", order=None, schema=ranks[1])


def ranked(rows: pl.DataFrame, _state: pl.DataFrame, k: int) -> tuple[pl.DataFrame, None]:
    """The most frequent words of every window. All rows of a window come in one epoch: nothing has to be remembered."""
    ordered = rows.sort(["window_end", "times", "word"], descending=[False, True, False])
    numbered = ordered.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("window_end"))
    return numbered.filter(pl.col("rank") <= k), None


def topology(spark: SparkSession) -> rh.Topology:
    options = {"rowsPerBatch": "1000", "advanceMillisPerBatch": "30000", "startTimestamp": "1767225600000"}
    rows = spark.readStream.format("rate-micro-batch").options(**options).load()
    words = "split('the quick brown fox jumps over a lazy dog and runs to the river', ' ')"
    word = f"element_at({words}, 1 + int(14 * pow(pmod(hash(value, i), 1000) / 1000, 2)))"
    text = f"array_join(transform(sequence(1, 8), i -> {word}), ' ') as text"
    t = rh.Topology("words")
    top_words(t, rows.selectExpr("timestampadd(MILLISECOND, value % 1000 * 30, timestamp) as ts", text)).sink(
        rh.sinks.console()
    )
    return t


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as checkpoint:
        query = topology(rh.session("words")).start(checkpoint)
        query.await_epoch(3)
        query.stop()
