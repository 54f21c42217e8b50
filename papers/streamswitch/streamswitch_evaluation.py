"""StreamSwitch: fulfilling latency agreements for stateful streaming. Its section 6, run again in the simulator."""

from __future__ import annotations

from papers.claims import Claim
from papers.paper_run import Run
from papers.side_by_side import bench
from papers.streamswitch import (
    figure_04_orders,
    figure_05_policies,
    figure_06_decisions,
    figure_07_09_treatments,
    figure_10_11_parameters,
    figure_12_13_resources,
    figure_14_15_limits,
    figure_16_path,
    figure_17_bounds,
    figure_18_flink,
)

TITLE = "StreamSwitch: fulfilling latency service-layer agreement for stateful streaming"

ABOUT = """
Words of the paper that the tables use: *success* is the share of windows of T seconds in which the mean latency of a
shard stays within the bound L, averaged over shards; *(L, T)* names both; a *treatment* is one change of plan (scale
in, balance or scale out); *epsilon*, in brackets after a policy's name, is its safety margin.

**As published** is `StreamSwitch.published()`: the two-level logic of section 3.2, Algorithms 1 and 2, and the metrics
of section 4. Switch, DRS and DRS-LB in the tables are the published policies. Names with a plus are our versions.

**Our version** differs in five ways.

- *Overload has degrees.* The projected latency of an overloaded slot is infinite, so the published rules cannot tell
  which of two overloaded slots is worse. Ours rank them by arrivals over capacity, and take the best plan there is if
  none keeps the bound. The paper does not say what to do if the highest latency stays infinite with every plan. Its
  listing, with a strict comparison, would then never scale out. Its text, its figure 7 and the code that was published
  with it say that about half of a slot's load goes to the new slot; that is what we take as published.
- *A move must be worthwhile*: it must lower the worse latency of its two slots by 5%.
- *Rest.* Our version rests for 1 s after a treatment. The paper prints no rest, and the published version has none
  here. The code that was published with the paper leaves both slots alone for five seconds or more, so the measured
  system may have rested.
- *Stuck rows* count as load, and their age as latency. As published, only completed rows count.
- *A severe slot that cannot be helped* does not keep other slots from being helped.

Our version is compared with *rested* DRS and DRS-LB. They decide as published, but rest and choose shards as our
version does. Without a rest, both change their number of slots with every measurement and do far worse than in the
paper's figure, so the measured system may have rested. DRS+ and DRS-LB+ ask for all slots under overload, where the
published ones have no plan, and give up no slot while rows are late.

**Chosen by us**: the speed of a slot, set so that Switch+(0.2) uses the 8.4 slots of the paper's Switch(0.2); bursts of
single stocks, modelled on recorded ones; the cost of a treatment, 0.4 s on Samza and 0.35 s on Flink. The paper says
"hundreds of milliseconds", and 0.5 s on Flink including the barrier under the calmest waves.

The published policies are compared with each other on a quarter of an hour of the day, because DRS as published takes
very long to simulate. Figures 6 to 9 and 18, Switch(0.2) by itself, and all runs of our version cover the whole day.

**What the simulator cannot show**: at most 328 rows are in flight to a slot in sections 6.3 to 6.5, a tenth of what
Flink's buffers hold, because rates are a tenth of the paper's. A barrier therefore waits for at most a third of a
second, while the paper's treatments become several seconds long.

In sections 6.3 to 6.5, rates and speeds are a tenth of the paper's, and rows spread evenly over the shards, as with the
sources that were published with the system. Rows arrive at random (Poisson) and all cost the same; what a query
computes is not simulated, so queries differ only by rate and speed. *10K, 90 s* is a wave with an amplitude of 10
thousand rows/s and a period of 90 s; *+1 s* is one second added to every treatment.
"""


def reproduce(run: Run) -> list[Claim]:
    """Run every figure and return the claims."""
    with bench(run) as place:
        samza, flink = figure_06_decisions.run_days(place)
        published, ours = (seen.result for seen in samza)
        days = figure_05_policies.run_all(place, published, ours)
        otherwise = figure_05_policies.run_otherwise(place)
        return [
            *figure_05_policies.claims(run, published.outcome, days, otherwise),
            *figure_04_orders.reproduce(run),
            *figure_06_decisions.claims(run, *samza),
            *figure_07_09_treatments.claims(run, *samza),
            *figure_18_flink.claims(run, samza, flink),
            *figure_10_11_parameters.reproduce(place),
            *figure_12_13_resources.reproduce(place),
            *figure_14_15_limits.reproduce(place),
            *figure_16_path.reproduce(place),
            *figure_17_bounds.reproduce(place, days),
        ]
