"""Enorm: window-based computation in large systems. Its sections 6.1 and 7 run again, and its section 8 tried."""

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
Words of the paper that the tables use:

- A *component* is a group of fused operators. A *combined* component consolidates windows where it computes them; a
  *split* one sends partial results to a consolidate elsewhere, so that its shards can move without state. *Split* and
  *combine* are the changes from one form to the other.
- Three ways to move a shard: with *disruptive* migration, its tuples wait while its state is sent; with *smooth*
  migration, the old place finishes the open windows; with *instant* migration, the new place begins at once and
  consolidation merges the partial results of both places. *Flux* is the rule that decides which shards move.
- *COMM* and *PA* are two scores by which fusion chooses the next edge: by its traffic, or by the partition attributes
  that remain.
- The *simple job* computes windows in one operator. The *fast job* is a chain of four operators through which every
  tuple goes.

**As published** is what `rheostat.enorm` and `papers/enorm/testbed` do by default: fusion scores edges by COMM or PA as
in Algorithm 1, Flux moves the biggest suitable shard of every pair of nodes, and a component changes its form as soon
as the cost model says so. The first table therefore has only one version. Scores of whole components, refinement,
patience and fusion of single instances are ours and are in the second table.

**Chosen by us**: the paper prints few costs. The cost of a tuple and of a key follow from 18 million tuples in 456 s as
one component and in 512 s as two. We chose the cost of merging a key, of an operator's logic and of switching the
partitioner, the number of keys, and the number of shards on a node.

Most figures are calculated with a fluid model of the paper's six nodes. Figures 10 and 13 are simulated with queues.
Section 5's promise that no row is lost is tested by following every row.
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
    """Run every figure and return the claims."""
    return [claim for part in PARTS for claim in part.reproduce(run)]
