"""Enorm's evaluation (sections 6.1 and 7) run again, and its future work (section 8) tried."""

from __future__ import annotations

from rheostat.reproduce import enorm_fusion, enorm_future, enorm_migration, enorm_windows
from rheostat.reproduce.claims import Claim
from rheostat.reproduce.run import Run

TITLE = "Enorm: efficient window-based computation in large-scale distributed stream processing systems"


def reproduce(run: Run) -> list[Claim]:
    """Every figure and table, and which claims hold."""
    return [
        *enorm_windows.reproduce(run),
        *enorm_migration.reproduce(run),
        *enorm_fusion.reproduce(run),
        *enorm_future.reproduce(run),
    ]
