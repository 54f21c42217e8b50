"""The job that the crash test kills: a process of its own, which runs over everything there is and ends.

Every epoch has another number of slots than the one before, so that every kill hits a rescale.
"""

from __future__ import annotations

import sys
from pathlib import Path

import rheostat as rh
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, running
from tests.spark.streams import read_stream

# A dozen short lives: interpreting plans and stopping at the first compiler beats what would pay in a long one.
QUICK_START = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
WINDOWS = [*rh.tumbling("1 minute", "5 minutes"), *rh.sliding("3 minutes", every="1 minute")]


def main(folder: Path) -> None:
    spark = rh.session("crash", conf={"spark.driver.memory": "1g", **QUICK_START})
    t = rh.Topology("crash")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts", slack="20 seconds", late="aside")
    stream = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    stream.consolidate("windows", WINDOWS).sink(rh.sinks.parquet(str(folder / "out")))
    totals = rows.compute("overall", n=rh.count()).consolidate("totals", rh.sliding("5 minutes", every="1 minute"))
    totals.sink(rh.sinks.format("json", str(folder / "totals")))
    kept = rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA)
    kept.sink(rh.sinks.parquet(str(folder / "running")))
    print("ready", flush=True)
    sys.stdin.readline()  # Spark is up; begin when the one before is dead
    queries: list[rh.Query] = []

    def committed(progress: rh.Progress) -> None:
        for query in queries:
            query.rescale(slots=1 + progress.epoch % 3)
        print(progress.epoch, flush=True)

    queries.append(t.start(str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW, on_progress=committed))
    queries[0].await_termination()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
