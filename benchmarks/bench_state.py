"""``rheostat bench state``: a running count and sum per key on Rheostat and on Spark's three Python state APIs.

``python -m benchmarks.bench_state SPEC`` runs one of the sides.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rheostat as rh
from benchmarks import rheostat_totals
from benchmarks.side_process import run_side
from benchmarks.skewed_files import SkewedFiles

RHEOSTAT = "rheostat"
FILES_PER_EPOCH = 2
"""As many as the benchmark machine has cores, so that reading is no bottleneck on any side."""

NATIVE = ("applyInPandasWithState", "transformWithStateInPandas", "transformWithState")


def run(rows: int, epochs: int, keys: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run all sides on the same files, each in a new process after the same warm-up, and return the figures.

    Args:
        rows: number of rows in all.
        epochs: number of epochs.
        keys: number of keys.
        say: called with each step.
    """
    # The two APIs with transformWithState need protobuf.
    ways = [w for w in NATIVE if not w.startswith("transform") or importlib.util.find_spec("google.protobuf")]
    sides: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        say("generating rows")
        files = epochs * FILES_PER_EPOCH
        SkewedFiles(rows, files, keys, minutes=60).write(home / "data")
        SkewedFiles(max(rows // 8, files), files, keys, minutes=60, seed=2).write(home / "warm_up")
        for way in (*ways, RHEOSTAT):
            say(f"running {way}")
            spec = {"way": way, "home": folder}
            sides[way] = run_side("benchmarks.bench_state", spec, 3600.0)
        say("comparing results")
        ours = rheostat_totals.results(home / RHEOSTAT / "run" / "out")
        equal = {way: rheostat_totals.results(home / way / "run" / "out").equals(ours) for way in ways}
    speeds = {way: rows / side["seconds"] for way, side in sides.items()}
    best = max(ways, key=lambda way: speeds[way])
    return {
        "rows": rows,
        "epochs": epochs,
        "keys": keys,
        "rheostat_rows_per_s": round(speeds[RHEOSTAT]),
        "native_rows_per_s": {way: round(speeds[way]) for way in ways},
        "best": best,
        "ratio_to_best": round(speeds[RHEOSTAT] / speeds[best], 2),
        "results_equal": all(equal.values()),
        "skipped": [way for way in NATIVE if way not in ways],
        "state_bytes": sides[RHEOSTAT]["state_bytes"],
        "peak_rss_mb": {way: side["peak_rss_mb"] for way, side in sides.items()},
    }


def _side(way: str, home: Path) -> dict[str, Any]:
    """Warm up and measure one side; return its figures."""
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    figures: dict[str, Any] = {}
    for name in ("warm_up", "data"):
        scratch = home / way / ("run" if name == "data" else "warm")
        began = time.perf_counter()
        if way == RHEOSTAT:
            _, progress = rheostat_totals.timed(spark, home / name, scratch, files_per_epoch=FILES_PER_EPOCH)
            figures = {"state_bytes": progress[-1].state_bytes, "epoch_seconds": [p.seconds for p in progress]}
        else:
            from benchmarks import native_state  # noqa: PLC0415 - pandas, which it needs, takes long to load

            figures = native_state.run(spark, way, data=home / name, scratch=scratch, files_per_epoch=FILES_PER_EPOCH)
        figures["seconds"] = time.perf_counter() - began
    return figures


if __name__ == "__main__":
    spec = json.loads(sys.argv[1])
    print(json.dumps(_side(spec["way"], Path(spec["home"]))))
