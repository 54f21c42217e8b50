"""Latency of rows: ELYSIUM and joint scaling (Fig. 11), and two topologies in one cluster (Fig. 12c and 12f)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata

from papers.claims import Claim, Judged, versions
from papers.elysium.figure_09_comparison import OURS, ComparisonRuns
from papers.elysium.testbed.assessments import ScalingOutcome
from papers.elysium.testbed.lab import CHOSEN, Lab, Runs
from rheostat.arrays import Floats

SIDES = ("joint", "ELYSIUM")
SIMILAR = 0.5
"""Least rank correlation for two latencies to have a similar trend."""
FACTOR = 2.0
"""Two latencies differ in a minute if one is more than this many times the other."""
STABLE = 0.5
"""Largest standard deviation, relative to the mean, for a latency to be quite stable."""


def latencies(lab: Lab, compared: ComparisonRuns) -> list[Claim]:
    """Reproduce Fig. 11."""
    _draw(lab, compared)
    return [_square(compared), _twitter(lab, compared), *(_sine(compared, topology) for topology in ("T1", "T2"))]


def shared(published: Mapping[str, Runs], ours: Mapping[str, Runs]) -> Claim:
    """Return the claim of Fig. 12c and 12f.

    Args:
        published: runs of ELYSIUM as published, by case.
        ours: runs of our version, by case.
    """
    judged = [_judge_stability(each) for each in (published, ours)]
    return versions(
        "fig12cf-latency",
        "with two topologies in one cluster, the latency of both is quite stable, and T2's is larger",
        "a plot without numbers",
        judged,
        note=f"Holds if the standard deviation over minutes is at most {STABLE:g} of the mean for both topologies, and "
        "T2 has the larger mean, in both cases.",
        chosen=CHOSEN,
        detail=""
        if judged[0][1]
        else "The simulated latency is some hundredths of a second while no rows wait, and seconds in the minute after "
        "a restart, so every restart is a peak. Which topology has the larger latency depends on how often each is "
        "restarted, and not on its load alone.",
    )


def _judge_stability(by_case: Mapping[str, Runs]) -> Judged:
    texts, stable, larger = [], True, True
    for case, runs in by_case.items():
        first, second = (by_minute(runs.drawn, number) for number in range(2))
        spread = [float(v.std() / v.mean()) for v in (first, second)]
        texts.append(
            f"{case}: T1 {first.mean():.1f} s, T2 {second.mean():.1f} s on average, standard deviations "
            f"{spread[0]:.1f} and {spread[1]:.1f} times that"
        )
        stable &= max(spread) <= STABLE
        larger &= bool(second.mean() > first.mean())
    return "; ".join(texts), stable and larger


def by_minute(outcome: ScalingOutcome, topology: int = 0) -> Floats:
    """Return the mean latency of every whole minute, in seconds; seconds in which a topology restarts are left out."""
    whole = len(outcome.latency) // 60 * 60
    seconds = outcome.latency[:whole, topology].reshape(-1, 60)
    means: Floats = np.nansum(seconds, axis=1) / np.maximum((~np.isnan(seconds)).sum(axis=1), 1)
    return means


def _square(compared: ComparisonRuns) -> Claim:
    topologies = ("T1", "T2")

    def similar(side: str) -> Judged:
        trend = {}
        for topology in topologies:
            joint, ours = (by_minute(compared[topology, "square"][each].drawn) for each in ("joint", side))
            trend[topology] = float(np.corrcoef(rankdata(joint), rankdata(ours))[0, 1])
        correlations = ", ".join(f"{t}: rank correlation {r:.2f}" for t, r in trend.items())
        return correlations, min(trend.values()) >= SIMILAR

    unfinished = {t: compared[t, "square"]["joint"].unfinished for t in topologies}
    judged = [similar(side) for side in ("ELYSIUM", OURS)]
    return versions(
        "fig11ad-square",
        "on the square wave, the latencies of ELYSIUM and joint scaling have a similar trend, for T1 and for T2",
        "a plot without numbers",
        judged,
        note=f"Holds if the rank correlation of the latencies by minute is at least {SIMILAR:g} for both topologies.",
        chosen=CHOSEN,
        detail=""
        if judged[0][1]
        else "Here joint scaling falls behind after every jump of the load and does not catch up: "
        + ", ".join(f"{100 * share:.0f} % of {t}'s rows" for t, share in unfinished.items())
        + " are not processed at the end. Its latency keeps rising while ELYSIUM's falls.",
    )


def _twitter(lab: Lab, compared: ComparisonRuns) -> Claim:
    def differ(side: str) -> Judged:
        differing = {}
        for topology in ("T1", "T2"):
            joint, ours = (by_minute(compared[topology, "twitter"][each].drawn) for each in ("joint", side))
            differing[topology] = float(np.mean(np.maximum(joint, ours) > FACTOR * np.minimum(joint, ours)))
        shares = ", ".join(f"{t}: in {100 * share:.0f} % of the minutes" for t, share in differing.items())
        return shares, all(0 < share < 0.5 for share in differing.values())

    judged = [differ(side) for side in ("ELYSIUM", OURS)]
    rule = f"Holds if they differ by more than a factor of {FACTOR:g} in some minutes, but in less than half of them."
    return versions(
        "fig11cf-twitter",
        "on the twitter load, the latencies of ELYSIUM and joint scaling differ in specific periods, for T1 and for T2",
        "a plot without numbers",
        judged,
        note=f"{lab.note} {rule}".strip(),
        chosen=CHOSEN,
        detail=""
        if judged[0][1]
        else "A simulated row takes hundredths of a second while no rows wait, and seconds while a queue is worked "
        "off. So they differ in nearly every minute in which only one of them has a queue.",
    )


def _sine(compared: ComparisonRuns, topology: str) -> Claim:
    runs = compared[topology, "sine"]

    def faster(side: str) -> Judged:
        joint, ours = runs["joint"].latency, runs[side].latency
        return f"{ours:.1f} s and {joint:.1f} s on average", ours < joint

    judged = [faster(side) for side in ("ELYSIUM", OURS)]
    return versions(
        f"fig11-{topology.lower()}-sine",
        f"{topology}, sine: the mean latency is lower with ELYSIUM than with joint scaling",
        "a plot without numbers",
        judged,
        note="" if judged[0][1] else "Joint scaling uses more nodes than the load needs, so fewer rows wait.",
        chosen=CHOSEN,
    )


def _draw(lab: Lab, compared: ComparisonRuns) -> None:
    with lab.run.figure("fig11", "Latency over time", rows=2, columns=4) as axes:
        for number, pair in enumerate(pair for pair in compared if pair[1] != "step"):
            axis = axes[number // 4, number % 4]
            for side in SIDES:
                seconds = by_minute(compared[pair][side].drawn)
                axis.plot(np.arange(len(seconds)), seconds, label=side)
            axis.set(title=" ".join(pair), xlabel="time (min)", ylabel="latency (s)")
        axes[0, 0].legend()
