"""``rheostat bench homes``: three hosts with caches of their own on a remote checkpoint, with and without homes.

Running totals per key on a standalone cluster of three one-core workers. Both sides keep and share copies in the same
way; on one of them the slots have homes, on the other Spark places their tasks. After half of the epochs, 8 of 256
shards move from one slot to another. The checkpoint is on this machine, and Python workers read its files as slowly as
from an object store (``slow_reads``). ``python -m benchmarks.bench_homes SPEC`` runs one side.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rheostat as rh
from benchmarks import rheostat_totals, slow_reads
from benchmarks.side_process import run_side
from benchmarks.skewed_files import START, write_rows
from rheostat.spark import topology
from rheostat.spark.cluster.local_cluster import LocalCluster

HOSTS = 3
"""Workers with one core each, and slots."""

SKIPPED = 6
"""Epochs before the measured ones: the first has all keys."""

MOVED = 8
"""Shards that move once."""

_TIMEOUT = 900.0
_ROOT = Path(__file__).parents[1]


def run(keys: int, rows: int, epochs: int, rounds: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run both sides by turns, each on a cluster and with caches of its own, and return the figures.

    Args:
        keys: keys in state.
        rows: rows of an epoch.
        epochs: epochs that are measured.
        rounds: how often each side runs.
        say: called with each step.
    """
    sides: dict[str, list[dict[str, Any]]] = {"homes": [], "spark": []}
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        _write(home / "data", keys, rows, SKIPPED + epochs)
        for number in range(rounds):
            for side in ("homes", "spark") if number % 2 == 0 else ("spark", "homes"):
                say(f"round {number + 1}: {side}")
                spec = {"side": side, "home": folder, "scratch": f"{side}-{number}", "epochs": epochs}
                sides[side].append(run_side("benchmarks.bench_homes", spec, _TIMEOUT))
        outs = [rheostat_totals.results(home / f"{side}-{n}" / "out") for side in sides for n in range(rounds)]
    with_homes, without = sides["homes"], sides["spark"]
    fetched = {side: statistics.mean(r["fetched_bytes"] for r in runs) / epochs for side, runs in sides.items()}
    pairs = [a["epoch_s"] / b["epoch_s"] for a, b in zip(with_homes, without, strict=True)]
    return {
        "keys": keys,
        "rows_per_epoch": rows,
        "epochs": epochs,
        "rounds": rounds,
        "state_bytes": with_homes[0]["state_bytes"],
        "homes_fetched_per_epoch": round(fetched["homes"]),
        "fetched_per_epoch": round(fetched["spark"]),
        "homes_still_fetched": max(r["still_fetched_bytes"] for r in with_homes),
        "homes_epoch_s": round(statistics.median(r["epoch_s"] for r in with_homes), 4),
        "epoch_s": round(statistics.median(r["epoch_s"] for r in without), 4),
        "homes_away": sum(r["away"] for r in with_homes),
        "fetched_ratio": round(fetched["spark"] / max(fetched["homes"], 1.0), 2),
        "epoch_ratio": round(statistics.median(pairs), 4),
        "results_equal": all(out.equals(outs[0]) for out in outs[1:]),
    }


def _write(folder: Path, keys: int, rows: int, files: int) -> None:
    """Write one file with all keys, then files with random ones."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    every = np.arange(keys)
    write_rows(folder / "00000.parquet", START + every, every, every % 1_000, 0)
    for epoch in range(1, files):
        some = rng.integers(0, keys, rows)
        times = START + epoch * 1_000_000 + np.arange(rows)
        write_rows(folder / f"{epoch:05d}.parquet", times, some, some % 1_000, epoch)


def _side(side: str, home: Path, scratch: Path, epochs: int) -> dict[str, Any]:
    """Run one side on a new cluster."""
    scratch.mkdir()
    # Python workers import this package, wherever it is.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    if side == "spark":
        vars(topology)["has_executors"] = lambda _: False  # as in local mode, so no slot gets a home
    with LocalCluster.start(HOSTS, cores=1, folder=scratch / "cluster") as cluster:
        settings = {
            "spark.python.daemon.module": slow_reads.__name__,
            "spark.executor.memory": "768m",
            "spark.driver.memory": "1g",
            "spark.cores.max": str(HOSTS),  # wait for all of them
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        }
        spark = rh.session("homes", master=cluster.master, conf=settings)
        try:
            progress = _run(spark, home / "data", scratch, epochs)
        finally:
            spark.stop()
    measured = progress[SKIPPED:]
    assert len(measured) == epochs
    moved = SKIPPED + epochs // 2
    return {
        "epoch_s": statistics.mean(p.seconds for p in measured),
        "fetched_bytes": sum(p.fetched_bytes for p in measured),
        "still_fetched_bytes": sum(p.fetched_bytes for p in measured if p.epoch < moved),
        "away": sum(p.away for p in measured),
        "state_bytes": progress[-1].state_bytes,
    }


def _run(spark: Any, data: Path, scratch: Path, epochs: int) -> list[rh.Progress]:
    """Run the query to its end; some shards move when half of the measured epochs are done."""
    queries: list[rh.Query] = []

    def committed(progress: rh.Progress) -> None:
        if queries and progress.epoch == SKIPPED + epochs // 2 - 1:
            (component, routing), *_ = queries[0].routing.items()
            queries[0].reassign(component, [1] * MOVED + list(routing[MOVED:]))

    checkpoint = f"mounted://{scratch}/checkpoint"
    queries.append(rheostat_totals.start(spark, data, scratch, committed, slots=HOSTS, checkpoint=checkpoint))
    queries[0].await_termination()
    return queries[0].progress


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    where = Path(given["home"])
    print(json.dumps(_side(given["side"], where, where / given["scratch"], given["epochs"])))
