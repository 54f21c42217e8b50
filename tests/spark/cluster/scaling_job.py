"""A query on a cluster that begins with one executor, gets more work than that can do, and then hardly any.

Each load lasts until executors have followed it: how long that takes depends on the machine.

``python -m tests.spark.cluster.scaling_job MASTER FOLDER`` runs it and prints what came of it as JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import rheostat as rh
from rheostat.demo.sleeping_totals import job

ROW_SECONDS = 0.01
BUSY, CALM = 180.0, 10.0
"""Rows per second: 1.8 slots' worth of work, and a tenth of one."""
KEYS = 200
LIMIT = 150.0
"""Seconds within which executors must have followed a load."""


class RowsAtRate(threading.Thread):
    """Sends lines ``key,number`` to the first program that connects, at a rate that may change."""

    def __init__(self, rate: float) -> None:
        super().__init__(daemon=True)
        self.rate = rate
        self.sent = 0
        self.ending = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(120.0)
        self.port: int = self._server.getsockname()[1]
        self.start()

    def run(self) -> None:
        receiver, _ = self._server.accept()
        due = 0.0
        while not self.ending.wait(0.05):
            due += 0.05 * self.rate
            numbers = range(self.sent, int(due))
            receiver.sendall("".join(f"{n % KEYS},{n}\n" for n in numbers).encode())
            self.sent = max(int(due), self.sent)


def wait_for(condition: Callable[[], bool], query: rh.Query) -> None:
    """Wait until something holds, the query ends or the time is up."""
    deadline = time.monotonic() + LIMIT
    while not condition() and query.is_active and time.monotonic() < deadline:
        time.sleep(0.2)


def main(master: str, folder: Path) -> None:
    conf = {"spark.executor.cores": "1", "spark.executor.memory": "512m", "spark.driver.memory": "1g"}
    spark = rh.session("scaling", master, {**conf, "spark.cores.max": "3"})
    feed = RowsAtRate(0.0)
    query = job(spark, feed.port, ROW_SECONDS, folder / "out").start(
        str(folder / "checkpoint"), shards=16, nodes=rh.nodes(1, 3), policy=rh.policies.LiveElysium(period=4.0),
    )  # fmt: skip

    held: list[int] = []

    def nodes_are(right: Callable[[int], bool]) -> Callable[[], bool]:
        def look() -> bool:
            held.append(len(query.nodes))
            return right(held[-1])

        return look

    feed.rate = CALM
    query.rescale_nodes(1)
    wait_for(nodes_are(lambda n: n == 1), query)
    feed.rate = BUSY
    wait_for(nodes_are(lambda n: n > 1), query)
    feed.rate = CALM
    wait_for(nodes_are(lambda n: n == 1), query)
    # What is left when the rows end may still be a surge on a busy machine; nobody judges that.
    decisions = [d.to_json() for d in query.decisions() if d.policy != "user"]
    feed.ending.set()
    feed.join()
    wait_for(lambda: query.status.rows >= feed.sent, query)
    query.stop()
    if (error := query.exception()) is not None:
        raise error
    found = pl.read_parquet(str(folder / "out" / "*" / "*.parquet"), hive_partitioning=False)
    last = found.group_by("key").agg(pl.col("s").max()).sort("key")
    sums = np.bincount(np.arange(feed.sent) % KEYS, weights=np.arange(feed.sent))
    print(
        json.dumps(
            {
                "rows": len(found),
                "expected_rows": feed.sent,
                "sums": last["s"].to_list(),
                "expected_sums": [int(sums[key]) for key in last["key"]],
                "decisions": decisions,
                "held": held,
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
