"""POSG (Rivetti et al. 2015): cost-aware shuffle grouping. Its figures 4 to 10 and 12, simulated.

Figure 11 shows the same as figure 10 on a Storm cluster, and is not repeated.
"""

from __future__ import annotations

from papers.claims import Claim
from papers.posg.batches import in_batches, scheduling_speed
from papers.posg.readings import by_reading
from papers.posg.series import by_time
from papers.posg.sweeps import by_longest, by_precision, by_provisioning, by_skew, by_slots, by_values
from papers.posg.tweets import by_tweets
from papers.run import Run

TITLE = "POSG: proactive online scheduling for shuffle grouping"


def reproduce(run: Run) -> list[Claim]:
    """Run the paper's evaluation again."""
    return [
        *by_skew(run),
        *by_provisioning(run),
        *by_longest(run),
        *by_values(run),
        *by_slots(run),
        *by_precision(run),
        *by_time(run),
        *by_tweets(run),
        *by_reading(run),
        *in_batches(run),
        scheduling_speed(run),
    ]
