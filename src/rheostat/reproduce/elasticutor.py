"""Elasticutor: rapid elasticity for realtime stateful stream processing, section 5 run again in the simulator."""

from __future__ import annotations

from rheostat.reproduce import (
    elasticutor_exchange,
    elasticutor_growth,
    elasticutor_internet,
    elasticutor_micro,
    elasticutor_moves,
    elasticutor_parameters,
    elasticutor_scaling,
)
from rheostat.reproduce.claims import Claim
from rheostat.reproduce.run import Run
from rheostat.reproduce.side_by_side import bench

TITLE = "Elasticutor"


PARTS = (
    elasticutor_micro.dynamics,
    elasticutor_moves.reassignment,
    elasticutor_scaling.data_intensity,
    elasticutor_scaling.operational_cost,
    elasticutor_parameters.parameters,
    elasticutor_exchange.popular,
    elasticutor_exchange.comparison,
    elasticutor_growth.scalability,
)
"""Every figure and table of the evaluation, in the paper's order."""


def reproduce(run: Run) -> list[Claim]:
    """The evaluation, and one decision at a larger scale."""
    with bench(run) as place:
        claims = [claim for part in PARTS for claim in part(place)]
    return [*claims, *elasticutor_internet.decisions(run), *elasticutor_internet.speed(run)]
