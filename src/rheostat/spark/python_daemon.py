"""PySpark's daemon, which forks the Python workers, with one change: a worker whose task was killed ends quietly.

When a query is stopped, Spark kills the tasks of the epoch under way and closes their sockets. A worker that still has
results to write then fails with ``BrokenPipeError``, and PySpark's daemon prints its traceback for each of them,
although nothing is wrong. The setting ``spark.python.daemon.module`` makes Spark start this module instead.
"""

from __future__ import annotations

import socket

from pyspark import daemon

_worker = daemon.worker


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


if __name__ == "__main__":
    daemon.worker = quiet_worker
    daemon.manager()
