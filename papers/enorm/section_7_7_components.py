"""Enorm's section 7.7: the simple job in one component and in two, and which form is chosen (section 5.1.2)."""

from __future__ import annotations

import itertools
from math import inf

from papers.claims import Claim
from papers.enorm.testbed.cost_model import (
    MINUTE,
    ONE_COMPONENT,
    TUPLES,
    TWO_COMPONENTS,
    EnormNodes,
    completion_time,
    simple_job,
)
from papers.enorm.testbed.migration_costs import ShardState, Strategy, migration_cost
from papers.enorm.testbed.split_model import ComponentLoad, choose_form, form_cost
from papers.paper_run import Run
from rheostat.planning.enorm.splitting import Form


def reproduce(run: Run) -> list[Claim]:
    """Run the simple job as one component and as two, tabulate the chosen forms, and return the claim."""
    _forms(run)
    engine, plan = EnormNodes(), simple_job(5, 10)
    one, two = (completion_time(engine, plan, form, keys=TUPLES) for form in (Form.COMBINED, Form.SPLIT))
    fewer = [completion_time(engine, plan, form, keys=3e5) for form in (Form.COMBINED, Form.SPLIT)]
    claim = Claim(
        "s7.7-components",
        "18 million tuples take more than 10% longer in two components than in one",
        f"{ONE_COMPONENT:.0f} s and {TWO_COMPONENTS:.0f} s ({TWO_COMPONENTS / ONE_COMPONENT - 1:.0%})",
        f"{one:.0f} s and {two:.0f} s ({two / one - 1:.0%})",
        two / one > 1.1,
        "This shows only that the model is consistent with the two figures. The paper does not say how many keys there "
        f"were: with 300,000 per minute it would be {fewer[1] / fewer[0] - 1:.1%}.",
        chosen="costs of a tuple and of a key, derived from these two figures",
    )
    return [claim]


def _forms(run: Run) -> None:
    """Write a table of the forms that the cost model chooses for the simple job at 70% load (section 5.1.2)."""
    engine, rows = EnormNodes(), []
    for minutes in ((5,), (5, 10), (5, 10, 15, 20), (5, 10, 15, 20, 25, 30)):
        for keys, moves, bound in itertools.product((1_000, 10_000, 50_000), (0, 10, 60), (inf, 10.0)):
            period = minutes[-1] * MINUTE
            shard = migration_cost(Strategy.DISRUPTIVE, ShardState(keys), engine.key_costs)
            measured = ComponentLoad(
                rows=0.7 * engine.nodes / engine.per_tuple * period,
                execute=engine.execute,
                windows=len(minutes),
                partials=minutes[-1],
                shards=60,
                moves=moves,
                shard_cost=shard.cpu,
                shard_pause=shard.pause,
            )
            choice = choose_form(measured, Form.SPLIT, bound)
            costs = (round(form_cost(form, measured).cpu, 1) for form in Form)
            rows.append((len(minutes), keys, moves, bound, *costs, choice.form.value))
    header = ("windows", "keys per shard", "shards moved", "latency bound (s)", "CPU split (s)", "CPU combined (s)")
    run.table("s5.1-forms", (*header, "chosen"), rows)
