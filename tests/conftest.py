"""What makes the fast tests fast, and lets two workers share all of them with one Spark at a time."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("fast", max_examples=25)

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


SPARK = ("tests/spark", "tests/test_cli.py")


# First of all: the marks decide which worker runs a test, which is settled at the end of this.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(part in item.path.as_posix() for part in SPARK):
            item.add_marker(pytest.mark.xdist_group("spark"))
        for marker, parts in (("simulated", COMPILED), ("slow", LONG)):
            if any(part in item.path.as_posix() for part in parts):
                item.add_marker(marker)
    # Tests with Spark take longest: their worker begins at once, and the other one takes all the rest.
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
