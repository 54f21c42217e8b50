"""Small topologies whose profiles are straight lines, so that everything can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from rheostat.elastic.elysium.configuration import NodeType
from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
from rheostat.elastic.elysium.estimator import Estimator, Profiles
from rheostat.elastic.elysium.forecasts.series import Forecast
from rheostat.elastic.elysium.profiles.profile import Line, Profile
from rheostat.elastic.elysium.profiles.samples import Stream

UNIT = NodeType(cores=4, hertz=1.0)
"""A node whose cores do one cycle per second, so that cycles are shares of a core."""

NO_OVERHEAD = Line(0.0, 1.0)


def chain(name: str, operators: Sequence[str], most: int = 4) -> Dataflow:
    return Dataflow(name, tuple(ScalableOperator(o, most) for o in operators), tuple(pairwise(operators)))


def profiles(
    dataflow: Dataflow,
    slopes: Mapping[str, float],
    selectivity: Mapping[Stream, float] | None = None,
    forecast: Forecast | None = None,
) -> Profiles:
    cpu: dict[str, Profile] = {name: Line(0.0, slope) for name, slope in slopes.items()}
    known = selectivity or dict.fromkeys(dataflow.streams, 1.0)
    return Profiles(dataflow, known, cpu, forecast=forecast)


def estimator(*known: Profiles, overhead: Profile = NO_OVERHEAD, node: NodeType = UNIT) -> Estimator:
    return Estimator({p.dataflow.name: p for p in known}, overhead, node)
