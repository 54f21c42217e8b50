"""Which tests need engines that are compiled, or networks that are trained: the fast ones leave them out."""

from __future__ import annotations

import pytest

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(part in item.path.as_posix() for part in COMPILED):
            item.add_marker("simulated")
