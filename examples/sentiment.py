"""Sentiment of texts by the words in them, T2 of ELYSIUM (section 5.1): ``python examples/sentiment.py``.

VADER's lexicon (Hutto and Gilbert, 2014) comes with the package vaderSentiment: ``pip install "rheostat[sentiment]"``.
"""

from __future__ import annotations

import tempfile
from functools import partial
from importlib.resources import files

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import rheostat as rh
from rheostat.extras import load

SCORED = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "score": pa.float64(), "mood": pa.string()})


def lexicon() -> pl.DataFrame:
    """Words and their valence, from -4 to 4. It is read once, and travels to the tasks with the function."""
    load("vaderSentiment", "the sentiment example")
    lines = (files("vaderSentiment") / "vader_lexicon.txt").read_text().splitlines()
    entries = [line.split("\t")[:2] for line in lines]
    words = {word: float(valence) for word, valence in entries if word.isalpha() and word.islower()}
    return pl.DataFrame({"word": list(words), "valence": list(words.values())})


def score(batch: pa.RecordBatch, words: pl.DataFrame) -> pa.Table:
    """The score of every text, from -1 to 1: the sum of its words' valences, scaled as VADER does it."""
    rows = pl.DataFrame(batch).with_row_index("row")
    said = rows.select("row", word=pl.col("text").str.to_lowercase().str.extract_all("[a-z]+")).explode("word")
    sums = said.join(words, on="word").group_by("row").agg(pl.col("valence").sum())
    total = pl.col("valence").fill_null(0.0)
    scored = rows.join(sums, on="row", how="left", maintain_order="left").with_columns(
        score=total / (total * total + 15).sqrt()
    )
    mood = pl.when(pl.col("score") >= 0.05).then(pl.lit("positive")).when(pl.col("score") <= -0.05)
    moods = mood.then(pl.lit("negative")).otherwise(pl.lit("neutral"))
    return scored.select("ts", "score", mood=moods).to_arrow().cast(SCORED)


def moods(t: rh.Topology, texts: DataFrame) -> rh.Stream:
    """Texts and their mean score by mood, every minute. Texts have the columns ``ts`` and ``text``."""
    source = t.source(texts, event_time="ts", name="texts")
    scored = source.map("scored", partial(score, words=lexicon()), schema="ts timestamp, score double, mood string")
    return scored.aggregate(
        "moods", by="mood", windows=rh.tumbling("1 minute"), texts=rh.count(), score=rh.mean("score")
    )


def topology(spark: SparkSession) -> rh.Topology:
    options = {"rowsPerBatch": "1000", "advanceMillisPerBatch": "30000", "startTimestamp": "1767225600000"}
    rows = spark.readStream.format("rate-micro-batch").options(**options).load()
    words = "split('we love this great happy day but hate rain and sad awful news of the river', ' ')"
    word = f"element_at({words}, 1 + pmod(hash(value, i), 16))"
    text = f"array_join(transform(sequence(1, 8), i -> {word}), ' ') as text"
    t = rh.Topology("moods")
    moods(t, rows.selectExpr("timestampadd(MILLISECOND, value % 1000 * 30, timestamp) as ts", text)).sink(
        rh.sinks.console()
    )
    return t


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as checkpoint:
        query = topology(rh.session("moods")).start(checkpoint)
        query.await_epoch(3)
        query.stop()
