"""StreamSwitch's figures 12 and 13: slots of two speeds (section 6.4).

A new slot is of the other type with probability beta (here: share) and then alpha (here: factor) times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from papers.claims import Claim, Judged, versions
from papers.paper_run import Run
from papers.side_by_side import Bench
from papers.streamswitch.testbed.named_policies import SWITCH, SWITCH_PLUS
from papers.streamswitch.testbed.waves import COST, SHORT_STOPS, Wave, WaveResult, events, mean, rate, run_wave, slots

SPEED = 4_000.0
FACTORS = (0.5, 0.75, 1.25, 1.5)
SHARES = (0.2, 0.4, 0.6, 0.8)

_DRAWN = (
    "The type of every new slot is random, and one run has only a few dozen new slots. From one seed to another the "
    "number of slots differs by up to two, more than between neighbouring mixtures. The paper has means of ten runs of "
    "an hour."
)
_QUICK_DRAWN = "In 200 seconds hardly any slot is new: most are of the type that they began with."

Mixtures = Mapping[tuple[float, float], Sequence[WaveResult]]
"""Runs by factor and share of the other type."""


def reproduce(bench: Bench) -> list[Claim]:
    """Draw both figures and return their claims."""
    run = bench.run
    factors, shares = (FACTORS[0::3], SHARES[1:2]) if run.quick else (FACTORS, SHARES)
    warm_up, seconds = (60.0, 200.0) if run.quick else (300.0, 1200.0)
    base = Wave("q2", SPEED, 10e3, 600.0, seconds, warm_up, seed=run.seed)
    grid = [(kind, factor, share) for factor in factors for share in shares for kind in (SWITCH, SWITCH_PLUS)]
    waves = [replace(base, kind=kind, factor=f, share=s) for kind, f, s in grid]
    hot = [] if run.quick else [replace(base, seconds=600.0, hot=True)]
    done = bench.each("mixed resources", run_wave, [*hot, *waves])
    hot_runs, done = done[: len(hot)], done[len(hot) :]
    published, ours = (
        {(f, s): [r] for (k, f, s), r in zip(grid, done, strict=True) if k == kind} for kind in (SWITCH, SWITCH_PLUS)
    )
    return claims(run, published, ours, hot_runs)


def claims(run: Run, published: Mixtures, ours: Mixtures, hot: Sequence[WaveResult] = ()) -> list[Claim]:
    """Draw both figures and return their claims; ``hot`` is a run with hot keys, empty in a quick run."""
    _draw(run, "", published)
    _draw(run, "_ours", ours)
    both = published, ours
    faster, preferred, shared = ([judge(each) for each in both] for judge in (_by_factor, _preferred, _by_share))
    drawn = _QUICK_DRAWN if run.quick else _DRAWN
    length = "One run of 200 seconds each" if run.quick else "One run of 20 minutes each, after 5 of warm-up"
    runs = f"{length}, where the paper has ten of an hour."
    if hot:
        runs += (
            f" With NEXMark's hot auctions as keys and equal slots, success is {hot[0].outcome.rate:.2%} with "
            f"{hot[0].outcome.slots:.0f} slots as published, because half of all rows go to one shard at any time."
        )
    result = [
        versions(
            "fig12-success",
            "success is at least 99% with every mixture of slot speeds, except with slots at half the speed",
            "close to 100%, below 99% only with alpha = 0.5",
            (_success(each) for each in both),
            chosen=COST,
            detail=runs,
        ),
        versions(
            "fig12-half",
            "with slots at half the speed, success falls below 99%",
            "below 99% with alpha = 0.5",
            (_half(each) for each in both),
            chosen=COST,
            limit=SHORT_STOPS,
        ),
        versions(
            "fig12-speed",
            "the slower the slots of the other type, the more slots are used, whatever their share",
            "the number of executors increases when the mixed resource becomes more inferior",
            faster,
            chosen=COST,
            detail="" if faster[0][1] else drawn,
        ),
        versions(
            "fig13-preferred",
            "the faster type has a larger share of the slots in use than of the slots supplied",
            "a higher proportion of superior resource in every scenario",
            preferred,
            chosen=COST,
            detail="" if preferred[0][1] else drawn,
        ),
        versions(
            "fig13-treatments",
            "the slower the slots of the other type, the more treatments there are",
            "more treatments with worse resources",
            (_treatments(each) for each in both),
            note="Means over all shares.",
            chosen=COST,
        ),
    ]
    if shared[0][0]:
        result.append(
            versions(
                "fig12-share",
                "a larger share of slower slots takes more slots, and a larger share of faster slots takes fewer",
                "increases with beta if alpha < 1, and vice versa",
                shared,
                chosen=COST,
                detail="" if shared[0][1] else drawn,
            )
        )
    return result


def _axes(found: Mixtures) -> tuple[list[float], list[float]]:
    """The factors and the shares that were run, both rising."""
    return sorted({f for f, _ in found}), sorted({s for _, s in found})


def _means(found: Mixtures, value: Callable[[WaveResult], float]) -> dict[tuple[float, float], float]:
    return {each: mean(runs, value) for each, runs in found.items()}


def _success(found: Mixtures) -> Judged:
    success = _means(found, rate)
    better, worst = (min(x for (f, _), x in success.items() if (f > 0.5) == fast) for fast in (True, False))
    return f"at least {better:.2%}; with half the speed at least {worst:.2%}", better >= 0.99


def _half(found: Mixtures) -> Judged:
    worst = {s: x for (f, s), x in _means(found, rate).items() if f == 0.5}
    return "; ".join(f"{x:.2%} with a share of {s:.0%}" for s, x in worst.items()), min(worst.values()) < 0.99


def _by_factor(found: Mixtures) -> Judged:
    used, (factors, shares) = _means(found, slots), _axes(found)
    more = [used[a, share] > used[b, share] for share in shares for a, b in pairwise(factors)]
    return f"in {sum(more)} of {len(more)} comparisons", all(more)


def _by_share(found: Mixtures) -> Judged:
    used, (factors, shares) = _means(found, slots), _axes(found)
    right = [(used[factor, b] > used[factor, a]) == (factor < 1) for factor in factors for a, b in pairwise(shares)]
    return (f"in {sum(right)} of {len(right)} comparisons" if right else ""), all(right)


def _preferred(found: Mixtures) -> Judged:
    mixed, (_, shares) = _means(found, lambda r: r.mixed), _axes(found)
    better = [(x < s) if f < 1 else (x > s) for (f, s), x in mixed.items()]
    ends = [each for each in mixed if each[1] in (shares[0], shares[-1])]
    used = "; ".join(f"{mixed[f, s]:.0%} of slots at {f:g} x speed, {s:.0%} supplied" for f, s in ends)
    return f"in {sum(better)} of {len(better)} mixtures: {used}", all(better)


def _treatments(found: Mixtures) -> Judged:
    many, (factors, shares) = _means(found, events), _axes(found)
    means = {factor: sum(many[factor, s] for s in shares) / len(shares) for factor in factors}
    words = "; ".join(f"{count:.0f} at {factor:g} x speed" for factor, count in means.items())
    return words, all(means[a] > means[b] for a, b in pairwise(factors))


def _draw(run: Run, suffix: str, found: Mixtures) -> None:
    factors, shares = _axes(found)
    values: tuple[Callable[[WaveResult], float], ...] = (rate, slots, lambda r: r.mixed, events)
    header = ("factor", "share", "success", "slots", "share used", "treatments")
    rows = [(f, s, *(mean(runs, v) for v in values)) for (f, s), runs in found.items()]
    run.table(f"fig12{suffix}", header, rows)
    panels = {"fig12": ("success (%)", "slots"), "fig13": ("share used (%)", "treatments")}
    titles = {"fig12": "Mixed resources: success and slots", "fig13": "Mixed resources: what is used, and treatments"}
    for k, (name, labels) in enumerate(panels.items()):
        with run.figure(f"{name}{suffix}", titles[name], columns=2) as axes:
            for column, (label, value) in enumerate(zip(labels, values[2 * k : 2 * k + 2], strict=True)):
                axis, factor = axes[0, column], 100 if label.endswith("(%)") else 1
                for f in factors:
                    line = [factor * mean(found[f, s], value) for s in shares]
                    axis.plot([100 * s for s in shares], line, marker="o", ms=3, label=f"{f:g} times as fast")
                axis.set(xlabel="share of other slots supplied (%)", ylabel=label)
            axes[0, 1].legend()
