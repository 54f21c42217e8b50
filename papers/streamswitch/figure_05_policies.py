"""StreamSwitch's figure 5: how often each policy keeps the latency bound over a trading day (section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from papers.claims import Claim, Judged, addition, versions
from papers.paper_run import Run
from papers.side_by_side import Bench
from papers.streamswitch.testbed.named_policies import (
    DRS,
    DRS_LB,
    DRS_LB_PLUS,
    DRS_PLUS,
    REST,
    RESTED_DRS,
    RESTED_DRS_LB,
    SAMZA,
    STATIC,
    SWITCH,
    SWITCH_PLUS,
    SwitchOutcome,
    words,
)
from papers.streamswitch.testbed.ranking import (
    HEADER,
    RESTED_RIVALS,
    RIVALS,
    RIVALS_PLUS,
    as_good,
    closest,
    kind_of,
    line,
    listed,
    named,
    outdone,
    scatter,
    unbeaten,
)
from papers.streamswitch.testbed.trading_day import (
    BUSY,
    EARLY,
    SAMPLE,
    SHARDS,
    SHORT,
    SPEED,
    WHOLE,
    Day,
    DayResult,
    run_day,
)

MARGIN = 0.2
BASELINE, OURS = f"{SWITCH}({MARGIN:g})", f"{SWITCH_PLUS}({MARGIN:g})"
MARGINS = {
    DRS_LB_PLUS: (0.3, 0.38),
    RESTED_DRS_LB: (0.3, 0.4),
    DRS_PLUS: (0.3, 0.4),
    RESTED_DRS: (0.3, 0.4),
    SWITCH_PLUS: (0.1, 0.3, 0.4),
}
"""Safety margins to run besides the baseline's; policies that take longest come first. With 0.38, the strongest rival
uses hardly fewer slots than our baseline."""

QUICK_MARGINS = {DRS_LB_PLUS: (0.38,), RESTED_DRS_LB: (0.4,), RESTED_DRS: (0.4,), SWITCH_PLUS: (0.4,)}
PUBLISHED_MARGINS = {DRS: (0.4,), DRS_LB: (0.4,), SWITCH: (0.1, 0.2, 0.3, 0.4)}
QUICK_PUBLISHED_MARGINS = {DRS: (0.4,), DRS_LB: (0.4,), SWITCH: (0.4,)}
FIXED = (8, 10, 12, 16, 24)

CHOSEN = f"slot speed ({SPEED:g} orders/s, for 8.4 slots of our version); bursts of stocks; {SAMZA:g} s for a treatment"
"""Our choices in every claim about the exchange."""

POOLED = (
    "M/M/k models all slots as one queue and asks for fewer slots in calm times. With as many slots on average, "
    "DRS-LB+ can therefore have a wider margin, with which it works off the backlog of an opening. In StreamSwitch, a "
    "slot is severe only if more rows arrive than it can serve, however many wait."
)
"""Why the strongest rival does as well as our version."""

_PLUS = (
    "DRS+ and DRS-LB+ avoid two flaws of DRS and DRS-LB: under overload they ask for all slots, where the published "
    "policies have no plan, and they give up no slot while rows are late."
)
_MOVED = "Shards that move wait while two slots stand still; with a fixed number of slots, no shard moves."
_QUICK = "A quick run simulates a few minutes and weighs each by the part of the day that it stands for."


@dataclass(frozen=True)
class Compared:
    """All runs of the figure.

    Attributes:
        published: the published policies, on a sample of the day.
        ours: our version and its rivals, on the whole day; in a quick run on the same sample.
    """

    published: Sequence[DayResult]
    ours: Sequence[DayResult]


def run_all(bench: Bench, published: DayResult, ours: DayResult) -> Compared:
    """Run all policies; the two baselines, which figure 6 has run already, are given."""
    quick, seed = bench.run.quick, bench.run.seed
    part, margins = (SHORT, QUICK_PUBLISHED_MARGINS) if quick else (SAMPLE, PUBLISHED_MARGINS)
    theirs = [Day(kind, margin, part=part, seed=seed) for kind, each in margins.items() for margin in each]
    fixed = [] if quick else [Day(STATIC, slots=slots, part=part, seed=seed) for slots in FIXED]
    done = bench.each("the trading day: as published", run_day, [*theirs, *fixed])
    part, margins, slots = (SHORT, QUICK_MARGINS, (8, 16)) if quick else (WHOLE, MARGINS, FIXED)
    days = [Day(kind, margin, part=part, seed=seed) for kind, each in margins.items() for margin in each]
    days += [Day(STATIC, slots=count, part=part, seed=seed) for count in slots]
    runs = [ours, *bench.each("the trading day", run_day, days)]
    if quick:  # the same part of the day, so fixed slots need not be run again
        done = [published, *done, *(t for t in runs if kind_of(t.outcome) == STATIC)]
    return Compared(done, runs)


def run_otherwise(bench: Bench) -> list[DayResult]:
    """Run two policies with other choices of ours, on a part of the day: without rest, then without bursts."""
    run = bench.run
    if run.quick:
        return []
    pairs = [(DRS_LB_PLUS, 0.38), (SWITCH_PLUS, MARGIN)]
    days = [Day(kind, margin, part=EARLY, rest=0.0, seed=run.seed) for kind, margin in pairs]
    days += [Day(kind, margin, part=EARLY, bursts=False, seed=run.seed) for kind, margin in pairs]
    return bench.each("the trading day, otherwise", run_day, days)


def claims(run: Run, baseline: SwitchOutcome, compared: Compared, otherwise: Sequence[DayResult] = ()) -> list[Claim]:
    """Draw the figure and return its claims.

    Args:
        run: the run.
        baseline: Switch(0.2) over the whole day.
        compared: all other runs.
        otherwise: runs with other choices of ours; empty in a quick run.
    """
    published, ours = ([t.outcome for t in each] for each in (compared.published, compared.ours))
    theirs, mine = named(published, BASELINE), named(ours, OURS)
    _draw(run, "fig05", published, [theirs, *(closest(published, kind, theirs) for kind in RIVALS)])
    _draw(run, "fig05_ours", ours, [mine, *(closest(ours, kind, mine) for kind in RESTED_RIVALS)])
    for name, found in (("fig05", published), ("fig05_ours", ours)):
        run.table(name, HEADER, [line(o) for o in found])
    both = (published, theirs, RIVALS), (ours, mine, RESTED_RIVALS)
    sample = "" if run.quick else "The published policies run on a sample of a quarter of an hour, ours on the day."
    return [
        _baseline(run, baseline, mine),
        versions(
            "fig5-published",
            "no setting of Static, DRS or DRS-LB with at most as many slots as Switch(0.2) has as much success",
            "much higher success rates using comparable resources",
            (unbeaten(*each) for each in both),
            note=sample,
            chosen=CHOSEN,
            detail=listed("As much success as Switch(0.2) with no more slots: ", as_good(published, theirs, RIVALS)),
        ),
        _no_policy(ours, compared.ours, otherwise),
        *(claim for kind, rested in zip(RIVALS, RESTED_RIVALS, strict=True) for claim in _above(kind, rested, both)),
        *(claim for kind in RIVALS_PLUS for claim in _above_plus(kind, ours)),
        versions(
            "fig5-margin",
            "a wider safety margin gives more success and takes more slots",
            "trades off resource frugality against success",
            (_curve(published, SWITCH), _curve(ours, SWITCH_PLUS)),
            note=sample,
            chosen=CHOSEN,
        ),
        *_by_shard(both, run.quick),
        _fixed(both),
    ]


Side = tuple[Sequence[SwitchOutcome], SwitchOutcome, Sequence[str]]
"""All runs to compare, the baseline among them, and the names of its rivals."""


def _baseline(run: Run, theirs: SwitchOutcome, ours: SwitchOutcome) -> Claim:
    both = theirs, ours
    return versions(
        "fig5-baseline",
        "with L = 1 s and T = 1 s, Switch(0.2) has at least 95% success with at most 8.5 slots on average",
        "96.28% with 8.40 executors (section 6.7)",
        ((f"{o.rate:.2%} with {o.slots:.2f} slots", o.rate >= 0.95 and o.slots <= 8.5) for o in both),
        note=_QUICK if run.quick else "",
        chosen=CHOSEN,
        limit="the number of slots follows from the speed of a slot, which the paper does not print"
        if theirs.rate >= 0.95
        else "",
        detail=f"The paper does not print the speed of a slot. We take {SPEED:g} orders/s, with which our version "
        f"uses 8.4 slots. Stocks have bursts like recorded stocks. Our version rests for {REST:g} s between "
        "treatments; the published one does not.",
    )


def _no_policy(found: Sequence[SwitchOutcome], runs: Sequence[DayResult], otherwise: Sequence[DayResult]) -> Claim:
    """Compare our version with all policies, also with those that the paper does not have."""
    ours, every = named(found, OURS), (*RESTED_RIVALS, *RIVALS_PLUS)
    above = as_good(found, ours, every)
    summary, holds = unbeaten(found, ours, every)
    reasons = (
        listed("As much success with no more slots: ", above),
        _PLUS,
        POOLED if DRS_LB_PLUS in map(kind_of, above) else "",
        _otherwise(otherwise, runs),
    )
    return addition(
        "fig5-equal",
        "no policy at all with at most as many slots as Switch+(0.2) has as much success",
        summary,
        holds,
        chosen=f"{CHOSEN}; margin of DRS-LB+ (0.38, for as many slots)",
        detail=" ".join(filter(None, reasons)),
    )


def _by_shard(both: Sequence[Side], quick: bool) -> list[Claim]:
    """Compare success by shard with the rivals' settings that are closest in slots."""
    spreads, betters = [], []
    for found, mine, kinds in both:
        rivals = [closest(found, kind, mine) for kind in kinds]
        spread = {o.name: float(o.success.std()) for o in (mine, *rivals)}
        better = {o.name: int((o.success > mine.success).sum()) for o in rivals}
        deviations = "; ".join(f"{name} {value:.2%}" for name, value in spread.items())
        spreads.append((f"standard deviation {deviations}", spread[mine.name] == min(spread.values())))
        counts = "; ".join(f"{count} under {name}" for name, count in better.items())
        betters.append((counts, max(better.values()) <= 6))
    why = (
        "A quick run has eighty calm seconds, in which fixed slots keep the bound for every shard. At the opening "
        "they keep it for none, but that weighs only a thirtieth."
        if quick
        else ""
    )
    return [
        versions(
            "fig5-spread",
            "success differs less between shards under StreamSwitch than under rivals with similar numbers of slots",
            "much lower variances",
            spreads,
            note="" if spreads[0][1] else _MOVED,
            chosen=CHOSEN,
            detail="" if spreads[0][1] else why,
        ),
        versions(
            "fig5-shards",
            f"at most 6 of the {SHARDS} shards have more success under a rival with a similar number of slots",
            "6 under Static, 1 under DRS-LB",
            betters,
            note="" if betters[0][1] else _MOVED,
            chosen=CHOSEN,
            detail="" if betters[0][1] else why,
        ),
    ]


