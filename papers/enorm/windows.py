"""Enorm: consolidation with few merges (section 6.1), and what it costs the simple job (sections 7.1 and 7.7)."""

from __future__ import annotations

import itertools
from math import inf

from papers.claims import Claim
from papers.enorm.cost_model import MINUTE, ONE_COMPONENT, TUPLES, TWO_COMPONENTS, Engine, completion_time, simple_job
from papers.run import Run
from rheostat.planning.enorm.migration import ShardState, Strategy, migration_cost
from rheostat.planning.enorm.splitting import Form, Measured, choose_form, form_cost

HOUR = 3_600_000_000
LITTLE = 0.05
"""What we call little: less than this share. The paper has no number."""

_KEYS = tuple(25_000 * 2**i for i in range(6))
_WINDOWS = {"2 windows": (5, 10), "6 windows": (5, 10, 15, 20, 25, 30)}


def reproduce(run: Run) -> list[Claim]:
    """The figures and claims of these sections."""
    _forms(run)
    return [_merges(run), *_overhead(run), _components()]


def _merges(run: Run) -> Claim:
    """Figures 7 and 8: partial results merged in an hour."""
    plan = simple_job(5, 10, 15, 20)
    ours, naive = plan.merges(HOUR) - 60, plan.naive_merges(HOUR) - 60
    rows = []
    for granule in plan.granules[1:]:
        w = granule.window
        parts = [len(plan.cover(plan.granules.index(granule), s)) for s in range(0, HOUR, w.slide)]
        rows.append((w.label, len(parts), sum(parts), w.size // plan.pane.size * len(parts)))
    run.table("fig07-08-merges", ("window", "times an hour", "merges", "merges from minutes alone"), rows)
    return Claim(
        "fig7-merges",
        "windows of 5, 10, 15 and 20 minutes over one-minute partials take 86 merges an hour, not 240",
        "86 and 240",
        f"{ours} and {naive}",
        (ours, naive) == (86, 240),
    )


def _overhead(run: Run) -> list[Claim]:
    """Figure 9: throughput of the simple job by keys per partial result, number of windows, and form."""
    engine = Engine()
    speed, longer = (_throughput(engine, tuples) for tuples in (TUPLES, 10 * TUPLES))
    header = ("keys", *(f"{form}, {windows}" for windows, form in speed))
    run.table("fig09", header, [(k, *(round(v[i]) for v in speed.values())) for i, k in enumerate(_KEYS)])
    with run.figure("fig09", "Throughput by keys to consolidate") as axes:
        for (windows, form), values in speed.items():
            line = "-" if form is Form.COMBINED else "--"
            thousands = [k / 1e3 for k in _KEYS]
            axes[0, 0].plot(thousands, [v / 1e3 for v in values], line, marker="o", ms=3, label=f"{form}, {windows}")
        axes[0, 0].set(xlabel="thousand keys per partial result", ylabel="thousand tuples/s", ylim=(30, 41))
        axes[0, 0].legend()
    drops = {case: [1 - b / a for a, b in itertools.pairwise(v)] for case, v in speed.items()}
    combined = max(d for (_, form), each in drops.items() if form is Form.COMBINED for d in each)
    more = all(s > c for w in _WINDOWS for s, c in zip(drops[w, Form.SPLIT], drops[w, Form.COMBINED], strict=True))
    windows_cost, in_an_hour = (_cost_of_windows(each) for each in (speed, longer))
    lower = [1 - s / c for w in _WINDOWS for s, c in zip(speed[w, Form.SPLIT], speed[w, Form.COMBINED], strict=True)]
    costs = (
        f"Simulated with {engine.per_tuple * 1e6:.0f} us a tuple and {engine.per_key * 1e6:.1f} us to send a key, "
        f"from the paper's figures, and {engine.merge * 1e6:.0f} us to merge a key, which is ours; so is the range of "
        f"keys ({_KEYS[0]} to {_KEYS[-1]}), and that little means less than {LITTLE:.0%}."
    )
    return [
        Claim(
            "fig9-keys",
            "twice as many keys to consolidate lower the throughput of a combined component very little",
            "very little",
            f"at most {combined:.1%}",
            combined < LITTLE,
            costs,
        ),
        Claim(
            "fig9-split-keys",
            "they lower the throughput of a split component more",
            "more",
            f"at most {max(d for w in _WINDOWS for d in drops[w, Form.SPLIT]):.1%}",
            more,
        ),
        Claim(
            "fig9-windows",
            "six windows instead of two change the throughput little",
            "little impact",
            f"at most {windows_cost:.1%}; {in_an_hour:.1%} with ten times as many tuples",
            max(windows_cost, in_an_hour) < LITTLE,
            "18 million tuples take less than ten minutes, in which only windows of five minutes end, here as in the "
            "paper; hence also the run with ten times as many.",
        ),
        Claim(
            "fig9-split-lower",
            "a split component has the lower throughput here",
            "lower",
            f"{min(lower):.1%} to {max(lower):.1%} lower",
            min(lower) > 0,
        ),
    ]


Speeds = dict[tuple[str, Form], list[float]]
"""Tuples per second for each number of keys, by windows and form."""


def _throughput(engine: Engine, tuples: float) -> Speeds:
    return {
        (windows, form): [tuples / completion_time(engine, simple_job(*minutes), form, keys, tuples) for keys in _KEYS]
        for windows, minutes in _WINDOWS.items()
        for form in Form
    }


def _cost_of_windows(speed: Speeds) -> float:
    two, six = ([v for form in Form for v in speed[w, form]] for w in _WINDOWS)
    return max(abs(1 - b / a) for a, b in zip(two, six, strict=True))


def _components() -> Claim:
    """Section 7.7: the simple job as one component and as two."""
    engine, plan = Engine(), simple_job(5, 10)
    one, two = (completion_time(engine, plan, form, keys=TUPLES) for form in (Form.COMBINED, Form.SPLIT))
    fewer = [completion_time(engine, plan, form, keys=3e5) for form in (Form.COMBINED, Form.SPLIT)]
    return Claim(
        "s7.7-components",
        "18 million tuples take more than 10% longer in two components than in one",
        f"{ONE_COMPONENT:.0f} s and {TWO_COMPONENTS:.0f} s ({TWO_COMPONENTS / ONE_COMPONENT - 1:.0%})",
        f"{one:.0f} s and {two:.0f} s ({two / one - 1:.0%})",
        two / one > 1.1,
        "The cost of a tuple and of a key are derived from these two figures, with as many keys as tuples, so this "
        "shows only that the model is consistent with them. The paper does not say how many keys there were: with "
        f"300,000 a minute it would be {fewer[1] / fewer[0] - 1:.1%}.",
    )


def _forms(run: Run) -> None:
    """Section 5.1.2: which form the cost model chooses for the simple job at 70% load, over its longest window."""
    engine, rows = Engine(), []
    for minutes in ((5,), (5, 10), (5, 10, 15, 20), (5, 10, 15, 20, 25, 30)):
        for keys, moves, bound in itertools.product((1_000, 10_000, 50_000), (0, 10, 60), (inf, 10.0)):
            period = minutes[-1] * MINUTE
            shard = migration_cost(Strategy.DISRUPTIVE, ShardState(keys), engine.key_costs)
            measured = Measured(
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
