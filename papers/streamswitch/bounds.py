"""StreamSwitch: other latency bounds on the exchange (section 6.7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.claims import Claim
from papers.run import Run
from papers.side_by_side import Bench
from papers.streamswitch.comparison import BASELINE, LINE, POOLED, PUBLISHED, kind_of, line, listed, scatter
from papers.streamswitch.exchange import AFTERNOON, SHORT, Day, Traded, traded
from papers.streamswitch.runs import ASKING_LB, DRS, DRS_LB, STATIC, SWITCH, Outcome, words

BOUNDS = ((1.0, 5.0), (5.0, 1.0))
SETTINGS = ((ASKING_LB, 0.38), (DRS_LB, 0.4), (DRS, 0.4), (SWITCH, 0.4), (SWITCH, 0.2))
FIXED = (8, 12, 24)

_LATER = (
    "With T = 5 s success is higher in the calm, but lower at an opening: what is measured is a mean over T, and so "
    "fewer slots are added in the first minutes."
)


def reproduce(bench: Bench, before: Sequence[Traded]) -> list[Claim]:
    """Figure 17, beside the runs under (1 s, 1 s).

    The whole day for every bound would take as long as all else together, so this is the second session: it has an
    opening, a calm and a closing as the day has. The runs under (1 s, 1 s) are judged by the same session.
    """
    run = bench.run
    chosen = days(run)
    every = [t.outcome for t in bench.each("other latency bounds", traded, chosen)]
    seen = {b: [o for d, o in zip(chosen, every, strict=True) if (d.bound, d.window) == b] for b in BOUNDS}
    base = {t.outcome.name: t.outcome.rate if run.quick else t.afternoon for t in before}
    return claims(run, seen, base)


def days(run: Run) -> list[Day]:
    """All runs of the figure, those that take longest first."""
    part, settings, fixed = (SHORT, SETTINGS[4:], (8,)) if run.quick else (AFTERNOON, SETTINGS, FIXED)
    every = [*((kind, margin, 8) for kind, margin in settings), *((STATIC, 0.2, slots) for slots in fixed)]
    return [Day(k, m, n, part, bound, window, seed=run.seed) for k, m, n in every for bound, window in BOUNDS]


def claims(run: Run, seen: dict[tuple[float, float], list[Outcome]], base: dict[str, float]) -> list[Claim]:
    """The figure, and what is claimed of it; ``base`` is the success under (1 s, 1 s)."""
    with run.figure("fig17", "Other latency bounds", columns=len(seen)) as axes:
        for column, (bound, outcomes) in enumerate(seen.items()):
            scatter(axes[0, column], outcomes)
            axes[0, column].set_title(f"L = {bound[0]:g} s, T = {bound[1]:g} s", fontsize=9)
    rows = [(f"({bound:g}, {window:g})", *line(o)) for (bound, window), each in seen.items() for o in each]
    run.table("fig17", ("bound (L, T)", *LINE), rows)
    gains = {b: [o.rate - base[o.name] for o in each if kind_of(o) == SWITCH] for b, each in seen.items()}
    gained = all(gain > 0 for each in gains.values() for gain in each)
    notes = (
        "" if run.quick else "By the second session, beside the same session under (1 s, 1 s).",
        "" if gained else _LATER,
    )
    return [
        Claim(
            "fig17-gains",
            "T = 5 s or L = 5 s raises StreamSwitch's success, under any margin",
            "by 0.5 % and 1 % on average",
            "; ".join(
                f"{_name(b)} {np.mean(each):+.2%} on average, {min(each):+.2%} at least" for b, each in gains.items()
            ),
            gained,
            " ".join(filter(None, notes)),
        ),
        *(claim for bound, outcomes in seen.items() for claim in _outperforms(bound, outcomes)),
    ]


def _name(bound: tuple[float, float]) -> str:
    return f"({bound[0]:g} s, {bound[1]:g} s)"


def _outperforms(bound: tuple[float, float], outcomes: Sequence[Outcome]) -> list[Claim]:
    """Whether others do as well: those as published, and any."""
    ours = next(o for o in outcomes if o.name == BASELINE)
    above = [o for o in outcomes if kind_of(o) != SWITCH and o.slots <= ours.slots and o.rate >= ours.rate]
    beaten = [o for o in above if kind_of(o) in PUBLISHED]
    name, id_ = _name(bound), f"fig17-{bound[0]:g}-{bound[1]:g}"
    title, paper = "As good with no more slots: ", "still outperforms"
    pooled = POOLED if ASKING_LB in map(kind_of, above) else ""
    return [
        Claim(
            f"{id_}-published",
            f"under {name}, no policy as published that uses as many slots as Switch(0.2), or fewer, does as well",
            paper,
            "; ".join(words(o) for o in outcomes if kind_of(o) in (SWITCH, *PUBLISHED)),
            not beaten,
            listed(title, beaten),
        ),
        Claim(
            id_,
            f"under {name}, no policy at all that uses as many slots as Switch(0.2), or fewer, does as well",
            paper,
            "; ".join(map(words, outcomes)),
            not above,
            " ".join(filter(None, (listed(title, above), pooled))),
        ),
    ]
