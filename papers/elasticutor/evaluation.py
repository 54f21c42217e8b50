"""Elasticutor: rapid elasticity for realtime stateful stream processing, section 5 run again in the simulator."""

from __future__ import annotations

from papers.claims import Claim
from papers.elasticutor import exchange, growth, internet, micro, moves, parameters, scaling
from papers.run import Run
from papers.side_by_side import bench

TITLE = "Elasticutor"


PARTS = (
    micro.dynamics,
    moves.reassignment,
    scaling.data_intensity,
    scaling.operational_cost,
    parameters.parameters,
    exchange.popular,
    exchange.comparison,
    growth.scalability,
)
"""Every figure and table of the evaluation, in the paper's order."""


def reproduce(run: Run) -> list[Claim]:
    """The evaluation, and one decision at a larger scale."""
    with bench(run) as place:
        claims = [claim for part in PARTS for claim in part(place)]
    return [*claims, *internet.decisions(run), *internet.speed(run)]
