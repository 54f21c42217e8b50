"""StreamSwitch's evaluation (section 6) run again in the simulator."""

from __future__ import annotations

from papers.claims import Claim
from papers.run import Run
from papers.side_by_side import bench
from papers.streamswitch import bounds, comparison, decisions, limits, parameters, path, resources

TITLE = "StreamSwitch: fulfilling latency service-layer agreement for stateful streaming"


def reproduce(run: Run) -> list[Claim]:
    """Every figure, and which claims hold."""
    with bench(run) as at:
        samza, flink = decisions.run_both(at)
        days = comparison.run_all(at, samza.traded)
        beside = comparison.run_beside(at)
        return [
            *comparison.claims(run, days, beside),
            *decisions.claims(run, samza, flink),
            *parameters.reproduce(at),
            *resources.reproduce(at),
            *limits.reproduce(at),
            *path.reproduce(at),
            *bounds.reproduce(at, days),
        ]
