"""StreamSwitch: slots that are not equally fast (section 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from papers.claims import Claim
from papers.run import Run
from papers.side_by_side import Bench
from papers.streamswitch.waves import NOTE, Ridden, Wave, events, mean, rate, ride, slots

SPEED = 4_000.0
FACTORS = (0.5, 0.75, 1.25, 1.5)
SHARES = (0.2, 0.4, 0.6, 0.8)

_DRAWN = (
    "Every new slot draws its type, and one run has a few dozen of them: from one seed to another the number of slots "
    "differs by up to two, more than between neighbouring mixtures. The paper has means of ten runs of an hour."
)
_QUICK_DRAWN = "In 200 seconds hardly a slot is new: those in use are as they were drawn in the beginning."

Found = Mapping[tuple[float, float], Sequence[Ridden]]


def reproduce(bench: Bench) -> list[Claim]:
    """Figures 12 and 13."""
    run = bench.run
    factors, shares = (FACTORS[0::3], SHARES[1:2]) if run.quick else (FACTORS, SHARES)
    warm_up, seconds, repeats = (60.0, 200.0, 1) if run.quick else (300.0, 1200.0, 1)
    base = Wave("q2", SPEED, 10e3, 600.0, seconds, warm_up)
    grid = [(factor, share) for factor in factors for share in shares]
    waves = [replace(base, factor=f, share=s, seed=run.seed + i) for f, s in grid for i in range(repeats)]
    hot = [] if run.quick else [replace(base, seconds=600.0, hot=True, seed=run.seed)]
    done = bench.each("mixed resources", ride, [*hot, *waves])
    beside, done = done[: len(hot)], done[len(hot) :]
    found = {each: done[k * repeats : (k + 1) * repeats] for k, each in enumerate(grid)}
    return claims(run, found, factors, shares, beside)


def claims(
    run: Run, found: Found, factors: Sequence[float], shares: Sequence[float], hot: Sequence[Ridden] = ()
) -> list[Claim]:
    """The figures, and what is claimed of them."""
    _draw(run, found, factors, shares)
    success = {each: mean(runs, rate) for each, runs in found.items()}
    used = {each: mean(runs, slots) for each, runs in found.items()}
    mixed = {each: mean(runs, lambda r: r.mixed) for each, runs in found.items()}
    many = {each: mean(runs, events) for each, runs in found.items()}
    better = {each: x for each, x in success.items() if each[0] > 0.5}
    worst = {each: x for each, x in success.items() if each[0] == 0.5}
    by_factor = [used[a, share] > used[b, share] for share in shares for a, b in pairwise(factors)]
    by_share = [(used[factor, b] > used[factor, a]) == (factor < 1) for factor in factors for a, b in pairwise(shares)]
    preferred = {(f, s): (x < s) if f < 1 else (x > s) for (f, s), x in mixed.items()}
    treated = {factor: sum(many[factor, s] for s in shares) / len(shares) for factor in factors}
    drawn = _QUICK_DRAWN if run.quick else _DRAWN
    length = "One run of 200 seconds each" if run.quick else "One run of 20 minutes each, after 5 of warm-up"
    short = f"{NOTE} {length}, not ten of an hour."
    if hot:
        short += (
            f" With NEXMark's hot auctions as keys and equal slots it is {hot[0].outcome.rate:.2%} with "
            f"{hot[0].outcome.slots:.0f} slots: half of all rows go to one shard at any moment."
        )
    result = [
        Claim(
            "fig12-success",
            "at least 99 % of the windows are within the bound with all mixtures but those of slots at half the speed",
            "close to 100 %, below 99 % only under alpha = 0.5",
            f"{min(better.values()):.2%} at least; {min(worst.values()):.2%} at least with half the speed",
            min(better.values()) >= 0.99,
            short,
        ),
        Claim(
            "fig12-half",
            "with slots at half the speed, success falls below 99 %",
            "below 99 % under alpha = 0.5",
            "; ".join(f"{x:.2%} with {share:.0%} of them" for (_, share), x in worst.items()),
            min(worst.values()) < 0.99,
            "Here a treatment stops two slots for about half a second, which is less than the bound.",
        ),
        Claim(
            "fig12-speed",
            "the slower the other slots, the more slots are used, at any share",
            "the number of executors increases when the mixed resource becomes more inferior",
            f"{sum(by_factor)} of {len(by_factor)} comparisons",
            all(by_factor),
            "" if all(by_factor) else drawn,
        ),
        Claim(
            "fig13-preferred",
            "of the slots in use, more are fast than of those supplied",
            "a higher proportion of superior resource in every scenario",
            f"in {sum(preferred.values())} of {len(preferred)} mixtures; "
            + "; ".join(f"{f:g} at {s:.0%}: {mixed[f, s]:.0%}" for f, s in mixed if s in (shares[0], shares[-1])),
            all(preferred.values()),
            "" if all(preferred.values()) else drawn,
        ),
        Claim(
            "fig13-treatments",
            "the slower the other slots, the more treatments",
            "more treatments with worse resources",
            "; ".join(f"{factor:g}: {count:.0f}" for factor, count in treated.items()),
            all(treated[a] > treated[b] for a, b in pairwise(factors)),
            "Averages over all shares.",
        ),
    ]
    if by_share:
        result.append(
            Claim(
                "fig12-share",
                "more of the slower slots takes more slots, more of the faster fewer",
                "increases with beta if alpha < 1, and vice versa",
                f"{sum(by_share)} of {len(by_share)} comparisons",
                all(by_share),
                "" if all(by_share) else drawn,
            )
        )
    return result


def _draw(run: Run, found: Found, factors: Sequence[float], shares: Sequence[float]) -> None:
    values: tuple[Callable[[Ridden], float], ...] = (rate, slots, lambda r: r.mixed, events)
    header = ("factor", "share", "success", "slots", "share used", "treatments")
    run.table("fig12", header, [(f, s, *(mean(runs, v) for v in values)) for (f, s), runs in found.items()])
    panels = {"fig12": ("success (%)", "slots"), "fig13": ("share used (%)", "treatments")}
    titles = {"fig12": "Mixed resources: success and slots", "fig13": "Mixed resources: what is used, and treatments"}
    for k, (name, labels) in enumerate(panels.items()):
        with run.figure(name, titles[name], columns=2) as axes:
            for column, (label, value) in enumerate(zip(labels, values[2 * k : 2 * k + 2], strict=True)):
                axis, factor = axes[0, column], 100 if label.endswith("(%)") else 1
                for f in factors:
                    line = [factor * mean(found[f, s], value) for s in shares]
                    axis.plot([100 * s for s in shares], line, marker="o", ms=3, label=f"{f:g} times as fast")
                axis.set(xlabel="share of other slots supplied (%)", ylabel=label)
            axes[0, 1].legend()
