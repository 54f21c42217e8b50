"""ELYSIUM's evaluation (section 5) run again on a simulated cluster, and its forecasts on recorded loads."""

from __future__ import annotations

from papers.claims import Claim
from papers.elysium.accuracy import accuracy
from papers.elysium.comparison import comparison
from papers.elysium.forecasts import forecasts
from papers.elysium.lab import prepare
from papers.elysium.latency import latencies
from papers.elysium.parameters import parameters
from papers.elysium.proactive import proactive
from papers.elysium.resources import resources
from papers.elysium.steps import steps
from papers.elysium.summary import summary
from papers.elysium.together import together
from papers.run import Run

TITLE = "ELYSIUM: operators and nodes scaled independently"


def reproduce(run: Run) -> list[Claim]:
    """All tables and figures of the evaluation."""
    lab = prepare(run)
    claims = [*parameters(lab), *accuracy(lab)]
    found, compared = comparison(lab)
    claims += [*compared, *latencies(lab, found), *steps(lab, found)]
    both, shared = together(lab)
    ahead, foreseen = proactive(lab, found)
    summary(lab, found, ahead, both)
    return [*claims, *shared, *foreseen, *forecasts(lab), *resources(lab)]
