"""Enorm's evaluation (sections 6.1 and 7) run again, and its future work (section 8) tried."""

from __future__ import annotations

from papers.claims import Claim
from papers.enorm import fusion, future, migration, windows
from papers.run import Run

TITLE = "Enorm: efficient window-based computation in large-scale distributed stream processing systems"


def reproduce(run: Run) -> list[Claim]:
    """Every figure and table, and which claims hold."""
    return [
        *windows.reproduce(run),
        *migration.reproduce(run),
        *fusion.reproduce(run),
        *future.reproduce(run),
    ]
