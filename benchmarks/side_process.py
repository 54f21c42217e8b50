"""One side of a comparison in a process of its own, with its memory watched."""

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

_INTERVAL = 0.2  # seconds between looks at memory
_MEGABYTE = 1_048_576


def run_side(module: str, spec: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Run ``python -m module SPEC`` and return the JSON on its last line, with ``peak_rss_mb`` of all its processes."""
    os.sync()  # what was written before is not this side's to wait for
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
        raise RheostatError(f"{module} took longer than {timeout:.0f} s; use fewer rows") from None
    finally:
        watch.stop()
    if process.returncode != 0:
        raise RheostatError(f"{module} failed:\n{errors[-4000:]}")
    result: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return {**result, "peak_rss_mb": watch.peak // _MEGABYTE}


class _MemoryWatch:
    """Samples the resident memory of a process and all its descendants."""

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
    """The process and its descendants, by the parents in /proc; only itself where there is no /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it ended while we looked
        parents[int(stat.parent.name)] = int(fields[1])
    family = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in family} - family
        if not more:
            return family
        family |= more


def _resident(pid: int) -> int:
    try:
        for line in (Path("/proc") / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
