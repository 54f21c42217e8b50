"""``rheostat bench windows`` and ``multiwindow``: overlapping windows on Rheostat and on plain Spark.

``python -m benchmarks.bench_windows SPEC`` runs one of the sides.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from benchmarks.side_process import run_side
from benchmarks.skewed_files import SkewedFiles
from rheostat.windows.window import Window, sliding, tumbling

OVERLAPS = {
    1: tumbling("1 minute"),
    12: sliding("60 minutes", every="5 minutes"),
    60: sliding("60 minutes", every="1 minute"),
}
"""Windows by the number of windows that each row belongs to."""

MULTIPLE = tumbling("10 minutes", "30 minutes", "1 hour", "6 hours", "24 hours")
"""The windows of the lending job."""

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class WindowBench:
    """A benchmark of windows.

    Attributes:
        windows: the windows that both sides compute.
        rows: number of rows in all files together.
        minutes: minutes of event time that the rows span.
        files: number of files; each is the input of one epoch.
        timeout: seconds that one side may take.
    """

    windows: tuple[Window, ...]
    rows: int
    minutes: int
    files: int = 8
    timeout: float = 3600.0

    def run(self, say: Say = lambda _: None) -> dict[str, Any]:
        """Write the input, run each side in a new process, compare their results, and return the figures.

        Args:
            say: called with each step.
        """
        with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
            home = Path(folder)
            say("generating rows")
            SkewedFiles(self.rows, self.files, minutes=self.minutes).write(home / "data")
            # Enough small epochs for the JVM to compile its hot code; the same for both sides.
            warm_rows, warm_files = max(self.rows // 8, 2_000), 8
            SkewedFiles(warm_rows, warm_files, minutes=self.minutes, seed=2).write(home / "warm_up")
            sides = {}
            for side in ("native", "rheostat"):
                say(f"running {side}")
                sides[side] = run_side("benchmarks.bench_windows", self._spec(side, home), self.timeout)
            say("comparing results")
            equal, count = _compare(home)
        return self._report(sides, equal, count)

    def _spec(self, side: str, home: Path) -> dict[str, Any]:
        return {
            "side": side,
            "windows": [[w.size, w.slide] for w in self.windows],
            "data": str(home / "data"),
            "warm_up": str(home / "warm_up"),
            "scratch": str(home / side),
        }

    def _report(self, sides: dict[str, dict[str, Any]], equal: bool, results: int) -> dict[str, Any]:
        native, rheostat = (self.rows / sides[s]["seconds"] for s in ("native", "rheostat"))
        return {
            "windows": [w.label for w in self.windows],
            "rows": self.rows,
            "event_minutes": self.minutes,
            "results": results,
            "native_rows_per_s": round(native),
            "rheostat_rows_per_s": round(rheostat),
            "ratio": round(rheostat / native, 2),
            "results_equal": equal,
            "rheostat_state_bytes": sides["rheostat"]["state_bytes"],
            "native_state_bytes": sides["native"]["state_bytes"],
            "peak_rss_mb": sides["rheostat"]["peak_rss_mb"],
            "native_peak_rss_mb": sides["native"]["peak_rss_mb"],
            "native_seconds": round(sides["native"]["seconds"], 2),
            "rheostat_seconds": round(sides["rheostat"]["seconds"], 2),
        }


def overlap_bench(overlap: int, rows: int, minutes: int) -> WindowBench:
    """Return the benchmark of count, sum and max over windows; each row belongs to ``overlap`` windows."""
    return WindowBench(windows=OVERLAPS[overlap], rows=rows, minutes=minutes)


def multiwindow_bench(rows: int, minutes: int) -> WindowBench:
    """Return the benchmark of the five windows of the lending job: one topology, or five Spark queries."""
    return WindowBench(windows=MULTIPLE, rows=rows, minutes=minutes)


def _compare(home: Path) -> tuple[bool, int]:
    """Return True if both sides gave the same rows, and the number of rows."""
    columns = ["window", "window_start", "window_end", "key", "n", "s", "m"]
    native, rheostat = (
        pl.read_parquet(str(home / side / "run" / "out" / pattern), hive_partitioning=False)
        .select(columns)
        .with_columns(pl.col("window_start", "window_end").dt.replace_time_zone(None))
        .sort(columns)
        for side, pattern in (("native", "*/*.parquet"), ("rheostat", "epoch=*/*.parquet"))
    )
    return native.equals(rheostat), len(rheostat)


def _side(spec: dict[str, Any]) -> dict[str, Any]:
    """Warm up and measure one side; return its figures."""
    from benchmarks import native_windows, rheostat_windows  # noqa: PLC0415 - PySpark takes long to load

    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    windows = [rh.Window(size, slide) for size, slide in spec["windows"]]
    run = native_windows.run if spec["side"] == "native" else rheostat_windows.run
    scratch = Path(spec["scratch"])
    run(spark, windows, data=Path(spec["warm_up"]), scratch=scratch / "warm")
    began = time.perf_counter()
    result = run(spark, windows, data=Path(spec["data"]), scratch=scratch / "run")
    result["seconds"] = time.perf_counter() - began
    return result


if __name__ == "__main__":
    print(json.dumps(_side(json.loads(sys.argv[1]))))
