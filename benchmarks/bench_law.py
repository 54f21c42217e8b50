"""``rheostat bench law``: how well the micro-batch law foretells the length of epochs and the latency of their rows.

A query runs through phases with other rates, slots and skews. Before each epoch the law, as calibrated so far, says how
long the epoch will take given its rows and plan; the observation then has both. ``python -m benchmarks.bench_law SPEC``
runs the query. The time of a decision with many shards is measured beside it, without Spark.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rheostat as rh
from benchmarks.decision_time import decision_seconds
from benchmarks.live_loads import HOT, KEYS, ROW_SECONDS
from benchmarks.live_side import in_session, run_live
from benchmarks.side_process import run_side
from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import policy_for_spark
from rheostat.elastic.record.recording import Recording
from rheostat.workloads.live_rows import LiveRows, live_rows

LEARNING = 20
"""Epochs at the begin that do not count: the law is learned in them."""

MANY_SHARDS = 8_192
"""As many as a checkpoint can have."""


@dataclass(frozen=True)
class LawPhase:
    """A part of the run.

    Attributes:
        load: how many slots the rows would keep busy all the time.
        slots: slots of the plan.
        skewed: True if one key has its share of all rows.
    """

    load: float
    slots: int
    skewed: bool = False


PHASES = (
    LawPhase(1.6, 8), LawPhase(4.0, 8), LawPhase(4.0, 16), LawPhase(2.0, 4), LawPhase(2.0, 4, skewed=True),
    LawPhase(2.0, 12, skewed=True), LawPhase(5.0, 12), LawPhase(0.8, 2),
)  # fmt: skip
"""Rates, slots and skews change one at a time, then together."""


def run(seconds: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run all phases in a process of their own, and return the errors of the law.

    Args:
        seconds: length of all phases together.
        say: called with each step.
    """
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        say(f"running {len(PHASES)} phases")
        side = run_side("benchmarks.bench_law", {"home": f"{folder}/run", "seconds": seconds}, seconds + 600.0)
        turns = Recording.read(f"{folder}/run.jsonl").turns
    say("deciding")
    seen = [turn.observation for turn in turns if turn.observation.latency.rows > 0][LEARNING:]
    lengths = np.array([o.error for o in seen])
    latencies = np.array([abs(o.expected_latency - o.latency.mean) / o.latency.mean for o in seen])
    taken = decision_seconds(policy_for_spark("streamswitch", Latency("2 seconds"), (1, 64)), MANY_SHARDS)[LEARNING:]
    return {
        "seconds": seconds,
        "epochs": len(seen),
        "known": int(np.isfinite(lengths).sum()),
        "median_error": _quantile(lengths, 0.5),
        "p90_error": _quantile(lengths, 0.9),
        "median_latency_error": _quantile(latencies, 0.5),
        "p90_latency_error": _quantile(latencies, 0.9),
        "phases": _by_phase(seen, lengths),
        "decision_ms_8192": round(float(np.median(taken)) * 1000, 2),
        "longest_decision_ms_8192": round(float(taken.max()) * 1000, 2),
        "drained": side["drained"],
    }


def rows_in_phases(seconds: int) -> LiveRows:
    """Return the rows of all phases, each as long as the others."""
    length = seconds // len(PHASES)
    parts = [
        live_rows(np.full(length, phase.load / ROW_SECONDS), keys=KEYS, hot=HOT if phase.skewed else None, seed=number)
        for number, phase in enumerate(PHASES)
    ]
    times = np.concatenate([part.times + number * length for number, part in enumerate(parts)])
    return LiveRows(times, np.concatenate([part.keys for part in parts]))


def _by_phase(seen: Sequence[Observation], errors: Floats) -> list[dict[str, Any]]:
    """Return the median error by number of slots: phases overlap in time where a plan takes effect late."""
    slots = np.array([sum(o.plan.slots for o in one.operators.values()) for one in seen])
    return [
        {
            "slots": int(n),
            "epochs": int((slots == n).sum()),
            "epoch_s": _quantile(np.array([o.busy for o in seen])[slots == n], 0.5),
            "median_error": _quantile(errors[slots == n], 0.5),
        }
        for n in np.unique(slots)
    ]


def _quantile(values: Floats, q: float) -> float | None:
    """Return a quantile of the values that are known, for JSON; None if there is none."""
    known = values[np.isfinite(values)]
    return round(float(np.quantile(known, q)), 4) if len(known) else None


def _side(home: Path, seconds: int) -> dict[str, Any]:
    """Run the query, and change its slots when a phase begins."""
    length = seconds / len(PHASES)
    at = 0

    def change(query: rh.Query, elapsed: float) -> None:
        nonlocal at
        now = min(math.floor(elapsed / length), len(PHASES) - 1)
        if now != at:
            at = now
            query.rescale(slots=PHASES[now].slots)

    rows, options = rows_in_phases(seconds), {"slots": PHASES[0].slots, "record": f"{home}.jsonl"}
    return in_session(home, lambda spark: run_live(spark, rows, home, change, **options))


if __name__ == "__main__":
    spec = json.loads(sys.argv[1])
    print(json.dumps(_side(Path(spec["home"]), spec["seconds"])))