def _fixed(both: Sequence[Side]) -> Claim:
    """Compare the rivals with each other: as published, and with a rest."""
    results = []
    for found, mine, kinds in both:
        static, *others = (closest(found, kind, mine) for kind in kinds)
        results.append(("; ".join(map(words, (static, *others))), max(o.rate for o in others) < static.rate))
    return versions(
        "fig5-drs",
        "DRS and DRS-LB have less success than a fixed number of slots",
        "worse than the chosen static solutions",
        results,
        note="Settings whose number of slots is closest to that of Switch(0.2). The result depends strongly on the "
        "rest after a treatment, of which the paper says nothing.",
        chosen=CHOSEN,
        detail="As published, both change their number of slots with every fluctuation of the arrivals, and two slots "
        "stand still each time. They also have no plan at an opening and never work off its backlog. With a rest of "
        "one second they do far better. Fixed slots need many minutes to work off an opening.",
    )


def _above(kind: str, rested: str, both: Sequence[Side]) -> list[Claim]:
    """Compare StreamSwitch's curve with all settings of a rival; empty if neither version can be compared."""
    (published, *_), (ours, *_) = both
    found, mine = _outdone_by(SWITCH, kind, published), _outdone_by(SWITCH_PLUS, rested, ours)
    if found is None and mine is None:
        return []
    none = "no setting of it has as many slots"
    return [
        versions(
            f"fig5-above-{kind.lower()}",
            f"for every setting of {kind}, some margin of StreamSwitch gives more success with no more slots",
            "outperforms",
            (found or (none, False), mine or (none, False)),
            chosen=CHOSEN,
            limit="" if found else f"{none}, so there is nothing to compare",
            detail=_left_out(SWITCH, kind, published),
        )
    ]


