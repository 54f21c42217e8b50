"""Run one side of a benchmark in its own process and measure its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheostat.errors import RheostatError

_INTERVAL = 0.2  # seconds between two samples of memory
_MEGABYTE = 1_048_576


def run_side(module: str, spec: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Run ``python -m module SPEC`` and return the JSON object of its last line, with ``peak_rss_mb`` added.

    Args:
        module: the module to run.
        spec: its argument, passed as JSON.
        timeout: seconds after which the process is killed and ``RheostatError`` raised.

    Returns:
        What the side printed; ``peak_rss_mb`` is the peak of the resident memory of its processes together.
    """
    os.sync()  # or this side would have to wait for files that were written before
    process = subprocess.Popen(
        [sys.executable, "-m", module, json.dumps(dict(spec))],
        cwd=Path(__file__).parents[1],  # where the module's package is
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = _MemoryWatch(process.pid)
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise RheostatError(f"{module} took longer than {timeout:.0f} s: use fewer rows or keys") from None
    finally:
        watch.stop()
    if process.returncode != 0:
        raise RheostatError(f"{module} failed:\n{errors[-4000:]}")
    result: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return {**result, "peak_rss_mb": watch.peak // _MEGABYTE}


class _MemoryWatch:
    """Samples the resident memory of a process and all its descendants.

    Attributes:
        peak: the largest sum so far, in bytes.
    """

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_INTERVAL):
            self.peak = max(self.peak, sum(_resident(p) for p in _family(self._pid)))


def _family(pid: int) -> set[int]:
    """Return a process and its descendants, as /proc lists them; only the process on systems without /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # the process has ended
        parents[int(stat.parent.name)] = int(fields[1])
    family = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in family} - family
        if not more:
            return family
        family |= more


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it has ended."""
    try:
        for line in (Path("/proc") / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
