"""Two topologies in one cluster (ELYSIUM's Fig. 12 and the last two rows of Fig. 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.elysium.figure_11_latency import by_minute, shared
from papers.elysium.testbed import curves
from papers.elysium.testbed.assessments import ScalingOutcome, ScalingSetting, run_policy
from papers.elysium.testbed.lab import CHOSEN, PEAKS, Lab, Runs
from papers.elysium.testbed.topologies import MOST_NODES
from rheostat.arrays import Floats
from rheostat.elastic.elysium.config_search import Bounds
from rheostat.elastic.elysium.elysium import Elysium

PRINTED_TOGETHER = {
    "fig12abc": ("T1 step, T2 stair", (0.80, 17)),
    "fig12def": ("T1 sine, T2 sine", (0.46, 21)),
}
"""What the paper's Fig. 9 prints by case: the loads, and (throughput degradation, nodes saved in per cent)."""


@dataclass(frozen=True)
class Case:
    """Two topologies in one cluster, each with a load.

    Attributes:
        name: the paper's figure.
        title: a description, for claims and figures.
        loads: rows per second in every second, by topology.
    """

    name: str
    title: str
    loads: dict[str, Floats]

    @property
    def printed(self) -> tuple[float, int]:
        """What the paper prints: throughput degradation and nodes saved in per cent."""
        return PRINTED_TOGETHER[self.name][1]


def together(lab: Lab) -> tuple[dict[str, Runs], list[Claim]]:
    """Run both cases, with separate nodes for each topology, as the paper draws them, and with shared nodes.

    Returns:
        The runs with separate nodes by case, and the claims.
    """
    seconds, period = 1800, 900.0
    stair = {"T1": np.full(seconds, 200.0), "T2": curves.stair(seconds, 0.1, 0.66) * PEAKS["T2"]}
    sine = {
        "T1": curves.sine(seconds, 0.06, 0.28, period) * PEAKS["T1"],
        "T2": curves.sine(seconds, 0.15, 0.66, period) * PEAKS["T2"],
    }
    cases = (
        Case("fig12abc", "T1 with a constant 200 rows/s, T2 with a stair", stair),
        Case("fig12def", "T1 and T2 with sines", sine),
    )
    claims, rows, apart, ours = [], [], {}, {}
    for case in lab.run.each("two topologies together", cases):
        variants = {
            "apart": _runs(lab, case, apart=True, emitted=False),
            "apart, catching up": _runs(lab, case, apart=True, emitted=False, ours=True),
            "shared": _runs(lab, case, apart=False, emitted=False),
            "shared, load as emitted": _runs(lab, case, apart=False, emitted=True),
        }
        apart[case.name], ours[case.name] = variants["apart"], variants["apart, catching up"]
        _draw(lab, case, variants["apart"].drawn)
        rows += [
            (case.name, *case.printed, n, round(r.degradation, 3), round(100 * r.saved, 1)) for n, r in variants.items()
        ]
        claims += _claims(case, variants)
    header = ("case", "paper degradation", "paper saved %", "nodes", "degradation", "saved %")
    lab.run.table("fig12", header, rows)
    return apart, [*claims, shared(apart, ours)]


def _runs(lab: Lab, case: Case, apart: bool, emitted: bool, ours: bool = False) -> Runs:
    """Run a case.

    Args:
        lab: what all figures share.
        case: the topologies' loads.
        apart: True if each topology has separate nodes, False if they share all nodes.
        emitted: True to measure the input load as the rows that sources emit, as the paper's prototype does.
        ours: True for our version, False for ELYSIUM as published.
    """
    bounds = Bounds(MOST_NODES, apart=apart)
    first = lab.first({topology: float(load[0]) for topology, load in case.loads.items()}, bounds)
    policy = Elysium(lab.estimator, bounds) if ours else Elysium.published(lab.estimator, bounds)
    settings = [ScalingSetting(emitted=emitted, seed=seed) for seed in lab.seeds]
    return Runs(tuple(run_policy(lab.models, case.loads, policy, first, setting) for setting in settings))


def _claims(case: Case, variants: dict[str, Runs]) -> list[Claim]:
    apart, ours, shared = variants["apart"], variants["apart, catching up"], variants["shared"]

    def saves(runs: Runs) -> Judged:
        figures = f"degradation {runs.degradation:.2f}, {100 * runs.saved:.0f} % saved"
        return figures, runs.saved > 0 and runs.unfinished < 0.01

    claims = [
        versions(
            f"{case.name}-together",
            f"{case.title}: ELYSIUM scales two topologies in one cluster and still saves nodes",
            f"degradation {case.printed[0]:.2f}, {case.printed[1]} % saved",
            map(saves, (apart, ours)),
            note="Holds if nodes are saved and fewer than 1 % of the rows are unprocessed at the end.",
            chosen=CHOSEN,
            detail="Each topology has separate nodes, as the paper draws them. With shared nodes the degradation is "
            f"{shared.degradation:.2f}, and {100 * shared.saved:.0f} % are saved.",
        )
    ]
    if case.name != "fig12abc":
        return claims
    emitted = variants["shared, load as emitted"].drawn
    slots = emitted.slots("T1", "StopWordFilter")

    def single(runs: Runs) -> Judged:
        own = {t: np.array([(c.own or {})[t] for c in runs.drawn.configs]) for t in ("T1", "T2")}
        ranges = f"T1 {own['T1'].min()} to {own['T1'].max()}, T2 {own['T2'].min()} to {own['T2'].max()}"
        return ranges, bool(own["T1"].max() == 1 and np.ptp(own["T2"]) > 0)

    return [
        *claims,
        versions(
            "fig12a-nodes",
            "T1 with a constant load always uses a single node, while the number of T2's nodes changes over time",
            "1, and changing",
            map(single, (apart, ours)),
            chosen=CHOSEN,
        ),
        Claim(
            "fig12b-operators",
            "although its load is constant, T1 needs more slots now and then, because of reconfigurations",
            "frequently",
            f"StopWordFilter between {slots.min():.0f} and {slots.max():.0f}, "
            f"changed {np.count_nonzero(np.diff(slots))} times",
            bool(np.ptp(slots) > 0),
            "With shared nodes, and the load measured as the rows that sources emit, as in the paper's prototype.",
            chosen=CHOSEN,
            detail="Measured this way, the queue after a restart looks like additional load. Here 200 rows per second "
            "are well within what two slots can process, and a queue of a third of a minute does not bring the slots "
            "to their limit.",
        ),
    ]


def _draw(lab: Lab, case: Case, outcome: ScalingOutcome) -> None:
    with lab.run.figure(case.name, case.title, columns=3) as axes:
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
