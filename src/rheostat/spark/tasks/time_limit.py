"""A time limit on the user's functions in a Python worker."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rheostat.errors import OperatorError

_GRACE = 10.0
"""Seconds from the time limit until a process that could not be interrupted is ended."""


@contextmanager
def time_limit(seconds: float, operator: str) -> Iterator[None]:
    """Raise an ``OperatorError`` if the block takes longer than ``seconds``.

    The alarm interrupts Python code wherever it is. Code that does not return to Python, such as a loop in C, cannot be
    interrupted: its process is ended, which Spark reports as a crashed worker. Outside the main thread of a process
    there is no alarm, and so no limit.

    Args:
        seconds: the limit.
        operator: name of the operator for the error.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise OperatorError(
            operator,
            f"it did not return within its time limit of {seconds:g} s; "
            "give it a larger time_limit=, or fewer rows per epoch",
        )

    def give_up() -> None:
        sys.stderr.write(f"operator {operator!r} did not return within its time limit; ending its process\n")
        os._exit(1)

    watchdog = threading.Timer(seconds + _GRACE, give_up)
    watchdog.daemon = True
    watchdog.start()
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        watchdog.cancel()
