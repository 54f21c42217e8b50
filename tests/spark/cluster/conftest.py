"""What the tests on a standalone cluster share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="package", autouse=True)
def _importable() -> Iterator[None]:
    """Workers pass their environment on to executors, which import the functions of the jobs from here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        yield
