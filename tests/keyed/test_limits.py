"""A time limit on the user's functions: they are interrupted anywhere, and no timer or handler is left behind."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from rheostat.errors import OperatorError
from rheostat.spark.tasks.time_limit import time_limit


def watchdogs() -> int:
    return sum(isinstance(t, threading.Timer) for t in threading.enumerate())


def spin(seconds: float) -> None:
    """Run for ever, under a time limit."""
    with time_limit(seconds, "slow"):
        while True:
            pass


def test_code_that_takes_too_long_is_interrupted_and_named() -> None:
    began = time.perf_counter()
    with pytest.raises(
        OperatorError, match="operator 'slow' failed: it did not return within its time limit of 0.05 s"
    ):
        spin(0.05)
    assert time.perf_counter() - began < 5


def test_a_sleep_is_interrupted_too() -> None:
    with pytest.raises(OperatorError, match="give it a larger time_limit="), time_limit(0.05, "slow"):
        time.sleep(30)


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_behind(fails: bool) -> None:
    before, running = signal.getsignal(signal.SIGALRM), watchdogs()
    if fails:
        with pytest.raises(KeyError), time_limit(60, "quick"):
            raise KeyError
    else:
        with time_limit(60, "quick"):
            pass
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    for _ in range(100):
        if watchdogs() <= running:  # the cancelled watchdog of an earlier test may have ended meanwhile
            break
        time.sleep(0.01)
    assert watchdogs() <= running


def test_outside_the_main_thread_there_is_no_limit() -> None:
    done: list[bool] = []

    def work() -> None:
        with time_limit(0.01, "slow"):
            time.sleep(0.05)
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
