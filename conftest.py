"""The SparkSession that all tests share, and what the examples in docstrings may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import shares_spark
from tests.loans import SCHEMA, write_loans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    import rheostat as rh  # noqa: PLC0415 - tests without Spark do not load PySpark

    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # plans run a few times each: the second compiler never pays
    session = rh.session(
        "tests",
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": quick,
        },
    )
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _names_of_examples(
    request: pytest.FixtureRequest, doctest_namespace: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """What examples in docstrings may use, in the modules whose examples run on Spark.

    ``rh``; ``spark``, a session; ``loans``, a streaming DataFrame with the rows of ``tests/loans.py``, one file per
    epoch; ``folder``, an empty folder. In the docstrings of ``Query`` also ``query``, which runs.
    """
    if not (isinstance(request.node, pytest.DoctestItem) and shares_spark(request.node.nodeid)):
        yield
        return
    import rheostat as rh  # noqa: PLC0415

    spark = request.getfixturevalue("spark")
    folder = tmp_path_factory.mktemp("example")
    write_loans(folder / "loans")
    loans = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "loans"))
    names = {"rh": rh, "spark": spark, "loans": loans, "folder": str(folder / "work")}
    Path(names["folder"]).mkdir()
    if request.node.nodeid.startswith("src/rheostat/spark/query.py"):
        names["query"] = _running_query(loans, folder)
    doctest_namespace.update(names)
    yield
    for query in spark.streams.active:
        query.stop()


def _running_query(loans: Any, folder: Path) -> Any:
    import rheostat as rh  # noqa: PLC0415

    t = rh.Topology("running")  # examples start others beside it
    source = t.source(loans, event_time="ts")
    source.aggregate("areas", by="area", windows=rh.tumbling("1 hour"), loans=rh.count()).sink(rh.sinks.memory())
    return t.start(str(folder / "checkpoint"))
