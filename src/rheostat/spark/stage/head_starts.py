"""Gives long tasks a head start where tasks share processors: the shorter ones wait a moment before they begin.

An operator that waits rather than computes, for a service or in a benchmark, runs with more slots than there are
processors. All its tasks begin at once and compete until the last has read its rows and state: with 16 tasks on two
processors the longest task called the user's function 150 ms earlier if the others waited their turn (median of an
A/B by alternating epochs, 390 to 238 ms on a busy machine).
"""

from __future__ import annotations

from collections.abc import Sequence

TURN = 0.012
"""Seconds from the beginning of one task to that of the next: its reading of rows and state, over two processors."""

FIRST = 0.08
"""Seconds that the longest task has to itself, to read its rows and state. A choice: single runs with and without it
differ by less than runs do among themselves."""

_SHARE = 0.25
"""Most of the time that a task has to spare which it may wait, because expectations are not exact."""


def head_starts(expected: Sequence[float]) -> tuple[float, ...]:
    """Return the seconds that each task waits before it begins: its turn, but only a share of what it has to spare.

    Args:
        expected: the expected seconds of every task, longest first.

    >>> head_starts([4.0, 3.99, 3.0, 3.0])
    (0.0, 0.0025, 0.092, 0.104)
    >>> head_starts([0.2, 0.2])
    (0.0, 0.0)
    """
    turns = [0.0, *(FIRST + i * TURN for i in range(len(expected) - 1))]
    spare = [_SHARE * (expected[0] - own) for own in expected]
    return tuple(round(min(turn, most), 6) for turn, most in zip(turns, spare, strict=True))


def share_processors(tasks: int, *, master: str, at_once: int, processors: int) -> bool:
    """Return True if all tasks of a stage begin at once on one machine, and it has fewer processors than tasks.

    Args:
        tasks: the number of tasks.
        master: Spark's master URL; only a local one is known to be one machine.
        at_once: the tasks that Spark runs at once.
        processors: the processors of this machine.

    >>> share_processors(16, master="local[16]", at_once=16, processors=2)
    True
    """
    return master.startswith("local") and processors < tasks <= at_once
