"""Send rows over TCP at the times of a schedule, for Spark's ``socket`` source.

Spark's ``rate`` source hands over its rows once a second. Here they arrive one by one, so that the latency of a row is
what its epoch cost and not when the source woke up.
"""

from __future__ import annotations

import socket
import threading
import time
from types import TracebackType

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats

HOST = "127.0.0.1"

_STEP = 0.01  # seconds between two looks at what is due
_PATIENCE = 60.0  # seconds to wait for somebody to connect
_STUCK = 30.0  # seconds after which a receiver that takes nothing is given up


class RowFeeder:
    """Sends a line ``key,number`` for each row when it is due, to the first program that connects.

    The schedule begins when somebody connects. The feed ends by itself: after the last row, or when nobody connects or
    takes rows for a while. The connection stays open until ``close``, so that the receiver does not see an end.

    Args:
        times: seconds from the begin at which rows are due, sorted.
        keys: the key of each row; its number is its place in the schedule.
        patience: seconds to wait for somebody to connect.

    Attributes:
        port: the port to connect to, on this host.
        began: when the schedule began, in seconds since 1970; None before.
        sent: number of rows sent so far.
        lag: the most seconds that rows were sent after they were due.

    >>> with RowFeeder(np.array([0.0, 0.05]), np.array([7, 3])) as feed:
    ...     with socket.create_connection((HOST, feed.port)) as receiver:
    ...         done = feed.wait(10.0)
    ...         print(receiver.recv(100).decode().split(), done)
    ['7,0', '3,1'] True
    """

    def __init__(self, times: Floats, keys: npt.NDArray[np.int64], patience: float = _PATIENCE) -> None:
        lines = [f"{key},{number}\n".encode() for number, key in enumerate(keys.tolist())]
        self._times = times
        self._bytes = memoryview(b"".join(lines))
        self._ends = np.concatenate([[0], np.cumsum([len(line) for line in lines], dtype=np.int64)])
        self._ending = threading.Event()
        self._closing = threading.Event()
        self._done = threading.Event()
        self._server = socket.create_server((HOST, 0))
        self._server.settimeout(patience)
        self.port: int = self._server.getsockname()[1]
        self.began: float | None = None
        self.sent = 0
        self.lag = 0.0
        self._thread = threading.Thread(target=self._run, name="row-feeder", daemon=True)
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """True if all rows were sent before the timeout; False as soon as the feed has ended without that."""
        self._done.wait(timeout)
        return self.sent == len(self._times)

    def end(self, timeout: float = _STUCK) -> bool:
        """Send no further rows, and keep the connection open; True if the last ones were sent before the timeout.

        >>> with RowFeeder(np.array([0.0, 3600.0]), np.array([7, 3])) as feed:
        ...     with socket.create_connection((HOST, feed.port)) as receiver:
        ...         receiver.recv(100), feed.end(10.0), feed.sent
        (b'7,0\\n', True, 1)
        """
        self._ending.set()
        return self._done.wait(timeout)

    def close(self) -> None:
        """End the feed and close the connection."""
        self._ending.set()
        self._closing.set()
        self._server.close()
        self._thread.join(timeout=_STUCK)

    def __enter__(self) -> RowFeeder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        try:
            receiver, _ = self._server.accept()
        except OSError:  # nobody connected, or the feed was closed
            self._done.set()
            return
        with receiver:
            try:
                receiver.settimeout(_STUCK)
                self._send_all(receiver)
            except OSError:  # the receiver has gone, or takes nothing
                pass
            finally:
                self._done.set()
            self._closing.wait()

    def _send_all(self, receiver: socket.socket) -> None:
        begin, self.began = time.monotonic(), time.time()
        while self.sent < len(self._times) and not self._ending.wait(_STEP):
            now = time.monotonic() - begin
            due = int(np.searchsorted(self._times, now, side="right"))
            if due > self.sent:
                receiver.sendall(self._bytes[self._ends[self.sent] : self._ends[due]])
                self.lag = max(self.lag, time.monotonic() - begin - float(self._times[self.sent]))
                self.sent = due
