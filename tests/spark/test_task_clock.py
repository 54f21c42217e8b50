"""What a task measures of itself: seconds, computing, and waiting for a processor."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time

import pytest

from rheostat.spark.tasks.worker import TaskClock

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long threads were queued")


def _compute(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@linux_only
def test_sleeping_is_not_waiting_for_a_processor() -> None:
    clock = TaskClock()
    time.sleep(0.2)
    assert 0 <= clock.waited < 0.1


@linux_only
def test_a_task_on_a_processor_that_others_use_waits() -> None:
    """Two processes share one processor with this one, so that it computes for about a third of the time."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    others = [multiprocessing.get_context("fork").Process(target=_compute, args=(5.0,), daemon=True) for _ in range(2)]
    try:
        for other in others:
            other.start()
        clock = TaskClock()
        _compute(0.6)
        waited, usage = clock.waited, clock.usage()
    finally:
        os.sched_setaffinity(0, allowed)
        for other in others:
            other.kill()
            other.join(5)
    assert waited > 0.1
    assert waited + usage.cpu <= clock.seconds + 0.01
