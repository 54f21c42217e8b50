"""Enorm's figures 7 and 8: consolidation with few merges (section 6.1)."""

from __future__ import annotations

from papers.claims import Claim
from papers.enorm.testbed.cost_model import simple_job
from papers.paper_run import Run

HOUR = 3_600_000_000
"""An hour in microseconds."""


def reproduce(run: Run) -> list[Claim]:
    """Count the partial results that are merged in an hour and return the claim."""
    plan = simple_job(5, 10, 15, 20)
    ours, naive = plan.merges(HOUR) - 60, plan.naive_merges(HOUR) - 60
    rows = []
    for granule in plan.granules[1:]:
        w = granule.window
        parts = [len(plan.cover(plan.granules.index(granule), s)) for s in range(0, HOUR, w.slide)]
        rows.append((w.label, len(parts), sum(parts), w.size // plan.pane.size * len(parts)))
    run.table("fig07-08-merges", ("window", "times an hour", "merges", "merges from minutes alone"), rows)
    claim = Claim(
        "fig7-merges",
        "windows of 5, 10, 15 and 20 minutes over one-minute partials take 86 merges an hour, not 240",
        "86 and 240",
        f"{ours} and {naive}",
        (ours, naive) == (86, 240),
    )
    return [claim]
