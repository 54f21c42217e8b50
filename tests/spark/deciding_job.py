"""The job that is killed between a decision and its application: a process of its own.

Before one epoch the policy asks for three slots. When that is stored, the job says so and waits to be killed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import rheostat as rh
from tests.spark.crashing_job import QUICK_START, WINDOWS
from tests.spark.drawn_policy import ScriptedSlots
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, running
from tests.spark.streams import read_stream

DECIDES_AT = 2
"""The epoch for which the policy decides something."""


def main(folder: Path) -> None:
    spark = rh.session("deciding", conf={"spark.driver.memory": "1g", **QUICK_START})
    t = rh.Topology("deciding")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts", slack="20 seconds")
    stream = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    stream.consolidate("windows", WINDOWS).sink(rh.sinks.parquet(str(folder / "out")))
    kept = rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA)
    kept.sink(rh.sinks.parquet(str(folder / "running")))
    first = not (folder / "checkpoint").exists()
    decided: list[str] = []

    def probe(step: str) -> None:
        decided.extend([step] if step == "decide" else [])
        if first and len(decided) == DECIDES_AT + 1:
            print("decided", flush=True)
            time.sleep(600)

    says = [*[None] * DECIDES_AT, 3] if first else []
    query = t.start(
        str(folder / "checkpoint"),
        trigger=rh.AVAILABLE_NOW,
        policy=ScriptedSlots(says),
        slots=2 if first else None,
        probe=probe,
    )
    query.await_termination(300)
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