def _above_plus(kind: str, found: Sequence[SwitchOutcome]) -> list[Claim]:
    """Compare our version's curve with a rival that the paper does not have."""
    result = _outdone_by(SWITCH_PLUS, kind, found) if kind in map(kind_of, found) else None
    if result is None:
        return []
    missed = "" if result[1] or kind != DRS_LB_PLUS else f" {POOLED}"
    return [
        addition(
            f"fig5-above-{kind.lower()}",
            f"for every setting of {kind}, some margin of Switch+ gives more success with no more slots",
            *result,
            chosen=CHOSEN,
            detail=(_left_out(SWITCH_PLUS, kind, found) + missed).strip(),
            paper="not measured",
        )
    ]


def _outdone_by(mine: str, kind: str, found: Sequence[SwitchOutcome]) -> Judged | None:
    """Count the settings of a rival that some setting of ours beats; None if all of them have fewer slots."""
    curve = [o for o in found if kind_of(o) == mine]
    theirs = [o for o in found if kind_of(o) == kind and o.slots >= min(each.slots for each in curve)]
    if not theirs:
        return None
    ahead = sum(outdone(o, curve) for o in theirs)
    return f"for {ahead} of {len(theirs)} settings", ahead == len(theirs)


def _left_out(mine: str, kind: str, found: Sequence[SwitchOutcome]) -> str:
    """List the settings of a rival that ours does not beat, and those that were not compared."""
    curve, theirs = ([o for o in found if kind_of(o) == each] for each in (mine, kind))
    fewest = min(o.slots for o in curve)
    missed = [o for o in theirs if o.slots >= fewest and not outdone(o, curve)]
    fewer = [o for o in theirs if o.slots < fewest]
    parts = listed("No margin beats ", missed), listed(f"Left out, with fewer slots than any {mine}: ", fewer)
    return " ".join(filter(None, parts))


