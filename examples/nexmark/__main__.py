"""Run a query of NEXMark over events that are made first: ``python -m examples.nexmark q5``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import rheostat as rh
from examples.nexmark import QUERIES
from examples.nexmark.events import read_events
from rheostat.workloads.nexmark_events import NexmarkEvents


def main(name: str, events: int = 400_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        NexmarkEvents(events).write(Path(folder) / "events", files=4)
        t = rh.Topology(name)
        results = QUERIES[name].build(t, read_events(rh.session(name), Path(folder) / "events"))
        results.sink(rh.sinks.console(5))
        print(t.explain())
        t.start(f"{folder}/checkpoint", trigger=rh.AVAILABLE_NOW).await_termination()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in QUERIES:
        sys.exit(f"name a query: {' '.join(QUERIES)}")
    main(sys.argv[1])
