"""StreamSwitch: who keeps the latency bound over the trading day, with how many slots (section 6.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from papers.claims import Claim
from papers.run import Run
from papers.side_by_side import Bench
from papers.streamswitch.exchange import BUSY, EARLY, SHARDS, SHORT, SPEED, WHOLE, Day, Traded, traded
from papers.streamswitch.runs import ASKING, ASKING_LB, DRS, DRS_LB, REST, STATIC, SWITCH, Outcome, words

BASELINE = "Switch(0.2)"
MARGINS = {ASKING_LB: (0.3, 0.38), DRS_LB: (0.3, 0.4), ASKING: (0.3, 0.4), DRS: (0.3, 0.4), SWITCH: (0.1, 0.3, 0.4)}
"""Safety margins beside the baseline's, policies that take longest first. With 0.38 the strongest of the rivals uses
hardly fewer slots than the baseline."""

QUICK_MARGINS = {ASKING_LB: (0.38,), DRS_LB: (0.4,), DRS: (0.4,), SWITCH: (0.4,)}
FIXED = (8, 10, 12, 16, 24)
PUBLISHED = (STATIC, DRS, DRS_LB)
"""The paper's rivals."""

RIVALS = (*PUBLISHED, ASKING, ASKING_LB)
LINE = ("policy", "slots", "success", "lowest success of a shard", "treatments")

_MARKS = {SWITCH: "o", DRS: "^", DRS_LB: "s", ASKING: "v", ASKING_LB: "d", STATIC: "x"}
_PLUS = (
    "DRS+ and DRS-LB+ are DRS and DRS-LB without two traps of the published ones: under overload they ask for all "
    "slots, where those have no plan, and they give up no slot while rows are late."
)
POOLED = (
    "M/M/k takes all slots for one queue and asks for fewer of them in the calm, so with as many slots on average "
    "DRS-LB+ has a wider margin, with which it works off what an opening leaves behind. To StreamSwitch a slot is "
    "severe only if more arrives than it can serve, whatever waits."
)
"""Why the strongest rival does as well."""

_MOVED = "A shard that moves waits while two slots stand still, and those of fixed slots never do. "
_SHORT = (
    "A quick run has eighty seconds of calm, in which fixed slots keep the bound for every shard; at its opening they "
    "keep it for none, which counts a thirtieth. "
)
_QUICK = " A quick run has a few minutes of the day, each with the weight of those it stands for."


def run_all(bench: Bench, baseline: Traded) -> list[Traded]:
    """All runs of figure 5."""
    run = bench.run
    part, margins, fixed = (SHORT, QUICK_MARGINS, (8, 16)) if run.quick else (WHOLE, MARGINS, FIXED)
    days = [Day(kind, margin, part=part, seed=run.seed) for kind, each in margins.items() for margin in each]
    days += [Day(STATIC, slots=slots, part=part, seed=run.seed) for slots in fixed]
    return [baseline, *bench.each("the trading day", traded, days)]


def run_beside(bench: Bench) -> list[Traded]:
    """Without rest and without bursts, on a part of the day."""
    run = bench.run
    if run.quick:
        return []
    pairs = [(ASKING_LB, 0.38), (SWITCH, 0.2)]
    days = [Day(kind, margin, part=EARLY, rest=0.0, seed=run.seed) for kind, margin in pairs]
    days += [Day(kind, margin, part=EARLY, restless=False, seed=run.seed) for kind, margin in pairs]
    return bench.each("the trading day, otherwise", traded, days)


