"""The window benchmarks on Rheostat: all windows in one topology."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rheostat as rh
from benchmarks.skewed_files import SLACK, stream


def run(spark: Any, windows: list[rh.Window], *, data: Path, scratch: Path) -> dict[str, Any]:
    """Run one topology over all files, one file per epoch.

    Args:
        spark: the session.
        windows: the windows.
        data: folder of the input files.
        scratch: folder for results (``out``) and the checkpoint (``checkpoint``).

    Returns:
        ``state_bytes``: the most state that any epoch kept.
        ``epochs``: seconds, rows and seconds by step of each epoch.
    """
    t = rh.Topology("bench")
    rows = t.source(stream(spark, data), event_time="ts", slack=SLACK)
    counted = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    counted.consolidate("windows", windows).sink(rh.sinks.parquet(str(scratch / "out")))
    query = t.start(str(scratch / "checkpoint"), trigger=rh.AVAILABLE_NOW)
    query.await_termination()
    epochs = [{"seconds": p.seconds, "rows": p.rows, "steps": dict(p.steps)} for p in query.progress]
    return {"state_bytes": max((p.state_bytes for p in query.progress), default=0), "epochs": epochs}
