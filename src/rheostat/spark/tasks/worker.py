"""The process that runs a task: where it is, and what a task uses of it."""

from __future__ import annotations

import gc
import os
import resource
import socket
import sys
import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from rheostat.spark.stage.report_wire import WiredReport, to_lines
from rheostat.spark.stage.task_reports import TaskUsage


class TaskClock:
    """Measures a task. It starts when it is created: before the input is read.

    Attributes:
        began: when the task began, in seconds of ``time.perf_counter``.
    """

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self._cpu = time.process_time()
        self._queued = _queued_seconds()

    @property
    def seconds(self) -> float:
        """Seconds since the task began."""
        return time.perf_counter() - self.began

    @property
    def waited(self) -> float:
        """Seconds since the task began in which it was ready to run and had no processor; NaN if unknown.

        Several threads may have waited at once, so it is never more than the time in which the task did not compute.
        """
        queued = _queued_seconds() - self._queued
        return min(queued, max(self.seconds - (time.process_time() - self._cpu), 0.0)) if queued >= 0 else queued

    def wire(self, report: WiredReport) -> pa.RecordBatch:
        """End the task: note in its report how long it took and what it used, and return what travels to the driver."""
        report.seconds, report.usage = self.seconds, self.usage()
        return pa.RecordBatch.from_pydict({"report": to_lines(report)})

    def usage(self) -> TaskUsage:
        """What the task used so far, and where it ran."""
        host, executor = _executor()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return TaskUsage(
            cpu=time.process_time() - self._cpu,
            queued=self.waited,
            memory=peak if sys.platform == "darwin" else peak * 1024,
            host=host,
            executor=executor,
            machine=socket.gethostname(),
            processors=_processors(),
        )


def _queued_seconds() -> float:
    """Seconds that the threads of this process have been ready to run and had no processor; NaN if unknown.

    The work of Polars and Arrow is done in threads of their own, for which the task waits.
    """
    try:
        threads = Path("/proc/self/task").iterdir()
        return sum(int((thread / "schedstat").read_bytes().split()[1]) for thread in threads) / 1e9
    except (OSError, IndexError, ValueError):
        return float("nan")


def _processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _executor() -> tuple[str, str]:
    """The name of the host as Spark knows it, and the id of the Spark executor; ``driver`` in local mode.

    Spark does not tell its Python workers. Their grandparent is the executor's JVM, whose arguments have both.
    """
    try:
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
        parent = stat.rpartition(")")[2].split()[1]
        jvms = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in (os.getppid(), int(parent))]
    except (OSError, IndexError, ValueError):
        return socket.gethostname(), ""
    for line in jvms:
        arguments = line.decode(errors="replace").split("\0")
        if "--executor-id" in arguments[:-1]:
            values = dict(pairwise(arguments))
            return values.get("--hostname", socket.gethostname()), values["--executor-id"]
    return socket.gethostname(), "driver"


_frozen = False


def freeze_modules() -> None:
    """Exclude all imported modules from garbage collection, once per worker process.

    PySpark collects garbage after every task, in all imported modules. Excluding them saves about 30 ms per task.
    """
    global _frozen  # noqa: PLW0603
    if not _frozen:
        gc.collect()
        gc.freeze()
        _frozen = True
