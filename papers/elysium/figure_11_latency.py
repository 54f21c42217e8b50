"""How long rows take: ELYSIUM beside joint scaling (Fig. 11), and two topologies in one cluster (Fig. 12c and 12f)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata

from papers.claims import Claim, Judged, versions
from papers.elysium.figure_09_comparison import OURS, Found
from papers.elysium.testbed.assessments import ScalingOutcome
from papers.elysium.testbed.lab import CHOSEN, Lab, Runs
from rheostat.arrays import Floats

SIDES = ("joint", "ELYSIUM")
SIMILAR = 0.5
"""A rank correlation from which on two curves are said to have a similar trend."""
FACTOR = 2.0
"""In a minute in which one latency is so many times the other, they differ."""
STABLE = 0.5
"""A standard deviation over the mean up to which a latency is said to be quite stable."""


def latencies(lab: Lab, found: Found) -> list[Claim]:
    """Fig. 11."""
    _draw(lab, found)
    return [_square(found), _twitter(lab, found), *(_sine(found, topology) for topology in ("T1", "T2"))]


def shared(published: Mapping[str, Runs], ours: Mapping[str, Runs]) -> Claim:
    """Fig. 12c and 12f, for the runs of both cases."""
    found = [_steady(each) for each in (published, ours)]
    return versions(
        "fig12cf-latency",
        "with two topologies in one cluster the latency of both is quite stable, and T2's is larger",
        "drawn",
        found,
        note=f"Held if the standard deviation over minutes is at most {STABLE:g} of the mean everywhere, and T2's "
        "mean the larger one in both cases.",
        chosen=CHOSEN,
        detail=""
        if found[0][1]
        else "The simulated latency is some hundredths of a second while nothing waits, and seconds in the minute "
        "after a restart: each one is a peak. Which topology has more to wait for depends on how often it is "
        "restarted, not on its load alone.",
    )


def _steady(found: Mapping[str, Runs]) -> Judged:
    told, stable, larger = [], True, True
    for case, runs in found.items():
        first, second = (by_minute(runs.drawn, number) for number in range(2))
        spread = [float(v.std() / v.mean()) for v in (first, second)]
        told.append(
            f"{case}: T1 {first.mean():.1f} s, T2 {second.mean():.1f} s on average, deviations {spread[0]:.1f} and "
            f"{spread[1]:.1f} of that"
        )
        stable &= max(spread) <= STABLE
        larger &= bool(second.mean() > first.mean())
    return "; ".join(told), stable and larger


def by_minute(outcome: ScalingOutcome, topology: int = 0) -> Floats:
    """Mean latency of every whole minute; the seconds of a restart, in which nothing comes through, do not count."""
    whole = len(outcome.latency) // 60 * 60
    seconds = outcome.latency[:whole, topology].reshape(-1, 60)
    found: Floats = np.nansum(seconds, axis=1) / np.maximum((~np.isnan(seconds)).sum(axis=1), 1)
    return found


def _square(found: Found) -> Claim:
    topologies = ("T1", "T2")

    def similar(side: str) -> Judged:
        trend = {}
        for topology in topologies:
            joint, ours = (by_minute(found[topology, "square"][each].drawn) for each in ("joint", side))
            trend[topology] = float(np.corrcoef(rankdata(joint), rankdata(ours))[0, 1])
        told = ", ".join(f"{t}: rank correlation of their minutes {r:.2f}" for t, r in trend.items())
        return told, min(trend.values()) >= SIMILAR

    left = {t: found[t, "square"]["joint"].left for t in topologies}
    judged = [similar(side) for side in ("ELYSIUM", OURS)]
    return versions(
        "fig11ad-square",
        "on the square wave the latencies of ELYSIUM and joint scaling have a similar trend, for T1 and for T2",
        "drawn",
        judged,
        note=f"Held from {SIMILAR:g} on for both.",
        chosen=CHOSEN,
        detail=""
        if judged[0][1]
        else "Here joint scaling falls behind after every jump and does not catch up: "
        + ", ".join(f"{100 * share:.0f} % of {t}'s rows" for t, share in left.items())
        + " are not through at the end, so that its latency goes on rising where ELYSIUM's falls.",
    )


def _twitter(lab: Lab, found: Found) -> Claim:
    def differ(side: str) -> Judged:
        differing = {}
        for topology in ("T1", "T2"):
            joint, ours = (by_minute(found[topology, "twitter"][each].drawn) for each in ("joint", side))
            differing[topology] = float(np.mean(np.maximum(joint, ours) > FACTOR * np.minimum(joint, ours)))
        told = ", ".join(f"{t}: in {100 * share:.0f} % of the minutes" for t, share in differing.items())
        return told, all(0 < share < 0.5 for share in differing.values())

    judged = [differ(side) for side in ("ELYSIUM", OURS)]
    rule = f"Held if they differ by a factor of {FACTOR:g} in some minutes, and in less than half of them."
    return versions(
        "fig11cf-twitter",
        "on the twitter load the latencies of ELYSIUM and joint scaling differ in specific periods, for T1 and for T2",
        "drawn",
        judged,
        note=f"{lab.note} {rule}".strip(),
        chosen=CHOSEN,
        detail=""
        if judged[0][1]
        else "A simulated row takes hundredths of a second while nothing waits and seconds while a queue is worked "
        "off, so that nearly every minute in which only one of them has a queue counts.",
    )


def _sine(found: Found, topology: str) -> Claim:
    runs = found[topology, "sine"]

    def faster(side: str) -> Judged:
        joint, ours = runs["joint"].latency, runs[side].latency
        return f"{ours:.1f} s and {joint:.1f} s on average", ours < joint

    judged = [faster(side) for side in ("ELYSIUM", OURS)]
    return versions(
        f"fig11-{topology.lower()}-sine",
        f"{topology}, sine: rows take less time with ELYSIUM than with joint scaling",
        "drawn",
        judged,
        note="" if judged[0][1] else "Joint scaling runs on more nodes than the load needs, so that less waits there.",
        chosen=CHOSEN,
    )


def _draw(lab: Lab, found: Found) -> None:
    with lab.of.figure("fig11", "Latency over time", rows=2, columns=4) as axes:
        for number, pair in enumerate(pair for pair in found if pair[1] != "step"):
            axis = axes[number // 4, number % 4]
            for side in SIDES:
                seconds = by_minute(found[pair][side].drawn)
                axis.plot(np.arange(len(seconds)), seconds, label=side)
            axis.set(title=" ".join(pair), xlabel="time (min)", ylabel="latency (s)")
        axes[0, 0].legend()
