"""One side of ``rheostat bench autoscale``: a run against the clock on a cluster, with the nodes that it held.

``python -m benchmarks.autoscale_side SPEC`` runs it. Nodes are counted by asking Spark for its executors, whoever asked
for them.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import rheostat as rh
from benchmarks.autoscale_loads import LOADS, NODES, Curve
from benchmarks.live_side import run_live
from rheostat.elastic.policies import LiveElysium, LiveJointScaling
from rheostat.workloads.live_rows import live_rows

DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.initialExecutors": str(NODES),
    "spark.dynamicAllocation.maxExecutors": str(NODES),
    # As users set them for short batches: the defaults are a minute, and never for executors with shuffle files.
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "10s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
}
"""Spark's own dynamic allocation, for a standalone cluster without a shuffle service."""

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""JVM options of all executors on all sides. Six nodes share the processors of one machine here, so that five that
start at once take the time of each other: 22 s until Spark has them without these options, 9 s with them (two
processors)."""

_EXECUTORS_LIMIT = 120.0
"""Seconds to wait until all executors are there, before a run begins."""

_WARM_UP = 8
"""Seconds of rows before the run."""


def options_of(side: str, curve: Curve, home: Path, period: float) -> dict[str, Any]:
    """Return what a side passes to ``Topology.start``.

    Args:
        side: name of the side.
        curve: the load, whose past a proactive policy knows.
        home: folder of the run.
        period: seconds of an assessment period.
    """
    if side in ("fixed", "dynamic"):
        return {"policy": "static", "slots": NODES}
    options: dict[str, Any] = {"nodes": rh.nodes(1, NODES), "slots": (1, 4 * NODES)}
    if side == "joint":
        return {**options, "policy": LiveJointScaling(period=period)}
    if side == "reactive":
        return {**options, "policy": LiveElysium(period=period)}
    past = home.with_name(f"{home.name}-past.csv")
    curve.write_past(past)
    return {**options, "policy": LiveElysium(period=period, proactive=True), "history": past}


def executors(spark: Any) -> int:
    """Return the executors that Spark has."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def _main(spec: dict[str, Any]) -> dict[str, Any]:
    home, side = Path(spec["home"]), str(spec["side"])
    home.parent.mkdir(parents=True, exist_ok=True)
    curve = LOADS[spec["workload"]](spec["seconds"])
    conf = {
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.driver.memory": "2g",
        "spark.executor.extraJavaOptions": QUICK_START,
    }
    spark = rh.session("bench", spec["master"], {**conf, **(DYNAMIC if side == "dynamic" else {})})
    held: list[tuple[float, int]] = []
    try:
        deadline = time.monotonic() + _EXECUTORS_LIMIT
        while executors(spark) < NODES and time.monotonic() < deadline:
            time.sleep(0.2)
        # Code is compiled and workers are started on every node, before anything is learned or counted.
        warm = live_rows([2.0 * 250] * _WARM_UP, keys=1024)
        run_live(spark, warm, home.with_name(f"{home.name}-warm-up"), slots=NODES)
        options = options_of(side, curve, home, spec["period"])

        def sample(_: rh.Query, __: float) -> None:
            held.append((time.time(), executors(spark)))

        done = run_live(spark, curve.rows(), home, sample, **options)
        (home / "nodes.json").write_text(json.dumps(held))
        return done
    finally:
        spark.stop()


if __name__ == "__main__":
    print(json.dumps(_main(json.loads(sys.argv[1]))))
