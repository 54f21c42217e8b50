"""All of POSG's evaluation (Rivetti et al. 2015, cost-aware shuffle grouping), for ``rheostat reproduce posg``.

Figures 4 to 10 and 12 are simulated. Figure 11 is figure 10 on a Storm cluster, and is not repeated.
"""

from __future__ import annotations

from papers.claims import Claim
from papers.paper_run import Run
from papers.posg import (
    added_batches,
    figure_04_skew,
    figure_05_provisioning,
    figure_06_longest,
    figure_07_values,
    figure_08_slots,
    figure_09_precision,
    figure_10_time_series,
    figure_12_tweets,
    section_3_readings,
)
from papers.side_by_side import bench

TITLE = "POSG: proactive online scheduling for shuffle grouping"

ABOUT = """
**As published** is POSG (`Posg.published()`) from a cold start: its scheduler uses round robin until every slot has
reported a sketch of execution times, and all tuples of a stream are measured, from the first of 32,768 on. The paper
defines its means over all tuples (section V-A) and mentions no tuples before them.

The paper leaves four more details open, and they decide whether POSG gains anything:

- Slots count idle time when the scheduler asks how far they are. The authors' published implementation does this.
- The scheduler asks again after as many tuples as the windows of all slots hold together, also without a new sketch.
  The authors' published implementation does this too.
- A sketch cell that was empty counts in equation 1, the test for a stable sketch, only from the next check on. The
  paper's formula would divide by zero.
- An item that a sketch has never seen is estimated by the mean over all cells. The paper's formula would divide by
  zero here too.

The verdicts are about POSG with these four readings. Without any of them, taking the text literally, POSG gains
nothing; a row of its own says so.

**Our version** is a warm start: slots have learned from another stream with the same costs before the measured stream
begins. This is closer to the paper's figures, and was chosen for that reason.

**What we add**: placing a whole micro-batch at once, the longest tuples first (LPT).
"""

SWEEPS = (
    figure_04_skew,
    figure_05_provisioning,
    figure_06_longest,
    figure_07_values,
    figure_08_slots,
    figure_09_precision,
)


def reproduce(run: Run) -> list[Claim]:
    """Run all figures of the evaluation, and return their claims."""
    with bench(run) as at:
        sweeps = [claim for figure in SWEEPS for claim in figure.reproduce(at)]
    return [
        *sweeps,
        *figure_10_time_series.reproduce(run),
        *figure_12_tweets.reproduce(run),
        *section_3_readings.reproduce(run),
        *added_batches.in_batches(run),
        added_batches.scheduling_speed(run),
    ]
