"""Results of operators are read from their files without a query: any name, few rows or many, other files each time."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rheostat.spark.input import result_scans
from rheostat.spark.input.result_scans import ResultScans
from rheostat.spark.output.staged_rows import StagedRows
from rheostat.state.files import Folder
from rheostat.windows.partials import Column

COLUMNS = (
    Column("key", "string"),
    Column("odd.name", "bigint"),
    Column("at", "timestamp"),
    Column("all", "array<int>"),
)


def staged(folder: Path, first: int) -> StagedRows:
    """Three files of two rows."""
    folder.mkdir()
    files = tuple(f"{first + i}.parquet" for i in range(3))
    for i, file in enumerate(files):
        numbers = [first + 2 * i, first + 2 * i + 1]
        values = {"key": ["a", None], "odd.name": numbers, "at": numbers, "all": [[1, None], []]}
        types = {"at": pl.Datetime("us", "UTC"), "all": pl.List(pl.Int32)}
        pl.DataFrame(values, schema_overrides=types).write_parquet(folder / file)
    return StagedRows(folder=Folder.at(str(folder)), files=files, rows=6, schema=COLUMNS)


@pytest.mark.parametrize(("few", "partitions"), [(6, 1), (5, 3)])
def test_rows_are_those_of_the_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, partitions: int
) -> None:
    monkeypatch.setattr(result_scans, "FEW", few)
    scans = ResultScans()
    for first in (0, 100):
        results = staged(tmp_path / f"with space, % and ü {first}", first)
        rdd, schema = scans.rows(spark, "operator", results)
        rows = DataFrame(spark._jsparkSession.internalCreateDataFrame(rdd, schema, False), spark)
        assert rdd.getNumPartitions() == partitions
        assert rows.dtypes == results.frame(spark).dtypes
        assert sorted(rows.collect(), key=number) == sorted(results.frame(spark).collect(), key=number)
        assert [number(row) for row in sorted(rows.collect(), key=number)] == [first + i for i in range(6)]


def number(row: Row) -> int:
    return int(row["odd.name"])
