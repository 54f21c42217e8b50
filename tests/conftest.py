"""How tests are marked, and what lets two workers share them; ``spark`` is a fixture of the conftest above."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Every run draws the same examples, so what fails is what was changed; ``make explore`` looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("fast", settings.get_profile("steady"), max_examples=25)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("steady")

EVALUATIONS = ("tests/papers/",)
"""They run parts of the papers' evaluations; ``make test-papers``."""

NO_EVALUATIONS = ("tests/papers/test_claims.py", "tests/papers/test_commands.py", "tests/papers/test_pages.py")
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

LONG = (
    "tests/cli",
    "tests/examples/test_exchange.py",
    "tests/workloads/test_exchange.py",
    "tests/workloads/test_lobster.py",
)
"""They start processes, or make and read whole days of orders."""

SPARK = (
    "tests/spark/",
    "tests/benchmarks/",
    "tests/docs/",
    "tests/examples/test_exchange_on_spark.py",
    "tests/examples/test_examples.py",
    "tests/examples/test_nexmark_on_spark.py",
    "tests/examples/test_words_on_spark.py",
    "src/rheostat/__init__.py",
    "src/rheostat/spark/",
    "src/rheostat/topology/",
)
"""They share a SparkSession; those under src have examples that run on it."""

OWN_SESSIONS = ("tests/spark/cluster/",)
"""They are marked like those above, but start processes with sessions of their own."""


def shares_spark(nodeid: str) -> bool:
    """True if a test, or an example in a docstring, runs on the shared SparkSession."""
    return nodeid.startswith(SPARK) and not nodeid.startswith(OWN_SESSIONS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, parts in (("simulated", COMPILED), ("slow", LONG), ("spark", SPARK)):
            if any(part in item.path.as_posix() for part in parts):
                item.add_marker(marker)
        if item.nodeid.startswith(EVALUATIONS) and not item.nodeid.startswith(NO_EVALUATIONS):
            item.add_marker("papers")
    # Tests that share a SparkSession take longest together, so they begin first.
    items.sort(key=lambda item: not shares_spark(item.nodeid))


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all tests that share a SparkSession to one worker, the others file by file to whoever has time."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if shares_spark(nodeid) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark:
    return OneSpark(config, log)
