"""A job for ``spark-submit``: counts rows in windows on the cluster, and says where its code came from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import rheostat as rh


def imported(_: Any) -> Any:
    import rheostat

    yield rheostat.__file__


def main(folder: Path) -> None:
    spark = rh.session("submitted", conf={"spark.executor.memory": "512m"})
    rows = spark.range(100).selectExpr("timestamp_seconds(id) as ts", "id % 3 as key")
    rows.coalesce(1).write.parquet(str(folder / "in"))
    stream = spark.readStream.schema(rows.schema).parquet(str(folder / "in"))
    t = rh.Topology("submitted")
    counts = t.source(stream, event_time="ts").aggregate(
        "counts", by="key", windows=rh.tumbling("10 seconds"), n=rh.count()
    )
    counts.sink(rh.sinks.parquet(str(folder / "out")))
    t.start(str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW).await_termination()
    (folder / "report").write_text(
        "\n".join(
            [
                str(spark.sparkContext.master),
                str(rh.__file__),
                *spark.sparkContext.parallelize(range(2), 2).mapPartitions(imported).collect(),
            ]
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
