"""Rheostat's side of the window benchmarks: all windows in one topology."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rheostat as rh
from benchmarks.skewed_files import SLACK, stream


def run(spark: Any, windows: list[rh.Window], *, data: Path, scratch: Path) -> dict[str, Any]:
    """Read all files, one per epoch; what each epoch took, and the most state that was kept."""
    t = rh.Topology("bench")
    rows = t.source(stream(spark, data), event_time="ts", slack=SLACK)
    counted = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    counted.consolidate("windows", windows).sink(rh.sinks.parquet(str(scratch / "out")))
    query = t.start(str(scratch / "checkpoint"), trigger=rh.AVAILABLE_NOW)
    query.await_termination()
    epochs = [{"seconds": p.seconds, "rows": p.rows, "steps": dict(p.steps)} for p in query.progress]
    return {"state_bytes": max((p.state_bytes for p in query.progress), default=0), "epochs": epochs}
