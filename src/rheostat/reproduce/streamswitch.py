"""StreamSwitch's evaluation (section 6) run again in the simulator."""

from __future__ import annotations

from rheostat.reproduce import (
    streamswitch_bounds,
    streamswitch_comparison,
    streamswitch_decisions,
    streamswitch_limits,
    streamswitch_parameters,
    streamswitch_path,
    streamswitch_resources,
)
from rheostat.reproduce.claims import Claim
from rheostat.reproduce.run import Run
from rheostat.reproduce.side_by_side import bench

TITLE = "StreamSwitch: fulfilling latency service-layer agreement for stateful streaming"


def reproduce(run: Run) -> list[Claim]:
    """Every figure, and which claims hold."""
    with bench(run) as at:
        samza, flink = streamswitch_decisions.run_both(at)
        days = streamswitch_comparison.run_all(at, samza.traded)
        beside = streamswitch_comparison.run_beside(at)
        return [
            *streamswitch_comparison.claims(run, days, beside),
            *streamswitch_decisions.claims(run, samza, flink),
            *streamswitch_parameters.reproduce(at),
            *streamswitch_resources.reproduce(at),
            *streamswitch_limits.reproduce(at),
            *streamswitch_path.reproduce(at),
            *streamswitch_bounds.reproduce(at, days),
        ]