def _otherwise(otherwise: Sequence[DayResult], runs: Sequence[DayResult]) -> str:
    """Describe what other choices of ours give; empty if they were not run."""
    if not otherwise:
        return ""
    rested = [t.outcome.name for t in otherwise[:2]]
    early = " and ".join(f"{t.outcome.name} {t.early:.2%}" for t in runs if t.outcome.name in rested)
    return (
        f"In the {BUSY / 60:.0f} minutes after the second opening, success is {early}. Without rest between treatments "
        f"it is {_pair(otherwise[:2])}; without bursts of single stocks {_pair(otherwise[2:4])}."
    )


def _pair(found: Sequence[DayResult]) -> str:
    return " and ".join(words(t.outcome) for t in found)


def _curve(found: Sequence[SwitchOutcome], kind: str) -> Judged:
    each = sorted((o for o in found if kind_of(o) == kind), key=lambda o: o.name)
    return "; ".join(map(words, each)), all(a.slots < b.slots and a.rate < b.rate for a, b in pairwise(each))


def _draw(run: Run, name: str, found: Sequence[SwitchOutcome], close: Sequence[SwitchOutcome]) -> None:
    with run.figure(name, "Success with L = 1 s and T = 1 s by number of slots", columns=3, width=4.6) as axes:
        scatter(axes[0, 0], found)
        order = sorted(found, key=lambda o: o.slots)
        axes[0, 1].boxplot([100 * o.success for o in order], sym=".", widths=0.6)
        axes[0, 1].set_xticks(range(1, len(order) + 1), [o.name for o in order], rotation=90, fontsize=6)
        axes[0, 1].set(ylabel="success by shard (%)")
        for o in close:
            axes[0, 2].plot(100 * np.sort(o.success), lw=1, label=o.name)
        axes[0, 2].set(xlabel=f"{SHARDS} shards, each policy in its own order", ylabel="success (%)")
        axes[0, 2].legend()
