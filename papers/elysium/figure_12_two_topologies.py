"""Two topologies in one cluster (ELYSIUM's Fig. 12 and the last two rows of Fig. 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.elysium.figure_11_latency import by_minute, shared
from papers.elysium.testbed import curves
from papers.elysium.testbed.assessments import ScalingOutcome, ScalingSetting, run
from papers.elysium.testbed.lab import CHOSEN, PEAKS, Lab, Runs
from papers.elysium.testbed.topologies import MOST_NODES
from rheostat.arrays import Floats
from rheostat.elastic.elysium.config_search import Bounds
from rheostat.elastic.elysium.elysium import Elysium

PRINTED_TOGETHER = {
    "fig12abc": ("T1 step, T2 stair", (0.80, 17)),
    "fig12def": ("T1 sine, T2 sine", (0.46, 21)),
}
"""The loads in Fig. 9, the throughput degradation, and the nodes saved in per cent."""


@dataclass(frozen=True)
class Case:
    """Two loads at once."""

    name: str
    title: str
    loads: dict[str, Floats]

    @property
    def printed(self) -> tuple[float, int]:
        """What the paper prints of it."""
        return PRINTED_TOGETHER[self.name][1]


def together(lab: Lab) -> tuple[dict[str, Runs], list[Claim]]:
    """Both cases, with nodes of their own for each topology, as the paper draws them, and with shared ones.

    Also gives the runs with nodes of their own, by case.
    """
    seconds, period = 1800, 900.0
    stair = {"T1": np.full(seconds, 200.0), "T2": curves.stair(seconds, 0.1, 0.66) * PEAKS["T2"]}
    sine = {
        "T1": curves.sine(seconds, 0.06, 0.28, period) * PEAKS["T1"],
        "T2": curves.sine(seconds, 0.15, 0.66, period) * PEAKS["T2"],
    }
    cases = (
        Case("fig12abc", "T1 with 200 rows per second, T2 with a stair", stair),
        Case("fig12def", "Both with sines", sine),
    )
    claims, rows, apart, ours = [], [], {}, {}
    for case in lab.of.each("two topologies together", cases):
        found = {
            "apart": _runs(lab, case, apart=True, emitted=False),
            "apart, catching up": _runs(lab, case, apart=True, emitted=False, ours=True),
            "shared": _runs(lab, case, apart=False, emitted=False),
            "shared, load as emitted": _runs(lab, case, apart=False, emitted=True),
        }
        apart[case.name], ours[case.name] = found["apart"], found["apart, catching up"]
        _draw(lab, case, found["apart"].drawn)
        rows += [
            (case.name, *case.printed, n, round(r.degradation, 3), round(100 * r.saved, 1)) for n, r in found.items()
        ]
        claims += _claims(case, found)
    header = ("case", "paper degradation", "paper saved %", "nodes", "degradation", "saved %")
    lab.of.table("fig12", header, rows)
    return apart, [*claims, shared(apart, ours)]


def _runs(lab: Lab, case: Case, apart: bool, emitted: bool, ours: bool = False) -> Runs:
    bounds = Bounds(MOST_NODES, apart=apart)
    first = lab.first({topology: float(load[0]) for topology, load in case.loads.items()}, bounds)
    policy = Elysium(lab.estimator, bounds) if ours else Elysium.published(lab.estimator, bounds)
    return Runs(
        tuple(
            run(lab.models, case.loads, policy, first, ScalingSetting(emitted=emitted, seed=seed)) for seed in lab.seeds
        )
    )


def _claims(case: Case, found: dict[str, Runs]) -> list[Claim]:
    apart, ours, shared = found["apart"], found["apart, catching up"], found["shared"]

    def saves(runs: Runs) -> Judged:
        told = f"degradation {runs.degradation:.2f}, {100 * runs.saved:.0f} % saved"
        return told, runs.saved > 0 and runs.left < 0.01

    claims = [
        versions(
            f"{case.name}-together",
            f"{case.title}: ELYSIUM scales both topologies in one cluster and still saves nodes",
            f"degradation {case.printed[0]:.2f}, {case.printed[1]} % saved",
            map(saves, (apart, ours)),
            note="Held if some are saved and all rows come through.",
            chosen=CHOSEN,
            detail="Every topology has nodes of its own, as the paper draws them; with shared ones "
            f"{shared.degradation:.2f}, {100 * shared.saved:.0f} %.",
        )
    ]
    if case.name != "fig12abc":
        return claims
    emitted = found["shared, load as emitted"].drawn
    slots = emitted.slots("T1", "StopWordFilter")

    def single(runs: Runs) -> Judged:
        own = {t: np.array([(c.own or {})[t] for c in runs.drawn.configs]) for t in ("T1", "T2")}
        told = f"T1 {own['T1'].min()} to {own['T1'].max()}, T2 {own['T2'].min()} to {own['T2'].max()}"
        return told, bool(own["T1"].max() == 1 and np.ptp(own["T2"]) > 0)

    return [
        *claims,
        versions(
            "fig12a-nodes",
            "T1 always uses a single node while the nodes of T2 change over time",
            "1, and changing",
            map(single, (apart, ours)),
            chosen=CHOSEN,
        ),
        Claim(
            "fig12b-operators",
            "though its load is constant, T1 needs more slots now and then, because of reconfigurations",
            "frequently",
            f"StopWordFilter between {slots.min():.0f} and {slots.max():.0f}, "
            f"changed {np.count_nonzero(np.diff(slots))} times",
            bool(np.ptp(slots) > 0),
            "With shared nodes and the load measured as what sources emit, as the paper's prototype does.",
            chosen=CHOSEN,
            detail="So the queue after a restart looks like load. Here 200 rows per second lie in the middle of what "
            "two slots can do, and a queue of a third of a minute does not bring them to their limit.",
        ),
    ]


def _draw(lab: Lab, case: Case, outcome: ScalingOutcome) -> None:
    with lab.of.figure(case.name, case.title, columns=3) as axes:
        for number, topology in enumerate(outcome.topologies):
            minutes = np.arange(len(outcome.configs))
            own = [(config.own or {})[topology] for config in outcome.configs]
            slots = [sum(config.parallelism[topology].values()) for config in outcome.configs]
            axes[0, 0].step(minutes, own, where="post", label=topology)
            axes[0, 1].step(minutes, slots, where="post", label=topology)
            latency = by_minute(outcome, number)
            axes[0, 2].plot(np.arange(len(latency)), latency, label=topology)
        for column, label in enumerate(("nodes", "slots", "latency (s)")):
            axes[0, column].set(xlabel="time (min)", ylabel=label)
        axes[0, 0].legend()
