"""ELYSIUM's evaluation (section 5) run again on a simulated cluster, and its forecasts on recorded loads."""

from __future__ import annotations

from rheostat.reproduce.claims import Claim
from rheostat.reproduce.elysium_accuracy import accuracy
from rheostat.reproduce.elysium_comparison import comparison
from rheostat.reproduce.elysium_forecasts import forecasts
from rheostat.reproduce.elysium_lab import prepare
from rheostat.reproduce.elysium_latency import latencies
from rheostat.reproduce.elysium_proactive import proactive
from rheostat.reproduce.elysium_resources import resources
from rheostat.reproduce.elysium_setup import parameters
from rheostat.reproduce.elysium_steps import steps
from rheostat.reproduce.elysium_summary import summary
from rheostat.reproduce.elysium_together import together
from rheostat.reproduce.run import Run

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
