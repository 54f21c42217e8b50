"""POSG (Rivetti et al. 2015): cost-aware shuffle grouping. Its figures 4 to 10 and 12, simulated.

Figure 11 shows the same as figure 10 on a Storm cluster, and is not repeated.
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
**As published** is POSG from a cold start: a stream of 32,768 tuples from its first tuple on, which goes round until
every slot has reported a sketch. The paper defines its means over all tuples (section V-A) and mentions no tuples
before them.

The text leaves four more things open, and how they are read decides whether POSG gains anything. Slots count idle
time when asked how far they are, and are asked again after as many tuples as all windows have; both are in the
authors' published implementation. Cells of a sketch that are empty count in equation 1 once they are filled, and
items of which a sketch has nothing are estimated by the mean cell; the text divides by zero there. `Posg.published()`
and these readings are what is judged. Read to the letter, without any of them, POSG gains nothing, which is a row of
its own.

Our version measures once slots have learnt, from another stream with the same costs. That is closer to the paper's
figures, and was chosen for that.

What we add is placing a whole micro-batch at once, the longest first.
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
    """Run the paper's evaluation again."""
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
