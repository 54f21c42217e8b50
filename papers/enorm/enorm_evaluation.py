"""Enorm's evaluation (sections 6.1 and 7) run again, and its future work (section 8) tried."""

from __future__ import annotations

from papers.claims import Claim
from papers.enorm import (
    added_future_work,
    figure_07_08_merges,
    figure_09_throughput,
    figure_10_pauses,
    figure_11_split_combine,
    figure_12_overhead,
    figure_13_hot_spots,
    figure_14_15_random_jobs,
    figure_16_fast_job,
    section_5_exactness,
    section_7_7_components,
)
from papers.paper_run import Run

TITLE = "Enorm: efficient window-based computation in large-scale distributed stream processing systems"

ABOUT = """
**As published** is what `rheostat.enorm` does unless told otherwise: fusion scores edges by COMM or PA as in
Algorithm 1, Flux moves the biggest suitable shard of every pair, and a component changes its form as soon as the cost
model says so. There is only one version in the first table. Scores of whole components, refinement, patience and
fusing single instances are ours, and stand in the second.

**Chosen by us**: the paper prints few costs. 18 million tuples in 456 s as one component and in 512 s as two give the
cost of a tuple and of a key; what merging a key, an operator's logic and switching the partitioner cost is ours, and
so are the numbers of keys and of shards on a node.

The figures are calculated by a fluid model of the paper's six nodes. Figures 10 and 13 are simulated with queues, and
section 5's promise that no row is lost is tried with every row followed.
"""

PARTS = (
    figure_07_08_merges,
    figure_09_throughput,
    section_7_7_components,
    figure_10_pauses,
    figure_11_split_combine,
    figure_12_overhead,
    figure_13_hot_spots,
    section_5_exactness,
    figure_14_15_random_jobs,
    figure_16_fast_job,
    added_future_work,
)


def reproduce(run: Run) -> list[Claim]:
    """Every figure and table, and which claims hold."""
    return [claim for part in PARTS for claim in part.reproduce(run)]
