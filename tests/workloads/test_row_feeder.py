"""The row feeder: every row once and in time, and an end in every case."""

from __future__ import annotations

import socket
import time

import numpy as np
import pytest

from rheostat.workloads import row_feeder
from rheostat.workloads.row_feeder import HOST, RowFeeder


def received(receiver: socket.socket, size: int) -> bytes:
    """That many bytes; fewer if the feed ends before."""
    parts = b""
    receiver.settimeout(10.0)
    while len(parts) < size and (more := receiver.recv(size - len(parts))):
        parts += more
    return parts


def test_every_row_is_sent_once_in_order_and_none_before_it_is_due() -> None:
    times, keys = np.linspace(0.0, 0.4, 500), np.arange(500) % 7
    expected = "".join(f"{key},{number}\n" for number, key in enumerate(keys)).encode()
    with RowFeeder(times, keys) as feed, socket.create_connection((HOST, feed.port)) as receiver:
        early = received(receiver, len(expected) // 2)
        assert time.time() - (feed.began or 0) >= 0.15, "half of the rows are due after half of the time"
        assert early + received(receiver, len(expected) - len(early)) == expected
        assert feed.wait(5.0)
        assert feed.sent == 500
        assert feed.lag > 0


def test_the_schedule_begins_when_somebody_connects() -> None:
    with RowFeeder(np.array([0.0]), np.array([1])) as feed:
        assert not feed.wait(0.1)
        assert feed.began is None
        with socket.create_connection((HOST, feed.port)):
            assert feed.wait(5.0)
        assert feed.began is not None


def test_nobody_connects() -> None:
    with RowFeeder(np.array([0.0]), np.array([1]), patience=0.05) as feed:
        begin = time.monotonic()
        assert not feed.wait(10.0)
        assert time.monotonic() - begin < 5.0, "the wait ends with the feed"


def test_the_receiver_goes_away() -> None:
    with RowFeeder(np.linspace(0, 60, 6_000), np.zeros(6_000, dtype=np.int64)) as feed:
        socket.create_connection((HOST, feed.port)).close()
        assert not feed.wait(10.0)
        assert feed.sent < 6_000


def test_a_receiver_that_takes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_feeder, "_STUCK", 0.2)
    rows = 1_000_000
    keys = np.zeros(rows, dtype=np.int64)
    with RowFeeder(np.zeros(rows), keys) as feed, socket.create_connection((HOST, feed.port)):
        assert not feed.wait(10.0)


def test_a_feed_that_is_closed_stops_sending() -> None:
    times, keys = np.linspace(0, 60, 6_000), np.zeros(6_000, dtype=np.int64)
    with RowFeeder(times, keys) as feed, socket.create_connection((HOST, feed.port)):
        time.sleep(0.1)
        feed.close()
        assert not feed.wait(5.0)
