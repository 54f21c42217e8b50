"""The driver of the cluster tests: a process of its own, because a process has one Spark session.

It runs one query over rows that it feeds file by file, one per epoch, while nodes are added, released, killed and
refused, and prints what it saw as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from rheostat.spark.cluster.local_cluster import LocalCluster
from rheostat.spark.executors import executor_nodes
from rheostat.state.inspection import inspect
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, running

WINDOWS = [*rh.tumbling("1 minute"), *rh.sliding("3 minutes", every="1 minute")]
LIMIT = 150.0  # seconds for anything to happen
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def slow_running(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """As ``running``, long enough for a kill to hit it."""
    time.sleep(0.2)
    return running(rows, state)


def topology(spark: Any, folder: Path) -> rh.Topology:
    t = rh.Topology("cluster")
    schema = spark.read.parquet(str(folder / "files" / "00000.parquet")).schema
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    rows = t.source(files, event_time="ts", slack="20 seconds")
    stream = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    stream.consolidate("windows", WINDOWS).sink(rh.sinks.parquet(str(folder / "out")))
    kept = rows.process("running", slow_running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA)
    kept.sink(rh.sinks.parquet(str(folder / "running")))
    return t


class Run:
    """A query, and the hand that feeds it."""

    def __init__(self, spark: Any, folder: Path, nodes: rh.NodeRange) -> None:
        self.folder = folder
        self.at_decision: Callable[[], None] | None = None
        self.query = topology(spark, folder).start(
            str(folder / "checkpoint"), nodes=nodes, slots=2, probe=self._probe, trigger="0 seconds"
        )

    def _probe(self, step: str) -> None:
        if step == "decide" and self.at_decision is not None:
            threading.Timer(0.1, self.at_decision).start()
            self.at_decision = None

    @property
    def fed(self) -> int:
        return len(list((self.folder / "in").glob("*.parquet")))

    def epoch(self) -> None:
        """Feed one file, and wait for its epoch."""
        number = self.fed
        name = sorted(path.name for path in (self.folder / "files").glob("*.parquet"))[number]
        hidden = self.folder / "in" / f".{name}"
        shutil.copy2(self.folder / "files" / name, hidden)
        hidden.rename(self.folder / "in" / name)
        assert self.query.await_epoch(number, timeout=LIMIT)

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Run epochs until something has happened."""
        deadline = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < deadline, f"{what}: {self.query.nodes}, {self.events()}"
            self.epoch()

    def finish(self) -> None:
        """Run epochs until windows have closed, and stop the query."""
        while self.fed < 12:
            self.epoch()
        self.query.stop()

    def events(self, kind: str = "") -> list[str]:
        found = inspect(str(self.folder / "checkpoint"))["events"]
        return [e["values"]["what"] for e in found if "what" in e["values"] and (e["kind"] == kind or not kind)]

    def nodes(self) -> int:
        return len(self.query.nodes)


