"""Ends processes together with everything that they started.

A Spark worker starts executors, these start Python daemons, and these fork Python workers into process groups of their
own. All of them stay in the session of the worker, so a process that was started as the leader of a session is ended
with its session. Sessions are read from ``/proc``; where there is none, only the process group of the leader is ended.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def start_of(pid: int) -> str:
    """When a process started, as the kernel tells it: a number that has been given to another process differs in it.

    Args:
        pid: number of the process.

    Returns:
        An opaque text; empty if the process does not run or there is no ``/proc``.
    """
    fields = _fields(pid)
    return "" if not fields or fields[0] in ("Z", "X") else fields[19]


def runs(pid: int, started: str) -> bool:
    """True if a process runs and is still the one that was started.

    Args:
        pid: number of the process.
        started: what ``start_of`` returned for it.

    >>> runs(os.getpid(), start_of(os.getpid())), runs(os.getpid(), "another process")
    (True, False)
    """
    if _PROC.is_dir():
        return bool(started) and start_of(pid) == started
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def end_sessions(leaders: Iterable[int], patience: float) -> None:
    """End the sessions that these processes lead: ask first, and kill what is still there after a time.

    Args:
        leaders: numbers of the processes that lead the sessions; they may have ended already.
        patience: seconds that processes have to end by themselves; with 0 they are killed at once.

    >>> import subprocess
    >>> child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    >>> end_sessions([child.pid], patience=5)
    >>> child.wait(timeout=5)
    -15
    """
    sessions = set(leaders)
    for pid in _members(sessions) if patience > 0 else ():
        _send(pid, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while (left := _members(sessions)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        _send(pid, signal.SIGKILL)
    deadline = time.monotonic() + 5.0  # the kernel takes a moment to end them
    while _members(sessions) and time.monotonic() < deadline:
        time.sleep(0.02)


def _members(sessions: set[int]) -> list[int]:
    """The running processes of sessions; without ``/proc``, the negated leaders that run, which means their groups."""
    if not _PROC.is_dir():
        return [-leader for leader in sessions if runs(leader, "")]
    numbers = (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    members = []
    for pid in numbers:
        fields = _fields(pid)
        if fields and fields[0] not in ("Z", "X") and int(fields[3]) in sessions:
            members.append(pid)
    return members


def _fields(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` that follow the name of the program; none if the process has gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _send(pid: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, what)
