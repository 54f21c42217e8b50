"""Elasticutor: rapid elasticity for realtime stateful stream processing, section 5 run again in the simulator."""

from __future__ import annotations

from papers.claims import Claim
from papers.elasticutor import (
    added_scale,
    figure_06_07_shuffles,
    figure_08_09_moves,
    figure_10_11_one_executor,
    figure_12_state,
    figure_13_executors_shards,
    figure_15_stocks,
    figure_16_table_2_exchange,
    table_3_nodes,
)
from papers.paper_run import Run
from papers.side_by_side import bench

TITLE = "Elasticutor"

ABOUT = """
**As published** is `Elasticutor.published()`, and `ResourceCentric.published()` for the paper's rival: the queueing
model of section 4.1 with one queue for all cores of an executor, Algorithm 1 as printed, balancing to a threshold of
1.2, and a new decision in every interval. What the text leaves open is filled in as in ours: rates are means of the
last intervals, and of the newest alone once keys have shifted.

Our version adds rules that keep cores and shards from going to and fro: cores stay while the busiest executor is
nearly as well off as it could be, are given back where they are not needed, and shards stay on their node where its
slots are then hardly busier. It counts with the imbalance that balancing allows, gives up remote cores first and
brings executors with much data home. In the exchange it balances to 1.1 instead of 1.2.

**Chosen by us**: what stopping an upstream executor costs the resource-centric approach, 30 ms, from the paper's two
to three orders of magnitude; what the exchange's operators cost, and that the static approach has as many cores for
every operator; a stock cut off at 3 % of the orders, and popularity that changes every 8 s; that latency is measured
at 70 % load with a source that keeps one second of rows.

**What the simulator cannot show**: what a move costs the paper's main process besides waiting and transfer.
"""

PARTS = (
    figure_06_07_shuffles.reproduce,
    figure_08_09_moves.reproduce,
    figure_10_11_one_executor.reproduce,
    figure_12_state.reproduce,
    figure_13_executors_shards.reproduce,
    figure_15_stocks.reproduce,
    figure_16_table_2_exchange.reproduce,
    table_3_nodes.reproduce,
)
"""Every figure and table of the evaluation, in the paper's order."""


def reproduce(run: Run) -> list[Claim]:
    """The evaluation, and what we add to it."""
    with bench(run) as place:
        claims = [claim for part in PARTS for claim in part(place)]
    return [*claims, *added_scale.decisions(run), *added_scale.speed(run)]