def claims(run: Run, runs: Sequence[Traded], beside: Sequence[Traded] = ()) -> list[Claim]:
    """Figure 5, and what is claimed of it."""
    found = [t.outcome for t in runs]
    ours = next(o for o in found if o.name == BASELINE)
    present = {kind_of(o) for o in found}
    rivals = {kind: closest(found, kind, ours) for kind in RIVALS if kind in present}
    published = {kind: rivals[kind] for kind in PUBLISHED}
    _draw(run, found, [ours, *rivals.values()])
    run.table("fig05", LINE, [line(o) for o in found])
    above = [o for o in found if kind_of(o) != SWITCH and o.slots <= ours.slots and o.rate >= ours.rate]
    beaten = [o for o in above if kind_of(o) in PUBLISHED]
    curve = sorted((o for o in found if kind_of(o) == SWITCH), key=lambda o: o.name)
    notes = (
        listed("As good with no more slots: ", above),
        _PLUS,
        POOLED if ASKING_LB in map(kind_of, above) else "",
        _otherwise(beside, runs),
    )
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
            "fig5-published",
            "of Static, DRS and DRS-LB as they were published, none that uses as many slots as Switch(0.2), or fewer, "
            "keeps the bound as often",
            "much higher success rates using comparable resources",
            "; ".join(map(words, (ours, *published.values()))),
            not beaten,
            listed("As good with no more slots: ", beaten),
        ),
        Claim(
            "fig5-equal",
            "no policy at all that uses as many slots as Switch(0.2), or fewer, keeps the bound as often",
            "much higher success rates using comparable resources",
            "; ".join(map(words, (ours, *rivals.values()))),
            not above,
            " ".join(filter(None, notes)),
        ),
        *(claim for kind in rivals for claim in _outdone(kind, found)),
        Claim(
            "fig5-margin",
            "a wider safety margin buys success with slots",
            "trades off resource frugality against success",
            "; ".join(map(words, curve)),
            all(a.slots < b.slots and a.rate < b.rate for a, b in pairwise(curve)),
        ),
        *_by_shard(ours, rivals, run.quick),
        Claim(
            "fig5-drs",
            "DRS and DRS-LB do worse than a fixed number of slots",
            "worse than the chosen static solutions",
            "; ".join(map(words, published.values())),
            published[DRS].rate < published[STATIC].rate and published[DRS_LB].rate < published[STATIC].rate,
            "Of each, the setting with the number of slots closest to that of Switch(0.2). A fixed number of slots "
            "works off an opening for many minutes here.",
        ),
    ]


def _by_shard(ours: Outcome, rivals: Mapping[str, Outcome], quick: bool) -> list[Claim]:
    """Whether all shards fare alike, beside the paper's rivals; the others are named."""
    published = [rivals[kind] for kind in PUBLISHED]
    others = [o for kind, o in rivals.items() if kind not in PUBLISHED]
    spread = {o.name: float(o.success.std()) for o in (ours, *rivals.values())}
    better = {o.name: int((o.success > ours.success).sum()) for o in rivals.values()}
    least = spread[ours.name] == min(spread[o.name] for o in (ours, *published))
    few = all(better[o.name] <= 6 for o in published)
    why = _MOVED + (_SHORT if quick else "")
    return [
        Claim(
            "fig5-spread",
            "success differs least between shards under StreamSwitch",
            "much lower variances",
            "standard deviation " + "; ".join(f"{o.name} {spread[o.name]:.2%}" for o in (ours, *published)),
            least,
            ("" if least else why) + _beside({o.name: f"{spread[o.name]:.2%}" for o in others}),
        ),
        Claim(
            "fig5-shards",
            f"at most 6 of the {SHARDS} shards do better under the rival with the closest number of slots",
            "6 under Static, 1 under DRS-LB",
            "; ".join(f"{better[o.name]} under {o.name}" for o in published),
            few,
            ("" if few else why) + _beside({o.name: str(better[o.name]) for o in others}),
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
    notes = (
        listed("Not above ", missed),
        POOLED if missed and kind == ASKING_LB else "",
        listed("Left out, with fewer slots than ours: ", fewer),
    )
    claim = Claim(
        f"fig5-above-{kind.lower()}",
        f"StreamSwitch is above {kind}: to every setting of it, some margin gives more success with no more slots",
        "outperforms" if kind in PUBLISHED else "not measured",
        f"to {len(theirs) - len(missed)} of {len(theirs)} settings",
        not missed,
        " ".join(filter(None, notes)),
    )
    return [claim]


def _otherwise(beside: Sequence[Traded], runs: Sequence[Traded]) -> str:
    """What other choices of ours would have given, in words."""
    if not beside:
        return ""
    rested = [t.outcome.name for t in beside[:2]]
    early = " and ".join(f"{t.outcome.name} {t.early:.2%}" for t in runs if t.outcome.name in rested)
    return (
        f"In the {BUSY / 60:.0f} minutes after the second opening it is {early}; without rest between treatments "
        f"{_pair(beside[:2])}; without bursts of single stocks {_pair(beside[2:])}."
    )


def _beside(values: Mapping[str, str]) -> str:
    """Numbers of rivals that the paper does not have."""
    return "Beside: " + "; ".join(f"{name} {value}" for name, value in values.items()) + "." if values else ""


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
