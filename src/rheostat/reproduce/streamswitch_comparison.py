"""StreamSwitch: who keeps the latency bound over the trading day, with how many slots (section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rheostat.reproduce.claims import Claim
from rheostat.reproduce.run import Run
from rheostat.reproduce.streamswitch_exchange import BUSY, EARLY, SHARDS, SHORT, SPEED, WHOLE, Day, Traded, traded
from rheostat.reproduce.streamswitch_runs import (
    ASKING,
    DRS,
    DRS_LB,
    REST,
    STATIC,
    SWITCH,
    Bench,
    Outcome,
    words,
)

BASELINE = "Switch(0.2)"
MARGINS = {DRS_LB: (0.4, 0.5), DRS: (0.4, 0.5), SWITCH: (0.1, 0.3, 0.4)}
"""Safety margins beside the baseline's, policies that take longest first."""

QUICK_MARGINS = {DRS_LB: (0.4,), DRS: (0.4,), SWITCH: (0.4,)}
FIXED = (6, 8, 10, 12, 16, 24, 32)
RIVALS = (STATIC, DRS, DRS_LB)
LINE = ("policy", "slots", "success", "lowest success of a shard", "treatments")

_MARKS = {SWITCH: "o", DRS: "^", DRS_LB: "s", STATIC: "x"}
_QUICK = " A quick run has a few minutes of the day, each with the weight of those it stands for."


def run_all(bench: Bench, baseline: Traded) -> list[Traded]:
    """All runs of figure 5."""
    run = bench.run
    part, margins, fixed = (SHORT, QUICK_MARGINS, (8, 16)) if run.quick else (WHOLE, MARGINS, FIXED)
    days = [Day(kind, margin, part=part, seed=run.seed) for kind, each in margins.items() for margin in each]
    days += [Day(STATIC, slots=slots, part=part, seed=run.seed) for slots in fixed]
    return [baseline, *bench.each("the trading day", traded, days)]


def run_beside(bench: Bench) -> list[Traded]:
    """Without rest, without bursts, and DRS that asks for all slots under overload, on a part of the day."""
    run = bench.run
    if run.quick:
        return []
    pairs = [(DRS, 0.4), (SWITCH, 0.2)]
    days = [Day(kind, margin, part=EARLY, rest=0.0, seed=run.seed) for kind, margin in pairs]
    days += [Day(kind, margin, part=EARLY, restless=False, seed=run.seed) for kind, margin in pairs]
    days.append(Day(ASKING, 0.4, part=EARLY, seed=run.seed))
    return bench.each("the trading day, otherwise", traded, days)


def claims(run: Run, runs: Sequence[Traded], beside: Sequence[Traded] = ()) -> list[Claim]:
    """Figure 5, and what is claimed of it."""
    found = [t.outcome for t in runs]
    ours = next(o for o in found if o.name == BASELINE)
    rivals = {kind: closest(found, kind, ours) for kind in RIVALS}
    _draw(run, found, [ours, *rivals.values()])
    run.table("fig05", LINE, [line(o) for o in found])
    above = [o for o in found if kind_of(o) != SWITCH and o.slots <= ours.slots and o.rate >= ours.rate]
    spread = {o.name: float(o.success.std()) for o in (ours, *rivals.values())}
    better = {kind: int((o.success > ours.success).sum()) for kind, o in rivals.items()}
    curve = sorted((o for o in found if kind_of(o) == SWITCH), key=lambda o: o.name)
    quick = _QUICK if run.quick else ""
    return [
        Claim(
            "fig5-baseline",
            "under (1 s, 1 s), Switch(0.2) keeps the bound in at least 95 % of the windows with at most 8.5 slots",
            "96.28 % with 8.40 executors (section 6.7)",
            f"{ours.rate:.2%} with {ours.slots:.2f} on average",
            ours.rate >= 0.95 and ours.slots <= 8.5,
            f"The speed of a slot is not printed: {SPEED:g} orders a second is ours, chosen for 8.4 slots alone. "
            f"Stocks have bursts as recorded stocks have them. All policies rest {REST:g} s between treatments.{quick}",
        ),
        Claim(
            "fig5-equal",
            "no policy that uses as many slots as Switch(0.2), or fewer, keeps the bound as often",
            "much higher success rates using comparable resources",
            "; ".join(map(words, (ours, *rivals.values()))),
            not above,
            (listed("As good with no more slots: ", above) + _otherwise(beside, runs)).strip(),
        ),
        *(claim for kind in RIVALS for claim in _outdone(kind, found)),
        Claim(
            "fig5-margin",
            "a wider safety margin buys success with slots",
            "trades off resource frugality against success",
            "; ".join(map(words, curve)),
            all(a.slots < b.slots and a.rate < b.rate for a, b in pairwise(curve)),
        ),
        Claim(
            "fig5-spread",
            "success differs least between shards under StreamSwitch",
            "much lower variances",
            "standard deviation " + "; ".join(f"{name} {value:.2%}" for name, value in spread.items()),
            spread[ours.name] == min(spread.values()),
        ),
        Claim(
            "fig5-shards",
            f"at most 6 of the {SHARDS} shards do better under the rival with the closest number of slots",
            "6 under Static, 1 under DRS-LB",
            "; ".join(f"{count} under {rivals[kind].name}" for kind, count in better.items()),
            all(count <= 6 for count in better.values()),
        ),
        Claim(
            "fig5-drs",
            "DRS and DRS-LB do worse than a fixed number of slots",
            "worse than the chosen static solutions",
            "; ".join(map(words, rivals.values())),
            rivals[DRS].rate < rivals[STATIC].rate and rivals[DRS_LB].rate < rivals[STATIC].rate,
            "Of each, the setting with the number of slots closest to that of Switch(0.2). A fixed number of slots "
            "works off an opening for many minutes here.",
        ),
    ]


