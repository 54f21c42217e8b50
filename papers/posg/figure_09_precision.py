"""POSG's figure 9: speed-up by the precision epsilon of the sketches, which sets their number of columns."""

from __future__ import annotations

import math
from dataclasses import replace

from papers.claims import Claim, Judged, versions
from papers.paper_run import Run
from papers.posg.testbed.streams import StreamSetting, prepare_stream
from papers.posg.testbed.sweep import CHOSEN, Sweep, draw_both, draw_speedup, sweep
from papers.side_by_side import Bench
from rheostat.elastic.posg import shape_for

EPSILONS = (1.0, 0.5, 0.1, 0.09, 0.05, 0.01, 0.005, 0.001)
PRECISE = 0.09
"""Largest epsilon with which the paper says that every stream gains."""


def reproduce(bench: Bench) -> list[Claim]:
    """Reproduce the figure and judge its claims."""
    epsilons = (1.0, 0.1, 0.09, 0.01, 0.001) if bench.run.quick else EPSILONS
    settings = {e: replace(StreamSetting(), columns=shape_for(e, 0.1)[1]) for e in epsilons}
    found = sweep(bench, "fig. 9: precision", settings)
    title = "Speed-up by precision of the sketches"
    draw_both(draw_speedup, bench.run, "fig09", title, "epsilon", found, logarithmic=True)
    ideal = float((found.ours[0.001].round_robin / found.ours[0.001].full_knowledge).mean())
    gaining = [_gaining_share(each) for each in (found.published, found.ours)]
    return [
        versions(
            "fig9-decade",
            "with ten times as many sketch columns (a tenth of epsilon), the speed-up is 30 % higher on average",
            "30 %",
            found.each(_decade),
            chosen=CHOSEN,
            detail=f"Full Knowledge, which needs no estimates, reaches {ideal:.2f}. More columns do not help with "
            f"items that a slot has not executed before its report: {_unseen(bench.run):.0%} of the tuples.",
        ),
        versions(
            "fig9-least",
            "with epsilon of 0.09 or less, POSG is faster than round robin on every stream",
            "yes",
            found.each(_least),
            note=f"For each such epsilon it is faster on at least {gaining[0]:.0%} of the streams as published, and on "
            f"{gaining[1]:.0%} with our version.",
            chosen=CHOSEN,
        ),
    ]


def _decade(found: Sweep) -> Judged:
    mean = {e: float(t.speedup.mean()) for e, t in found.items()}
    decade = math.cbrt(mean[0.001] / mean[1.0]) - 1
    return f"{decade:.0%}: " + ", ".join(f"{mean[e]:.2f} at {e:g}" for e in (1.0, 0.1, 0.01, 0.001)), decade >= 0.3


def _least(found: Sweep) -> Judged:
    least = min(float(t.speedup.min()) for e, t in found.items() if e <= PRECISE)
    return f"smallest speed-up {least:.2f}", least > 1


def _gaining_share(found: Sweep) -> float:
    """Return the smallest share of streams with a speed-up above 1, over all epsilons up to ``PRECISE``."""
    return min(float((t.speedup > 1).mean()) for e, t in found.items() if e <= PRECISE)


def _unseen(run: Run) -> float:
    """Return the share of a stream's tuples whose item is not in the sketch that the first slot reported."""
    shuffle, parties = prepare_stream(replace(StreamSetting(), columns=shape_for(0.001, 0.1)[1]), run.seed, 0)
    report = parties.scheduler.reports.get(0)
    sketch = report.sketch if report else parties.learners[0].sketch
    return float((sketch.counts(shuffle.items) == 0).mean())
