"""Python workers that read remote files as slowly as from an object store; Spark starts this module as its daemon.

The checkpoint of a benchmark is on this machine's disk, where a file that a host fetches would cost next to nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rheostat.spark import python_daemon
from rheostat.state.files import Folder

REQUEST = 0.010
"""Seconds until the first byte of a file."""

BYTES_PER_SECOND = 100e6
"""Bytes per second of one connection."""


def seconds_for(size: int) -> float:
    """The seconds that reading a file of this many bytes takes.

    >>> seconds_for(1_000_000)
    0.02
    """
    return REQUEST + size / BYTES_PER_SECOND


def slow_down(read: Callable[[Folder, str], bytes]) -> Callable[[Folder, str], bytes]:
    """A function that reads a file of a folder, and takes its time if the folder is remote.

    Args:
        read: reads a file.
    """

    def slowly(folder: Folder, name: str) -> bytes:
        data = read(folder, name)
        if not folder.is_local:
            time.sleep(seconds_for(len(data)))
        return data

    return slowly


if __name__ == "__main__":
    Folder.read = slow_down(Folder.read)  # type: ignore[assignment, method-assign]
    python_daemon.main()