def _outdone(kind: str, found: Sequence[Outcome]) -> list[Claim]:
    """Whether the curve of StreamSwitch lies above all settings of a rival; nothing if they cannot be compared."""
    ours = [o for o in found if kind_of(o) == SWITCH]
    theirs = [o for o in found if kind_of(o) == kind and o.slots >= min(each.slots for each in ours)]
    fewer = [o for o in found if kind_of(o) == kind and o not in theirs]
    missed = [o for o in theirs if not outdone(o, ours)]
    if not theirs:
        return []
    claim = Claim(
        f"fig5-above-{kind.lower()}",
        f"StreamSwitch is above {kind}: to every setting of it, some margin gives more success with no more slots",
        "outperforms",
        f"to {len(theirs) - len(missed)} of {len(theirs)} settings",
        not missed,
        " ".join(filter(None, (listed("Not above ", missed), listed("Left out, with fewer slots than ours: ", fewer)))),
    )
    return [claim]


def _otherwise(beside: Sequence[Traded], runs: Sequence[Traded]) -> str:
    """What other choices of ours would have given, in words."""
    if not beside:
        return ""
    rested = {t.outcome.name: t.early for t in runs}
    still, calm, asking = beside[:2], beside[2:4], beside[4]
    return (
        f" In the {BUSY / 60:.0f} minutes after the second opening it is {rested[BASELINE]:.2%} for {BASELINE} and "
        f"{rested['DRS(0.4)']:.2%} for DRS(0.4); without rest between treatments {_pair(still)}; without bursts of "
        f"single stocks {_pair(calm)}; and for DRS that asks for all slots under overload, where the published one has "
        f"no plan, {words(asking.outcome)}."
    )


def _pair(found: Sequence[Traded]) -> str:
    return " and ".join(words(t.outcome) for t in found)


def line(found: Outcome) -> tuple[object, ...]:
    """A run as a line of a table."""
    return found.name, round(found.slots, 3), round(found.rate, 5), round(float(found.success.min()), 5), found.events


def listed(title: str, found: Sequence[Outcome]) -> str:
    """Several runs in words; nothing if there are none.

    >>> listed("Not: ", [])
    ''
    """
    return f"{title}{'; '.join(map(words, found))}." if found else ""


def kind_of(found: Outcome) -> str:
    """The policy without its parameter."""
    return found.name.partition("(")[0]


def closest(found: Sequence[Outcome], kind: str, ours: Outcome) -> Outcome:
    """The setting of a policy whose number of slots is closest."""
    return min((o for o in found if kind_of(o) == kind), key=lambda o: abs(o.slots - ours.slots))


def outdone(rival: Outcome, ours: Sequence[Outcome]) -> bool:
    """Whether one of ours succeeds more often with no more slots."""
    return any(o.slots <= rival.slots and o.rate > rival.rate for o in ours)


def scatter(axis: Any, found: Sequence[Outcome]) -> None:
    """Success against slots, one line for each policy."""
    for kind, mark in _MARKS.items():
        each = sorted((o for o in found if kind_of(o) == kind), key=lambda o: o.slots)
        if each:
            axis.plot([o.slots for o in each], [100 * o.rate for o in each], marker=mark, ms=4, lw=0.8, label=kind)
    axis.set(xlabel="slots on average", ylabel="success (%)")
    axis.legend()


def _draw(run: Run, found: Sequence[Outcome], close: Sequence[Outcome]) -> None:
    with run.figure("fig05", "Who keeps (1 s, 1 s) with how many slots", columns=3, width=4.6) as axes:
        scatter(axes[0, 0], found)
        order = sorted(found, key=lambda o: o.slots)
        axes[0, 1].boxplot([100 * o.success for o in order], sym=".", widths=0.6)
        axes[0, 1].set_xticks(range(1, len(order) + 1), [o.name for o in order], rotation=90, fontsize=6)
        axes[0, 1].set(ylabel="success by shard (%)")
        for o in close:
            axes[0, 2].plot(100 * np.sort(o.success), lw=1, label=o.name)
        axes[0, 2].set(xlabel=f"{SHARDS} shards, each policy in its own order", ylabel="success (%)")
        axes[0, 2].legend()
