"""PySpark's daemon, which forks the Python workers, with two changes.

**Workers start with everything loaded.** PySpark forks first and imports then, so that every new worker takes about a
second of a core to import Arrow, Polars and what tasks are made of. A query that goes from 2 to 16 slots would pay that
fourteen times, in the epoch that is in a hurry. This daemon imports once, before it forks, and takes what it imported
out of the garbage collection that PySpark runs after every task. PySpark is careful because threads do not survive a
fork: none of these packages starts a thread of its own at import that its work depends on, with one thread per worker
as ``RECOMMENDED`` asks for, and Arrow and the allocators prepare for forks. ``tests/spark/test_python_daemon.py`` uses
all of them in forked workers.

**A worker whose task was killed ends quietly.** When a query is stopped, Spark kills the tasks of the epoch under way
and closes their sockets. A worker that still has results to write then fails with ``BrokenPipeError``, and PySpark's
daemon prints its traceback for each of them, although nothing is wrong.

The setting ``spark.python.daemon.module`` makes Spark start this module instead of PySpark's own.
"""

from __future__ import annotations

import gc
import importlib
import socket
from contextlib import suppress

from pyspark import daemon

_worker = daemon.worker


PRELOADED = ("pyspark.worker", "pyspark.sql.pandas.serializers", "rheostat.spark.tasks.task")
"""Modules to import before the first fork; they import NumPy, Arrow, Polars and pandas."""


def preload() -> None:
    """Import what tasks need, once for all workers. What cannot be imported here fails in the worker, which says so."""
    for module in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()


def quiet_worker(sock: socket.socket, authenticated: bool) -> int:
    """Serve tasks; return 1, so that the process ends, if Spark closed the connection while results were written.

    Args:
        sock: the connection to Spark.
        authenticated: True if Spark has shown its secret.
    """
    try:
        return _worker(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1


def main() -> None:
    """Fork Python workers as Spark asks for them, until Spark ends."""
    daemon.worker = quiet_worker
    preload()
    daemon.manager()


if __name__ == "__main__":
    main()
