"""One SparkSession for all tests that need it, and what lets two workers share the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Every run draws the same examples, so what fails is what was changed; ``make explore`` looks for new ones.
settings.register_profile("steady", derandomize=True)
settings.register_profile("fast", settings.get_profile("steady"), max_examples=25)
settings.register_profile("explore", derandomize=False, print_blob=True)
settings.load_profile("steady")

EVALUATIONS = ("tests/papers/",)
"""They run parts of the papers' evaluations; ``make test-papers``."""

NO_EVALUATIONS = ("tests/papers/test_claims.py", "tests/papers/test_commands.py")
"""Tests of papers/ that run none."""

COMPILED = (
    "tests/simulate",
    "tests/papers",
    "tests/elastic/test_conformance",
    "tests/elastic/test_missing_metrics",
    "tests/elastic/elysium",
    "tests/elastic/posg",
    "rheostat/simulate",
    "/papers/",
)
"""They run compiled loops, which are compiled at first use, or train networks."""

LONG = ("tests/cli", "tests/demo", "tests/workloads/test_exchange.py", "tests/workloads/test_lobster.py")
"""They start processes, or make and read whole days of orders."""

SPARK = ("tests/spark/", "tests/benchmarks/")
"""They share a SparkSession."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    import rheostat as rh

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


def _shares_spark(nodeid: str) -> bool:
    return nodeid.startswith(SPARK)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, parts in (("simulated", COMPILED), ("slow", LONG), ("spark", SPARK)):
            if any(part in item.path.as_posix() for part in parts):
                item.add_marker(marker)
        if item.nodeid.startswith(EVALUATIONS) and not item.nodeid.startswith(NO_EVALUATIONS):
            item.add_marker("papers")
    # Tests that share a SparkSession take longest together, so they begin first.
    items.sort(key=lambda item: not _shares_spark(item.nodeid))


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all tests that share a SparkSession to one worker, the others file by file to whoever has time."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if _shares_spark(nodeid) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark:
    return OneSpark(config, log)
