"""One SparkSession for all tests that need Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import rheostat as rh


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/tests/spark/" in str(item.path):
            item.add_marker(pytest.mark.spark)
