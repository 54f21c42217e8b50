"""What makes the fast tests fast: no engines to compile, no networks to train, and fewer random examples."""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, parts in (("simulated", COMPILED), ("slow", LONG)):
            if any(part in item.path.as_posix() for part in parts):
                item.add_marker(marker)
