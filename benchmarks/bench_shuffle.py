"""``rheostat bench shuffle``: tweets that cost 25, 5 or 1 ms, dealt to 2 to 10 slots (POSG section V-C, figure 12).

Tweets arrive evenly and live, at the paper's provisioning (``tweet_rows``). Completion time is what the paper measures:
from the arrival of a row until it is done; on Spark that is the commit of its epoch. Epochs follow each other without a
pause, each with what has arrived. So where slots are uneven, epochs get longer, more rows wait, and rows wait longer.

The sides run one after the other on the same tweets: Spark's ``repartition(k)``, and ``apply`` with round robin, POSG,
LPT, and full knowledge of costs. Each goes through all numbers of slots in one run, so that costs are learned once.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.side_process import run_side
from benchmarks.tweet_rows import PROVISIONING, SECONDS, Phases
from benchmarks.tweet_side import SIDES

SLOTS = tuple(range(10, 1, -1))
"""The numbers of slots, in the order in which they run: costs are learned fastest with many."""

UNIFORM_SLOTS = 5
"""The number of slots with uniform costs: the paper's default."""

UNIFORM_SIDES = ("repartition", "round_robin", "posg", "lpt")


def run(
    slots: Sequence[int],
    seconds: int,
    sides: Sequence[str] = SIDES,
    say: Callable[[str], None] = lambda _: None,
    pause: int = 20,
    warm_up: int = 25,
) -> dict[str, Any]:
    """Run the sides, each in a new process, and return the figures.

    Args:
        slots: numbers of slots, in the order in which they run.
        seconds: seconds of tweets for each.
        sides: the sides to run, among them ``repartition`` and ``round_robin``.
        say: called with each step.
        pause: seconds without tweets before each.
        warm_up: seconds at the beginning that do not count.
    """
    mixed = Phases(tuple(slots), seconds, pause, warm_up)
    uniform = Phases((UNIFORM_SLOTS,), seconds, pause, warm_up, uniform=True)
    found: dict[str, dict[str, Any]] = {}
    even: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        for phases, results, chosen in ((mixed, found, sides), (uniform, even, UNIFORM_SIDES)):
            for side in (s for s in chosen if s in sides):
                say(f"{side}, {'uniform costs' if phases.uniform else '25, 5 and 1 ms'}")
                home = Path(folder) / f"{side}-{phases.uniform}"
                spec = {"side": side, "home": str(home), "phases": asdict(phases)}
                results[side] = run_side("benchmarks.tweet_side", spec, phases.length + 900.0)
    return report(slots, seconds, found, even)


def report(
    slots: Sequence[int], seconds: int, found: Mapping[str, Mapping[str, Any]], even: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the figures of the benchmark.

    Args:
        slots: numbers of slots, in the order in which they ran.
        seconds: seconds of tweets for each.
        found: by side, what ``run_phases`` returned for mixed costs.
        even: the same for uniform costs.
    """
    base = found["repartition"]["completion"]
    speedups = {side: [b / own for b, own in zip(base, f["completion"], strict=True)] for side, f in found.items()}
    plain = {side: f["completion"][0] for side, f in even.items()}
    every = {**found, **{f"{side}, uniform": f for side, f in even.items()}}
    dealt = [plain[side] for side in ("posg", "lpt") if side in plain]
    return {
        "slots": list(slots),
        "seconds": seconds,
        "costs_ms": [round(cost * 1000) for cost in SECONDS],
        "provisioning": PROVISIONING,
        "posg_speedup": _mean(speedups.get("posg")),
        "lpt_speedup": _mean(speedups.get("lpt")),
        "full_knowledge_speedup": _mean(speedups.get("full_knowledge")),
        "round_robin_speedup": _mean(speedups.get("round_robin")),
        "uniform_overhead": round(max(dealt) / plain["round_robin"] - 1, 4) if dealt else None,
        "uniform_over_repartition": round(max(dealt) / plain["repartition"] - 1, 4) if dealt else None,
        "completion_s": {s: dict(zip(slots, _rounded(f["completion"]), strict=True)) for s, f in found.items()},
        "speedups": {s: dict(zip(slots, _rounded(values), strict=True)) for s, values in speedups.items()},
        "uniform_completion_s": {side: round(value, 3) for side, value in plain.items()},
        "epochs": {side: f["epochs"] for side, f in found.items()},
        "decisions": {name: f["decisions"] for name, f in every.items() if f["decisions"]},
        "results_equal": all(f["exact"] for f in every.values()),
    }


def _mean(values: Sequence[float] | None) -> float | None:
    return None if values is None else round(statistics.mean(values), 3)


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]
