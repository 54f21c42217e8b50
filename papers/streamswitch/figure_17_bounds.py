"""StreamSwitch's figure 17: other latency bounds on the exchange (section 6.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from papers.claims import Claim, Judged, addition, versions
from papers.paper_run import Run
from papers.side_by_side import Bench
from papers.streamswitch.figure_05_policies import BASELINE, CHOSEN, OURS, POOLED, Compared
from papers.streamswitch.testbed.named_policies import (
    DRS,
    DRS_LB,
    DRS_LB_PLUS,
    RESTED_DRS,
    RESTED_DRS_LB,
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
    kind_of,
    line,
    listed,
    named,
    scatter,
)
from papers.streamswitch.testbed.trading_day import AFTERNOON, SAMPLE, SHORT, Day, run_day

BOUNDS = ((1.0, 5.0), (5.0, 1.0))
PUBLISHED = ((DRS_LB, 0.4), (DRS, 0.4), (SWITCH, 0.4), (SWITCH, 0.2))
OURS_AND_RIVALS = ((DRS_LB_PLUS, 0.38), (RESTED_DRS_LB, 0.4), (RESTED_DRS, 0.4), (SWITCH_PLUS, 0.4), (SWITCH_PLUS, 0.2))
FIXED = (8, 12, 24)

_LATER = (
    "With T = 5 s, success is higher in calm times but lower at an opening: latency is measured as a mean over T, so "
    "fewer slots are added in the first minutes."
)


Seen = Mapping[tuple[float, float], Sequence[SwitchOutcome]]
"""Runs by bound L and window T, in seconds."""


def reproduce(bench: Bench, before: Compared) -> list[Claim]:
    """Draw the figure and return its claims; ``before`` are the runs with L = 1 s and T = 1 s.

    The whole day for every bound would take as long as everything else together. Our version is therefore run on the
    second session, which has an opening, a calm time and a close like the day. The published policies are run on their
    sample. The runs with L = 1 s and T = 1 s are compared on the same parts.
    """
    quick = bench.run.quick
    published, ours = [t.outcome for t in before.published], before.ours
    base = {o.name: o.rate for o in published}
    base |= {t.outcome.name: t.outcome.rate if quick else t.afternoon for t in ours if kind_of(t.outcome) != STATIC}
    groups = days(bench.run)
    done = bench.each("other latency bounds", run_day, [day for group in groups for day in group])
    every = iter(done)
    seen = [_by_bound(group, [next(every).outcome for _ in group]) for group in groups]
    if quick:  # the same part of the day, so fixed slots need not be run again
        seen[0] = {b: [*each, *(o for o in seen[1][b] if kind_of(o) == STATIC)] for b, each in seen[0].items()}
    return claims(bench.run, seen[0], seen[1], base)


def days(run: Run) -> tuple[list[Day], list[Day]]:
    """Return all runs of the figure, of the published policies and of ours; those that take longest come first."""
    first = [(PUBLISHED[-1:], (), SHORT), (OURS_AND_RIVALS[-1:], (8,), SHORT)]
    settings = first if run.quick else [(PUBLISHED, FIXED, SAMPLE), (OURS_AND_RIVALS, FIXED, AFTERNOON)]
    published, ours = (
        [
            Day(kind, margin, slots, part, bound, window, seed=run.seed)
            for kind, margin, slots in [*((k, m, 8) for k, m in policies), *((STATIC, 0.2, n) for n in fixed)]
            for bound, window in BOUNDS
        ]
        for policies, fixed, part in settings
    )
    return published, ours


def _by_bound(chosen: Sequence[Day], outcomes: Sequence[SwitchOutcome]) -> Seen:
    return {b: [o for d, o in zip(chosen, outcomes, strict=True) if (d.bound, d.window) == b] for b in BOUNDS}


def claims(run: Run, published: Seen, ours: Seen, base: Mapping[str, float]) -> list[Claim]:
    """Draw the figure and return its claims; ``base`` is the success with L = 1 s and T = 1 s, by policy."""
    for name, seen in (("fig17", published), ("fig17_ours", ours)):
        _draw(run, name, seen)
    gained = _gained(published, base, SWITCH), _gained(ours, base, SWITCH_PLUS)
    return [
        versions(
            "fig17-gains",
            "StreamSwitch has more success with (L, T) = (1 s, 5 s) and with (5 s, 1 s) than with (1 s, 1 s), with "
            "every margin",
            "0.5% and 1% more on average",
            gained,
            note=""
            if run.quick
            else "The published policies run on a sample of a quarter of an hour, ours on the second session.",
            chosen=CHOSEN,
            detail="" if gained[0][1] and gained[1][1] else _LATER,
        ),
        *(claim for bound in published for claim in _outperforms(bound, published[bound], ours[bound])),
    ]


def _draw(run: Run, name: str, seen: Seen) -> None:
    with run.figure(name, "Other latency bounds", columns=len(seen)) as axes:
        for column, (bound, outcomes) in enumerate(seen.items()):
            scatter(axes[0, column], outcomes)
            axes[0, column].set_title(f"L = {bound[0]:g} s, T = {bound[1]:g} s", fontsize=9)
    rows = [(f"({bound:g}, {window:g})", *line(o)) for (bound, window), each in seen.items() for o in each]
    run.table(name, ("bound (L, T)", *HEADER), rows)


def _gained(seen: Seen, base: Mapping[str, float], kind: str) -> Judged:
    gains = {b: [o.rate - base[o.name] for o in each if kind_of(o) == kind] for b, each in seen.items()}
    words = "; ".join(
        f"{_name(b)} {np.mean(each):+.2%} on average, at least {min(each):+.2%}" for b, each in gains.items()
    )
    return words, all(gain > 0 for each in gains.values() for gain in each)


def _name(bound: tuple[float, float]) -> str:
    return f"({bound[0]:g} s, {bound[1]:g} s)"


def _outperforms(
    bound: tuple[float, float], published: Sequence[SwitchOutcome], mine: Sequence[SwitchOutcome]
) -> list[Claim]:
    """Return the claim about the paper's rivals, and our statement about all rivals."""
    theirs, ours = named(published, BASELINE), named(mine, OURS)
    name, id_, title = _name(bound), f"fig17-{bound[0]:g}-{bound[1]:g}", "As much success with no more slots: "
    above = as_good(mine, ours, (*RESTED_RIVALS, *RIVALS_PLUS))
    pooled = POOLED if DRS_LB_PLUS in map(kind_of, above) else ""
    return [
        versions(
            f"{id_}-published",
            f"with (L, T) = {name}, no setting of Static, DRS or DRS-LB with at most as many slots as Switch(0.2) has "
            "as much success",
            "still outperforms",
            (_beaten(published, theirs, RIVALS), _beaten(mine, ours, RESTED_RIVALS)),
            chosen=CHOSEN,
            detail=listed(title, as_good(published, theirs, RIVALS)),
        ),
        addition(
            id_,
            f"with (L, T) = {name}, no policy at all with at most as many slots as Switch+(0.2) has as much success",
            "; ".join(map(words, mine)),
            not above,
            chosen=CHOSEN,
            detail=" ".join(filter(None, (listed(title, above), pooled))),
        ),
    ]


def _beaten(found: Sequence[SwitchOutcome], mine: SwitchOutcome, rivals: Sequence[str]) -> Judged:
    kinds = (kind_of(mine), *rivals)
    return "; ".join(words(o) for o in found if kind_of(o) in kinds), not as_good(found, mine, rivals)
