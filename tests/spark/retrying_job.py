"""The job of the test about repeated tasks: every slot fails once in every epoch, at its last row."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from pyspark import TaskContext

import rheostat as rh
from rheostat.elastic.posg import cost_choice
from tests.spark.streams import read_stream, run


def main(folder: Path) -> None:
    cost_choice.ROUTING = 0.0
    (folder / "failed").mkdir()
    spark = rh.session("retries", "local[2,4]", conf={"spark.driver.memory": "1g"})

    def function(row: Any) -> Any:
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0 and row.value % 7 == 0:
            (folder / "failed" / str(row.value)).touch()
            raise RuntimeError("the first attempt fails")
        time.sleep(0.01 if row.key == "k0" else 0.0005)  # rows are dealt by cost, and all slots measure
        return row.ts, row.key, row.value * 2

    t = rh.Topology("retries")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts")
    applied = rows.apply("enrich", function, schema="ts timestamp, key string, value bigint", cost_by="key", slots=3)
    applied.sink(rh.sinks.parquet(str(folder / "out")))
    run(t, folder / "checkpoint")
    print(len(list((folder / "failed").iterdir())))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
