"""The job of the test of homes: a process of its own on a cluster of three workers, whose state is on a remote folder.

It runs three times over what there is: shards move in the first run, the second begins with the homes of the first, and
before the third a worker is killed. What it saw goes to a file.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.spark.cluster.local_cluster import LocalCluster
from rheostat.spark.hosts import HostWatch
from tests.spark.crashing_job import QUICK_START
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, running
from tests.spark.streams import read_stream

RUNS = 3
SHARDS = 16
MOVED_AFTER = 2
"""The epoch after which shards move."""


def run(spark: SparkSession, folder: Path, number: int) -> list[dict[str, Any]]:
    """Run over the files of the runs so far; return what every epoch did."""
    for file in sorted((folder / f"in{number}").iterdir()):
        file.rename(folder / "in" / file.name)
    t = rh.Topology("homes")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts")
    kept = rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA)
    kept.sink(rh.sinks.parquet(str(folder / "out")))
    queries: list[rh.Query] = []

    def committed(progress: rh.Progress) -> None:
        if progress.epoch == MOVED_AFTER and queries:
            routing = queries[0].routing["by key"]
            queries[0].reassign("by key", [1, *routing[1:]])

    checkpoint = f"mounted://{folder}/checkpoint"
    queries.append(t.start(checkpoint, shards=SHARDS, slots=3, trigger=rh.AVAILABLE_NOW, on_progress=committed))
    queries[0].await_termination(timeout=200)
    told = ("epoch", "homes", "away", "fetched_bytes", "migrated_bytes", "damaged_copies")
    hosts = queries[0]._job.observer.newest.operators["by key"].hosts
    return [
        {**{name: getattr(p, name) for name in told}, "moved": sum(c.moved for c in p.changes), "hosts": hosts}
        for p in queries[0].progress
    ]


def main(folder: Path, cluster: LocalCluster) -> None:
    conf = {
        "spark.driver.memory": "1g",
        "spark.cores.max": "3",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.locality.wait": "30s",  # on a busy machine, too, tasks wait for their homes
    }
    spark = rh.session("homes", master=cluster.master, conf={**conf, **QUICK_START})
    watch = HostWatch(spark.sparkContext)
    runs = [run(spark, folder, 0), run(spark, folder, 1)]
    cluster.kill_worker("worker-3")
    deadline = time.monotonic() + 100
    while len(watch.read()) > 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    runs.append(run(spark, folder, 2))
    (folder / "seen.json").write_text(json.dumps(runs))
    spark.stop()


if __name__ == "__main__":
    found = LocalCluster.find(Path(sys.argv[2]))
    assert found is not None
    main(Path(sys.argv[1]), found)
