"""How ELYSIUM and joint scaling react to a jump of the load (ELYSIUM's Fig. 10a to 10e)."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.elysium.figure_09_comparison import OURS, ComparisonRuns
from papers.elysium.testbed import curves
from papers.elysium.testbed.assessments import ScalingOutcome
from papers.elysium.testbed.lab import CHOSEN, PEAKS, Lab
from papers.elysium.testbed.loads import LoadCurve
from rheostat.arrays import Floats
from rheostat.elastic.baselines.static import Static
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.elysium import OnlyOperators

WINDOW = 10
"""Seconds over which load and throughput are averaged."""


def steps(lab: Lab, compared: ComparisonRuns) -> list[Claim]:
    """Reproduce Fig. 10a to 10e."""
    return [*_operators_only(lab), *_step(lab, compared), _square(lab, compared)]


def _operators_only(lab: Lab) -> list[Claim]:
    """Fig. 10a: a peak for which more slots of one operator are enough."""
    rise, fall = 180, 600
    curve = LoadCurve("peak", curves.step(900, 120.0, 330.0, rise, fall) / PEAKS["T1"], np.zeros(0))
    first = Config({"T1": {o.name: 1 for o in lab.models["T1"].dataflow.operators}}, 2)
    static = lab.runs("T1", curve, Static(), first).drawn
    scaled = lab.runs("T1", curve, OnlyOperators(lab.elysium()), first).drawn
    load = _means(scaled.arrivals[:, 0])
    with lab.run.figure("fig10a", "Only operators are scaled") as axes:
        axes[0, 0].plot(WINDOW * np.arange(len(load)), load, "--", label="input load")
        for outcome, label in ((static, "static"), (scaled, "operators scaled")):
            axes[0, 0].plot(WINDOW * np.arange(len(load)), _means(outcome.acked[:, 0]), label=label)
        axes[0, 0].set(xlabel="time (s)", ylabel="rows per second")
        axes[0, 0].legend()
    high = slice(rise // WINDOW, fall // WINDOW)
    throughput_share = _means(static.acked[:, 0])[high] / load[high]
    changed = {
        o.name: (int(n.min()), int(n.max()), int(n[-1]))
        for o in lab.models["T1"].dataflow.operators
        if np.ptp(n := scaled.slots("T1", o.name)) > 0
    }
    last_minute = _means(scaled.acked[:, 0])[fall // WINDOW - 6 : fall // WINDOW].mean() / load[high].mean()
    return [
        Claim(
            "fig10a-static",
            "a static configuration cannot sustain a peak: its throughput drops after a couple of minutes",
            "drops",
            f"{100 * throughput_share[:6].mean():.0f} % of the input load in the first minute of the peak, "
            f"{100 * throughput_share[-6:].mean():.0f} % in the last",
            throughput_share.max() < 0.99 and throughput_share[-6:].mean() < 0.9 * throughput_share[:6].mean(),
            chosen=CHOSEN,
        ),
        Claim(
            "fig10a-operators",
            "scaling only StopWordFilter from 1 to 2 slots and back is enough to sustain the peak",
            "StopWordFilter from 1 to 2 to 1",
            ", ".join(f"{n} from {a} to {b} to {c}" for n, (a, b, c) in changed.items())
            + f"; {100 * last_minute:.0f} % of the load in the last minute of the peak",
            changed == {"StopWordFilter": (1, 2, 1)} and last_minute > 0.97,
            chosen=CHOSEN,
        ),
    ]


def _step(lab: Lab, compared: ComparisonRuns) -> list[Claim]:
    """Fig. 10b and 10c: a step of the input load."""
    rise, fall = 180, 420
    every = {side: compared["T1", "step"][side].drawn for side in ("joint", "ELYSIUM", OURS)}
    sides = {side: every[side] for side in ("joint", "ELYSIUM")}
    with lab.run.figure("fig10bc", "A step of the input load", columns=2) as axes:
        load = _means(sides["joint"].arrivals[:, 0])
        axes[0, 0].plot(WINDOW * np.arange(len(load)), load, "--", label="input load")
        for side, outcome in sides.items():
            axes[0, 0].plot(WINDOW * np.arange(len(load)), _means(outcome.acked[:, 0]), label=side)
            axes[0, 1].step(60 * np.arange(len(outcome.nodes)), outcome.nodes, where="post", label=side)
        axes[0, 0].set(xlabel="time (s)", ylabel="rows per second")
        axes[0, 1].set(xlabel="time (s)", ylabel="nodes")
        axes[0, 0].legend()
    seconds = {side: _recovery_time(outcome, rise, fall) for side, outcome in every.items()}
    count = {side: sum(rise <= t < fall for t in outcome.reconfigured) for side, outcome in every.items()}

    def sooner(side: str) -> Judged:
        times = " and ".join(_after(seconds[each], fall - rise) for each in (side, "joint"))
        return times, seconds[side] < seconds["joint"]

    def single(side: str) -> Judged:
        return f"{count[side]} and {count['joint']}", count[side] == 1 and count["joint"] > 1

    return [
        versions(
            "fig10b-resumes",
            "after the load has risen, ELYSIUM sustains it sooner than joint scaling",
            "after 80 to 90 s, and after about 150 s",
            map(sooner, ("ELYSIUM", OURS)),
            chosen=CHOSEN,
        ),
        versions(
            "fig10b-single",
            "ELYSIUM adapts to the step in a single reconfiguration; joint scaling needs more",
            "1 and more",
            map(single, ("ELYSIUM", OURS)),
            chosen=CHOSEN,
        ),
    ]


def _square(lab: Lab, compared: ComparisonRuns) -> Claim:
    """Fig. 10d and 10e: how soon there are enough nodes and slots after a jump of the load."""
    every = {side: compared["T1", "square"][side].drawn for side in ("joint", "ELYSIUM", OURS)}
    sides = {side: every[side] for side in ("joint", "ELYSIUM")}
    with lab.run.figure("fig10de", "A square wave", columns=2) as axes:
        for side, outcome in sides.items():
            minutes = np.arange(len(outcome.nodes))
            axes[0, 0].step(minutes, outcome.nodes, where="post", label=side)
            axes[0, 1].step(minutes, outcome.slots("T1", "StopWordFilter"), where="post", label=side)
        axes[0, 0].set(xlabel="time (min)", ylabel="nodes")
        axes[0, 1].set(xlabel="time (min)", ylabel="slots of StopWordFilter")
        axes[0, 0].legend()
    needed = lab.first({"T1": float(sides["joint"].arrivals[:, 0].max())})
    filter_slots = needed.parallelism["T1"]["StopWordFilter"]
    minutes_until_enough = {
        side: max(_minutes_until(o.nodes, needed.nodes), _minutes_until(o.slots("T1", "StopWordFilter"), filter_slots))
        for side, o in every.items()
    }

    def faster(side: str) -> Judged:
        own, joint = minutes_until_enough[side], minutes_until_enough["joint"]
        return f"enough nodes and slots after {own} and {joint} minutes, at the first jump", own < joint

    return versions(
        "fig10de-faster",
        "on the square wave, ELYSIUM adapts nodes and slots faster than joint scaling",
        "a plot without numbers",
        map(faster, ("ELYSIUM", OURS)),
        chosen=CHOSEN,
    )


def _minutes_until(values: Floats, needed: int) -> int:
    """Return the minutes from the first jump, which comes after five minutes, until a value is at least ``needed``.

    Returns the number of all minutes if that never happens.
    """
    enough = np.flatnonzero(values >= needed)
    return int(enough[0]) - 5 if len(enough) else len(values)


def _recovery_time(outcome: ScalingOutcome, rise: int, fall: int) -> float:
    """Return the seconds from the rise of the load until throughput reaches it for good; inf if not before the fall."""
    load, through = _means(outcome.arrivals[:, 0]), _means(outcome.acked[:, 0])
    late = np.flatnonzero(through[rise // WINDOW : fall // WINDOW] < 0.98 * load[rise // WINDOW : fall // WINDOW])
    if not len(late):
        return 0.0
    seconds = float((late[-1] + 1) * WINDOW)
    return seconds if seconds < fall - rise else np.inf


def _after(seconds: float, length: int) -> str:
    return f"after {seconds:.0f} s" if np.isfinite(seconds) else f"not within {length} s"


def _means(values: Floats) -> Floats:
    means: Floats = values[: len(values) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)
    return means