def executor_pid(application: str, executor: str) -> int:
    """The JVM of an executor."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if (
                application in words
                and "--executor-id" in words
                and words[words.index("--executor-id") + 1] == executor
            ):
                return int(entry.name)
    raise AssertionError(f"executor {executor} of {application} does not run")


def scaling(folder: Path, cluster: LocalCluster) -> dict[str, Any]:
    """Scale in and out, and kill an executor in the middle of an epoch."""
    spark = rh.session("scaling", master=cluster.master, conf=CONF)
    application = str(spark.sparkContext.applicationId)
    seen: dict[str, Any] = {"places": places(spark)}
    run = Run(spark, folder, rh.nodes(1, 3))
    query = run.query
    run.until("all workers have an executor", lambda: run.nodes() == 3)
    query.rescale_nodes(1)
    query.rescale(slots=1)
    run.until("scale in", lambda: run.nodes() == 1)
    run.epoch()
    query.rescale_nodes(3)
    query.rescale(slots=3)
    run.until("scale out", lambda: run.nodes() == 3)
    run.epoch()
    victim = query.nodes[-1].name
    run.at_decision = lambda: os.kill(executor_pid(application, victim), signal.SIGKILL)
    run.until("executor lost", lambda: bool(run.events("node lost")))
    run.until("executor replaced", lambda: run.nodes() == 3)
    slo = query.slo()
    seen |= {"node_seconds": slo.node_seconds, "seconds": slo.seconds}
    run.finish()
    return {**seen, **outcome(run)}


def losses(folder: Path, cluster: LocalCluster) -> dict[str, Any]:
    """Kill a worker, wait for one that does not come, give another one, and kill the master."""
    executor_nodes.PATIENCE = 1.0
    spark = rh.session("losses", master=cluster.master, conf=CONF)
    run = Run(spark, folder, rh.nodes(3, 4))
    query = run.query
    run.until("all workers have an executor", lambda: run.nodes() == 3)
    query.rescale_nodes(4)
    run.until("told as late", lambda: bool(run.events("nodes late")))
    run.at_decision = lambda: cluster.kill_worker("worker-3")
    run.until("worker lost", lambda: bool(run.events("node lost")))
    seen: dict[str, Any] = {"without_worker": [node.host for node in query.nodes]}
    cluster.add_worker()
    run.until("new worker", lambda: run.nodes() == 3)
    seen["with_worker"] = sorted(node.host for node in query.nodes)
    master = next(member for member in cluster.state.members if member.name == "master")
    os.kill(master.pid, signal.SIGKILL)
    query.rescale_nodes(3)
    run.until("refused", lambda: bool(run.events("nodes refused")))
    run.epoch()
    run.finish()
    return {**seen, **outcome(run)}


def places(spark: Any) -> list[list[str]]:
    """Where Python workers run, and which cache they have, once there are three."""

    def place(_: Any) -> Any:
        time.sleep(0.1)
        yield os.environ["SPARK_LOCAL_IP"], os.environ["RHEOSTAT_CACHE"]

    found: dict[str, str] = {}
    deadline = time.monotonic() + LIMIT
    while len(found) < 3 and time.monotonic() < deadline:
        found |= dict(spark.sparkContext.parallelize(range(6), 6).mapPartitions(place).collect())
    return [list(item) for item in sorted(found.items())]


def die_while_scaling_out(folder: Path, cluster: LocalCluster) -> None:
    """Ask for more nodes, and die in the epoch in which they were asked for."""
    spark = rh.session("dies", master=cluster.master, conf=CONF)
    run = Run(spark, folder, rh.nodes(1, 3))
    run.until("all workers have an executor", lambda: run.nodes() == 3)
    run.query.rescale_nodes(1)
    run.until("scale in", lambda: run.nodes() == 1)
    run.query.rescale_nodes(2)
    run.at_decision = lambda: os.killpg(0, signal.SIGKILL)
    run.epoch()


def go_on(folder: Path, cluster: LocalCluster) -> dict[str, Any]:
    """Go on where another driver died."""
    spark = rh.session("goes on", master=cluster.master, conf=CONF)
    run = Run(spark, folder, rh.nodes(1, 3))
    run.query.await_epoch(run.fed - 1, timeout=LIMIT)
    run.until("the number of the last run", lambda: run.nodes() == 2)
    run.epoch()
    run.finish()
    return outcome(run)


def outcome(run: Run) -> dict[str, Any]:
    report = inspect(str(run.folder / "checkpoint"))
    return {
        "fed": run.fed,
        "events": [[e["kind"], e["values"].get("what", "")] for e in report["events"]],
        "decisions": [[d["action"], d["nodes"], d["outcome"]] for d in report["decisions"] if d["nodes"][1]],
    }


def main(what: str, folder: Path) -> None:
    cluster = LocalCluster.find(folder / "cluster")
    assert cluster is not None
    (folder / "in").mkdir(exist_ok=True)
    jobs = {"scaling": scaling, "losses": losses, "die": die_while_scaling_out, "go_on": go_on}
    print(json.dumps(jobs[what](folder, cluster)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
