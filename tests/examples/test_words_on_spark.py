"""Top words and sentiment on Spark give what DuckDB's SQL gives over all texts at once."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import rheostat as rh
from examples import sentiment, top_words
from tests.spark.streams import T0, read_stream, run

pytest.importorskip("vaderSentiment", reason="the extra sentiment is not installed: make env")

RECORDED = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "text"
BOOK = RECORDED / "war_and_peace.txt"
recorded = pytest.mark.skipif(not BOOK.exists(), reason=f"no recorded text in {RECORDED}: set RHEOSTAT_DATA")

LINES = 2_400
"""Ten lines a second: four minutes in three files."""


def made_up() -> list[str]:
    """Lines of words from the lexicon, stop words and others."""
    rng = np.random.default_rng(1)
    some = sentiment.lexicon()["word"].gather_every(300).to_list()
    words = np.array([*some, *top_words.STOP_WORDS, "river", "Paper", "it's", "stone,", "..."])
    return [" ".join(words[(rng.random(10) ** 2 * len(words)).astype(int)]) for _ in range(LINES)]


def book() -> list[str]:
    return [line for line in BOOK.read_text().splitlines() if line.strip()][1_000 : 1_000 + LINES]


@pytest.fixture(
    scope="module",
    params=[made_up, pytest.param(book, marks=[recorded, pytest.mark.papers])],
    ids=["made up", "recorded"],
)
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files with the columns ``ts`` and ``text``."""
    folder = tmp_path_factory.mktemp("lines")
    times = (T0 + pl.int_range(LINES, eager=True) * 100_000).cast(pl.Datetime("us", "UTC"))
    frame = pl.DataFrame({"ts": times, "text": request.param()})
    for number in range(3):
        path = folder / f"{number}.parquet"
        frame[number * LINES // 3 : (number + 1) * LINES // 3].write_parquet(path)
        os.utime(path, (1_000_000_000 + number,) * 2)
    return folder


def query(sql: str, folder: Path) -> pl.DataFrame:
    """The result of SQL over the view ``texts``, with times in seconds after the first line."""
    with duckdb.connect() as connection:
        connection.register("lexicon", sentiment.lexicon().to_arrow())
        connection.execute(
            f"CREATE VIEW texts AS SELECT (epoch_us(ts) - {T0}) / 1e6 AS second, text, epoch_us(ts) AS id "
            f"FROM '{folder}/*.parquet'"
        )
        found: pl.DataFrame = connection.sql(sql).pl()
        return found


def seconds(column: str) -> pl.Expr:
    return ((pl.col(column).dt.epoch("us") - T0) // 1_000_000).cast(pl.Int64).alias(column)


def results(spark: SparkSession, build: object, folder: Path, checkpoint: Path) -> pl.DataFrame:
    assert callable(build)
    t = rh.Topology("texts")
    stream: DataFrame = read_stream(spark, folder)
    out = rh.sinks.memory()
    build(t, stream).sink(out)
    run(t, checkpoint)
    return out.frame()


def test_top_words(spark: SparkSession, tmp_path: Path, lines: Path) -> None:
    found = results(spark, top_words.top_words, lines, tmp_path / "checkpoint")
    stop = ", ".join(f"'{word}'" for word in top_words.STOP_WORDS)
    wanted = query(
        f"""WITH words AS (SELECT second, unnest(regexp_extract_all(lower(text), '[a-z]+')) AS word FROM texts),
          copies AS (SELECT word, (floor(second / 10) - step + 6) * 10 AS window_end FROM words, range(6) AS steps(step)
            WHERE word NOT IN ({stop})),
          counts AS (SELECT window_end, word, count(*) AS times FROM copies GROUP BY ALL)
        SELECT window_end::BIGINT AS window_end, row_number() OVER (
            PARTITION BY window_end ORDER BY times DESC, word) AS rank, word, times
        FROM counts WHERE window_end < {LINES / 10} QUALIFY rank <= 5""",
        lines,
    )
    columns = ["window_end", "rank", "word", "times"]
    assert len(wanted) > 100
    assert sorted(found.select(seconds("window_end"), *columns[1:]).rows()) == sorted(wanted.select(columns).rows())


def test_sentiment(spark: SparkSession, tmp_path: Path, lines: Path) -> None:
    found = results(spark, sentiment.moods, lines, tmp_path / "checkpoint")
    wanted = query(
        f"""WITH words AS (SELECT id, unnest(regexp_extract_all(lower(text), '[a-z]+')) AS word FROM texts),
          sums AS (SELECT id, sum(valence) AS total FROM words JOIN lexicon USING (word) GROUP BY id),
          scores AS (SELECT second, coalesce(total / sqrt(total * total + 15), 0) AS score
            FROM texts LEFT JOIN sums USING (id))
        SELECT (floor(second / 60) * 60)::BIGINT AS window_start,
          CASE WHEN score >= 0.05 THEN 'positive' WHEN score <= -0.05 THEN 'negative' ELSE 'neutral' END AS mood,
          count(*) AS texts, avg(score) AS score
        FROM scores WHERE second < {LINES / 10 - 60} GROUP BY ALL ORDER BY ALL""",
        lines,
    )
    ours = found.select(seconds("window_start"), "mood", "texts", "score").sort("window_start", "mood")
    assert set(wanted["mood"]) == {"positive", "negative", "neutral"}
    assert ours.select("window_start", "mood", "texts").rows() == wanted.select("window_start", "mood", "texts").rows()
    assert ours["score"].to_list() == pytest.approx(wanted["score"].to_list())
