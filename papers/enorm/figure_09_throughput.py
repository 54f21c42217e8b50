"""Enorm's figure 9: throughput by keys to consolidate, number of windows, and form (section 7.1)."""

from __future__ import annotations

import itertools

from papers.claims import Claim
from papers.enorm.testbed.cost_model import TUPLES, EnormNodes, completion_time, simple_job
from papers.paper_run import Run
from rheostat.planning.enorm.splitting import Form

LITTLE = 0.05
"""Share below which a change counts as little. The paper prints no number."""

_KEYS = tuple(25_000 * 2**i for i in range(6))
_WINDOWS = {"2 windows": (5, 10), "6 windows": (5, 10, 15, 20, 25, 30)}


def reproduce(run: Run) -> list[Claim]:
    """Draw the figure and return its claims."""
    engine = EnormNodes()
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
    chosen = f"{engine.merge * 1e6:.0f} us to merge a key, {_KEYS[0]:,} to {_KEYS[-1]:,} keys"
    return [
        Claim(
            "fig9-keys",
            f"twice as many keys to consolidate lower the throughput of a combined component by less than {LITTLE:.0%}",
            "very little",
            f"at most {combined:.1%}",
            combined < LITTLE,
            chosen=chosen,
            detail=f"A tuple costs {engine.per_tuple * 1e6:.0f} us and sending a key {engine.per_key * 1e6:.1f} us, "
            f"from the paper's figures. Merging a key costs {engine.merge * 1e6:.0f} us, which is ours.",
        ),
        Claim(
            "fig9-split-keys",
            "twice as many keys to consolidate lower the throughput of a split component more than that of a combined "
            "one",
            "more",
            f"at most {max(d for w in _WINDOWS for d in drops[w, Form.SPLIT]):.1%}",
            more,
            chosen=chosen,
        ),
        Claim(
            "fig9-windows",
            f"six windows instead of two change the throughput by less than {LITTLE:.0%}",
            "little impact",
            f"at most {windows_cost:.1%}; {in_an_hour:.1%} with ten times as many tuples",
            max(windows_cost, in_an_hour) < LITTLE,
            "18 million tuples take less than ten minutes, in which only windows of five minutes end, here as in the "
            "paper. We therefore also ran ten times as many.",
            chosen=chosen,
        ),
        Claim(
            "fig9-split-lower",
            "a split component has less throughput than a combined one",
            "lower",
            f"{min(lower):.1%} to {max(lower):.1%} lower",
            min(lower) > 0,
            chosen=chosen,
        ),
    ]


Speeds = dict[tuple[str, Form], list[float]]
"""Tuples per second for each number of keys, by windows and form."""


def _throughput(engine: EnormNodes, tuples: float) -> Speeds:
    return {
        (windows, form): [tuples / completion_time(engine, simple_job(*minutes), form, keys, tuples) for keys in _KEYS]
        for windows, minutes in _WINDOWS.items()
        for form in Form
    }


def _cost_of_windows(speed: Speeds) -> float:
    two, six = ([v for form in Form for v in speed[w, form]] for w in _WINDOWS)
    return max(abs(1 - b / a) for a, b in zip(two, six, strict=True))
