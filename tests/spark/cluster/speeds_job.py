"""A query on three workers, one of which takes twice as long for a row. It runs until its work follows their speed.

``python -m tests.spark.cluster.speeds_job MASTER FOLDER`` runs it and prints what came of it as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter, deque
from pathlib import Path

import numpy as np
import polars as pl

import rheostat as rh
from rheostat.demo.sleeping_totals import COMPONENT, job, running
from rheostat.workloads.live_rows import live_rows
from rheostat.workloads.row_feeder import RowFeeder

SLOW = "127.0.0.4"
ROW_SECONDS = 0.004
RATE = 150.0
"""Rows per second: 0.6 of the 2.5 seconds per second that the workers have."""
SECONDS = 240
RECENT = 15
"""Epochs in which rows by worker are counted."""


def slow_on_one_host(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The running totals; a row takes twice as long on the slow host."""
    time.sleep(ROW_SECONDS * len(rows) * (2 if os.environ["SPARK_LOCAL_IP"] == SLOW else 1))
    return running(rows, state)


def rows_by_host(query: rh.Query) -> Counter[str]:
    """The rows of the newest epoch by the host that processed them."""
    seen = query._job.observer.newest.operators.get(COMPONENT)
    found: Counter[str] = Counter()
    if seen is not None and len(seen.rows) and len(seen.hosts) == len(seen.plan.nodes):
        slots = np.bincount(seen.plan.routing, weights=seen.rows, minlength=len(seen.hosts))
        for host, rows in zip(seen.hosts, slots.tolist(), strict=True):
            found[host] += int(rows)
    return found


def main(master: str, folder: Path) -> None:
    conf = {"spark.executor.cores": "1", "spark.executor.memory": "512m", "spark.driver.memory": "1g"}
    spark = rh.session("speeds", master, {**conf, "spark.cores.max": "3", "spark.locality.wait": "10s"})
    rows = live_rows([RATE] * SECONDS, keys=2000)
    recent: deque[Counter[str]] = deque(maxlen=RECENT)
    shares: dict[str, float] = {}
    with RowFeeder(rows.times, rows.keys, patience=120.0) as feed:
        topology = job(spark, feed.port, ROW_SECONDS, folder / "out", logic=slow_on_one_host)
        query = topology.start(str(folder / "checkpoint"), shards=256, slots=3, policy="balance")
        deadline, epoch = time.monotonic() + SECONDS, -1
        while query.is_active and time.monotonic() < deadline:
            time.sleep(0.05)
            if query.status.epoch > epoch:
                epoch = query.status.epoch
                recent.append(rows_by_host(query))
            total = sum(recent, Counter())
            if len(recent) == RECENT and len(total) == 3:
                shares = {host: rows / total.total() for host, rows in sorted(total.items())}
                if abs(shares.get(SLOW, 0.0) - 0.2) <= 0.02:
                    break
        feed.end()
        while query.status.rows < feed.sent and query.is_active and time.monotonic() < deadline + 60:
            time.sleep(0.1)
        query.stop()
    reasons = [reason for d in query.decisions() for reason in d.reasons]
    written = pl.read_parquet(str(folder / "out" / "*" / "*.parquet"), hive_partitioning=False)
    print(json.dumps({"shares": shares, "reasons": reasons, "rows": len(written), "sent": feed.sent, "epochs": epoch}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
