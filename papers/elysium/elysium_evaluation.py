"""All of ELYSIUM's evaluation (section 5) on a simulated cluster, for ``rheostat reproduce elysium``.

Also compares its forecasts with better ones on recorded loads, and adds memory and bandwidth to its model.
"""

from __future__ import annotations

from papers.claims import Claim
from papers.elysium.added_forecasts import forecasts
from papers.elysium.added_memory_bandwidth import resources
from papers.elysium.figure_09_comparison import comparison
from papers.elysium.figure_09_table import summary
from papers.elysium.figure_10_steps import steps
from papers.elysium.figure_11_latency import latencies
from papers.elysium.figure_12_two_topologies import together
from papers.elysium.figure_13_proactive import proactive
from papers.elysium.table_1_figure_06_parameters import parameters
from papers.elysium.table_2_figure_07_08_estimates import accuracy
from papers.elysium.testbed.lab import prepare
from papers.paper_run import Run

TITLE = "ELYSIUM: operators and nodes scaled independently"

ABOUT = """
**As published** is `Elysium.published()`: Algorithm 1 for the input load of the last minute or, if proactive, for the
highest load that is forecast. It ignores queues.

**Our version** also counts rows that wait in a queue as load, to be worked off within two minutes, and does not scale
in while there are any. It can also wait some minutes before it scales in; results with that option are named as such.

**Chosen by us**:

- The range of each load. The paper draws its loads without numbers. Ours make ELYSIUM save about as many nodes as the
  paper reports.
- The costs of operators. They make the loads need between one and four nodes.
- The length of restarts. The paper measured 5 to 8 s. We add 16 s, without which its figure 6c cannot be reproduced.
- The kind of load under which thresholds are learned. Of six kinds tried, ours gives the rewards that the paper prints.
- Selectivities and their deviations, which are the paper's own.

**What the simulator cannot show**: simulated nodes and slots can be used up to 100 % without losing throughput, so a
high threshold costs nothing.

**What we add**: memory and bandwidth beside CPU, which the paper leaves to future work, and other forecasters. Any
forecaster can avoid forecasts that are too low by forecasting more, so they are compared only at equal excess: with
forecasts that exceed the real peaks by the same amount on average.
"""


def reproduce(run: Run) -> list[Claim]:
    """Run all tables and figures of the evaluation, and return their claims."""
    lab = prepare(run)
    claims = [*parameters(lab), *accuracy(lab)]
    compared, comparison_claims = comparison(lab)
    claims += [*comparison_claims, *latencies(lab, compared), *steps(lab, compared)]
    together_runs, together_claims = together(lab)
    proactive_runs, proactive_claims = proactive(lab, compared)
    summary(lab, compared, proactive_runs, together_runs)
    return [*claims, *together_claims, *proactive_claims, *forecasts(lab), *resources(lab)]
