"""``rheostat bench autoscale``: nodes saved and throughput lost, by ELYSIUM, joint scaling and Spark's own allocation.

A standalone cluster of workers with one core each runs the same rows for every side, one after the other. Rows sleep in
their slots, so that all workers can work at once on a machine with few processors. Throughput degradation and nodes
saved are the paper's (ELYSIUM section 5.1).
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.autoscale_loads import LOADS, NODES
from benchmarks.live_side import LiveRun
from benchmarks.side_process import run_side
from rheostat.arrays import Floats
from rheostat.spark.cluster.local_cluster import LocalCluster

SIDES = ("fixed", "reactive", "proactive", "joint", "dynamic")
"""All nodes all the time; ELYSIUM reactive and proactive; joint scaling; Spark's dynamic allocation."""

PERIOD = 10.0
"""Seconds of an assessment period, for all sides that have one."""

WINDOW = 20.0
"""Seconds of a window in which input and throughput are compared: some epochs long."""

WARM_UP = 20
"""Seconds at the begin of every run that do not count: nothing has been measured yet, and all nodes are there."""


def run(
    workloads: Sequence[str], sides: Sequence[str], seconds: int, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run all sides of some loads and return the figures.

    Args:
        workloads: names in ``LOADS``.
        sides: names in ``SIDES``.
        seconds: length of a run.
        say: called with each step.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        say(f"starting a cluster of {NODES} workers")
        with LocalCluster.start(NODES, cores=1, memory="512m", port=0, folder=home / "cluster") as cluster:
            for workload in workloads:
                found[workload] = {}
                rows = LOADS[workload](seconds).rows()
                for side in sides:
                    say(f"{workload}: {side}")
                    at = home / workload / side
                    spec = {"workload": workload, "side": side, "seconds": seconds, "home": str(at),
                            "period": PERIOD, "master": cluster.master}  # fmt: skip
                    run_side("benchmarks.autoscale_side", spec, seconds + 600.0)
                    figures = found[workload][side] = figures_of(LiveRun(at, rows), seconds)
                    say(f"{workload}: {side} saved {figures['nodes_saved']}, degraded {figures['degradation']}")
    return {
        "nodes": NODES,
        "seconds": seconds,
        "period_s": PERIOD,
        "nodes_saved": _mean(found, "reactive", "nodes_saved"),
        "degradation": _mean(found, "reactive", "degradation"),
        "proactive_nodes_saved": _mean(found, "proactive", "nodes_saved"),
        "proactive_degradation": _mean(found, "proactive", "degradation"),
        "joint_nodes_saved": _mean(found, "joint", "nodes_saved"),
        "joint_degradation": _mean(found, "joint", "degradation"),
        "dra_nodes_saved": _mean(found, "dynamic", "nodes_saved"),
        "dra_degradation": _mean(found, "dynamic", "degradation"),
        "fixed_degradation": _mean(found, "fixed", "degradation"),
        "results_equal": all(figures["exact"] for sides in found.values() for figures in sides.values()),
        "workloads": found,
    }


def figures_of(run: LiveRun, seconds: int, warm_up: int = WARM_UP) -> dict[str, Any]:
    """Return what a run measured after its warm-up.

    Args:
        run: the run.
        seconds: when the last row was due.
        warm_up: seconds at the begin that do not count.
    """
    began = run.figures["began"]
    samples = np.array(json.loads((run.home / "nodes.json").read_text()), dtype=np.float64).reshape(-1, 2)
    at, held = samples[:, 0] - began, samples[:, 1]
    counted = (at > warm_up) & (at <= seconds)
    latency = run.committed.latency[run.rows.times > warm_up]
    epochs = [e for e, commit in zip(run.figures["epochs"], run.commits, strict=True) if commit > warm_up]
    degradation = throughput_degradation(run.rows.times, run.commits, _rows_by_epoch(run), warm_up, seconds)
    return {
        "nodes_saved": _rounded(nodes_saved(held[counted])),
        "degradation": _rounded(degradation),
        "mean_nodes": _rounded(float(held[counted].mean())) if counted.any() else None,
        "most_nodes": int(held[counted].max(initial=0)),
        "latency_mean_s": _rounded(float(latency.mean())),
        "latency_p50_s": _rounded(float(np.quantile(latency, 0.5))),
        "latency_p99_s": _rounded(float(np.quantile(latency, 0.99))),
        "epoch_s": _rounded(float(np.mean([e["seconds"] for e in epochs]))) if epochs else None,
        "decisions": sum(not d["outcome"].startswith("refused") for d in run.figures["decisions"]),
        "exact": run.is_exact,
    }


def throughput_degradation(due: Floats, commits: Floats, rows: Floats, begin: float, end: float) -> float:
    """Return the mean of |input load - throughput| / input load over windows (ELYSIUM section 5.1).

    The rows of an epoch are taken to be processed evenly between the commit before and its own.

    Args:
        due: when each row was sent, sorted.
        commits: when each epoch was committed, sorted.
        rows: rows of each epoch.
        begin: from when to count.
        end: until when to count.

    >>> due = np.arange(0.0, 60.0, 0.1)
    >>> on_time, late = np.arange(1.0, 62.0), np.r_[np.arange(1.0, 21.0), 40.0, 60.0]
    >>> throughput_degradation(due, on_time, np.full(61, 10.0), 0.0, 60.0)
    0.0
    >>> rows = np.r_[np.full(20, 10.0), 0.0, 400.0]  # nothing for 20 s, and then everything
    >>> round(throughput_degradation(due, late, rows, 0.0, 60.0), 2)
    0.67
    """
    edges = np.arange(begin, end + 1e-9, WINDOW)
    sent = np.diff(np.searchsorted(due, edges))
    done = np.diff(np.interp(edges, np.r_[0.0, commits], np.r_[0.0, np.cumsum(rows)]))
    some = sent > 0
    return float(np.mean(np.abs(sent[some] - done[some]) / sent[some])) if some.any() else math.nan


def nodes_saved(held: Floats) -> float:
    """Return the share of nodes saved with respect to all of them, all the time (ELYSIUM section 5.1).

    Args:
        held: executors that were there, at equal distances in time.

    >>> nodes_saved(np.array([6.0, 3.0, 0.0]))
    0.5
    """
    return 1.0 - float(held.sum()) / (len(held) * NODES) if len(held) else math.nan


def _rows_by_epoch(run: LiveRun) -> Floats:
    return np.array([e["rows"] for e in run.figures["epochs"]], dtype=np.float64)


def _mean(found: Mapping[str, Mapping[str, Any]], side: str, figure: str) -> float | None:
    """Return a figure of a side as a mean over loads; None if it did not run in any."""
    values = [sides[side][figure] for sides in found.values() if side in sides and sides[side][figure] is not None]
    return _rounded(float(np.mean(values))) if values else None


def _rounded(value: float) -> float | None:
    return None if not math.isfinite(value) else round(value, 4)
