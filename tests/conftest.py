"""What makes the fast tests fast, and lets two workers share all of them with one SparkSession."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Every run draws the same examples, so what fails is what was changed; ``make explore`` looks for new ones.
settings.register_profile("steady", derandomize=True)
settings.register_profile("fast", settings.get_profile("steady"), max_examples=25)
settings.register_profile("explore", derandomize=False, print_blob=True)
settings.load_profile("steady")

COMPILED = (
    "tests/simulate",
    "tests/reproduce",
    "tests/elastic/policies",
    "tests/elastic/grouping",
    "tests/elastic/profiles",
    "tests/elastic/forecasts",
    "tests/elastic/elysium",
    "rheostat/simulate",
    "rheostat/reproduce",
)


LONG = ("tests/test_cli.py", "tests/demo", "tests/workloads/test_exchange.py", "tests/workloads/test_lobster.py")
"""They start processes, or make and read whole days of orders."""


def _shares_spark(nodeid: str) -> bool:
    return nodeid.startswith("tests/spark/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, parts in (("simulated", COMPILED), ("slow", LONG)):
            if any(part in item.path.as_posix() for part in parts):
                item.add_marker(marker)
    # Tests that share a SparkSession take longest together, so they begin first.
    items.sort(key=lambda item: not _shares_spark(item.nodeid))


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all tests that share a SparkSession to one worker, the others file by file to whoever has time."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if _shares_spark(nodeid) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark:
    return OneSpark(config, log)
