"""The job that the crash test kills: a process of its own, which runs over everything there is and ends."""

from __future__ import annotations

import sys
from pathlib import Path

import rheostat as rh
from tests.spark.streams import read_stream

WINDOWS = [*rh.tumbling("1 minute", "5 minutes"), *rh.sliding("3 minutes", "1 minute")]


def report(progress: rh.Progress) -> None:
    print(progress.epoch, flush=True)


def main(folder: Path) -> None:
    spark = rh.session("crash", conf={"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"})
    t = rh.Topology("crash")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts", slack="20 seconds", late="aside")
    stream = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    stream.consolidate("windows", WINDOWS).sink(rh.sinks.parquet(str(folder / "out")))
    totals = rows.compute("overall", n=rh.count()).consolidate("totals", rh.sliding("5 minutes", "1 minute"))
    totals.sink(rh.sinks.format("json", str(folder / "totals")))
    print("started", flush=True)
    query = t.start(
        str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW, on_progress=lambda p: print(p.epoch, flush=True)
    )
    query.await_termination()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
