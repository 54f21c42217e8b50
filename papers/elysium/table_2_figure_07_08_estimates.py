"""The accuracy of ELYSIUM's estimates: selectivities (Table 2), CPU of operators (Fig. 7) and of nodes (Fig. 8)."""

from __future__ import annotations

import time

import numpy as np

from papers.claims import Claim
from papers.elysium.testbed import curves
from papers.elysium.testbed.cluster import ClusterBehaviour, StormCluster
from papers.elysium.testbed.lab import PEAKS, Lab
from papers.elysium.testbed.metric_store import MetricStore
from papers.elysium.testbed.monitor import monitor_run
from papers.elysium.testbed.topologies import NODE
from rheostat.arrays import Floats
from rheostat.elastic.elysium.allocator import BalancedAllocator, RoundRobinAllocator
from rheostat.elastic.elysium.config_search import Bounds, compute_config
from rheostat.elastic.elysium.profiles.profile import LearnedProfile, relative_error
from rheostat.elastic.elysium.profiles.selectivity import Selectivity, selectivities

TABLE_2 = {
    ("WordGenerator", "StopWordFilter"): (17.86, 0.54),
    ("StopWordFilter", "Counter"): (0.68, 0.02),
    ("Counter", "IntermediateRanker"): (0.41, 0.34),
    ("IntermediateRanker", "TotalRanker"): (0.01, 0.00),
}
"""Selectivities and their standard deviations. The names of the streams are illegible in our copy of the paper."""

DRAWN = ("Counter", "StopWordFilter")
"""The operators that Fig. 7 shows."""

COSTS_AND_NOISE = "operator costs, and the noise of readings"
"""The ``chosen`` text of claims about the CPU of slots."""


def accuracy(lab: Lab) -> list[Claim]:
    """Reproduce Table 2, Fig. 7 and Fig. 8, and measure how long an assessment takes."""
    claims = [_selectivities(lab), *_cpu(lab), _overhead(lab), _assessment_time(lab)]
    _placement(lab)
    return claims


def _run_t1(lab: Lab, load: Floats) -> MetricStore:
    """Run T1 with the slots that the highest load needs, and return its readings."""
    config = lab.first({"T1": float(load.max())})
    rng = np.random.default_rng(lab.run.seed + 100)
    cluster = StormCluster({"T1": lab.models["T1"]}, config, ClusterBehaviour(), rng)
    store = MetricStore()
    store.record(monitor_run(cluster, cluster.run(load[:, None]), 0.0, rng, ClusterBehaviour().noise))
    return store


def _selectivities(lab: Lab) -> Claim:
    with _run_t1(lab, curves.stair(1800, 0.15, 0.95) * PEAKS["T1"]) as store:
        found: dict[tuple[str, str], Selectivity] = dict(selectivities(store.traffic("T1")))
    rows = [
        (" - ".join(s), *printed, round(found[s].mean, 3), round(found[s].deviation, 3))
        for s, printed in TABLE_2.items()
    ]
    lab.run.table("table2", ("stream", "paper mean", "paper deviation", "our mean", "our deviation"), rows)
    relative = {s: found[s].deviation / found[s].mean for s in TABLE_2}
    odd = max(relative, key=lambda s: relative[s])
    return Claim(
        "table2",
        "selectivities hardly change over time, except that of the stream with periodic rows (the third)",
        "deviation 0.54 of 17.86, 0.02 of 0.68, 0.34 of 0.41, 0.00 of 0.01",
        ", ".join(f"{found[s].deviation:.2f} of {found[s].mean:.2f}" for s in TABLE_2),
        odd == ("Counter", "IntermediateRanker") and all(r < 0.1 for s, r in relative.items() if s != odd),
        "Shows that profiling recovers the given selectivities, and which stream is periodic.",
        chosen="means and deviations of the other streams, which are the paper's own",
    )


def _cpu(lab: Lab) -> list[Claim]:
    load = curves.sine(1500, 0.15, 0.9, 750) * PEAKS["T1"]
    errors = {}
    with _run_t1(lab, load) as store, lab.run.figure("fig07", "CPU of T1's operators", columns=2) as axes:
        for operator in lab.models["T1"].dataflow.operators:
            uses = store.slot_uses("T1", operator.name)
            estimated = lab.estimator.slot_cpu("T1", operator.name, uses.given) * NODE.hertz
            errors[operator.name] = relative_error(estimated, uses.used)
            if operator.name in DRAWN:
                slots = len(uses) // len(np.arange(60, len(load) + 1, 10))
                axis = axes[0, DRAWN.index(operator.name)]
                for values, label in ((uses.used, "real"), (estimated, "estimated")):
                    axis.plot(
                        10 * np.arange(len(uses) // slots) / 60,
                        values.reshape(-1, slots).sum(axis=1) / 1e9,
                        label=label,
                    )
                axis.set(title=operator.name, xlabel="time (min)", ylabel="CPU (GHz)")
                axis.legend()
    lab.run.table("fig07", ("operator", "mean error"), [(n, round(e, 4)) for n, e in errors.items()])
    profiles = {
        f"{t} {n}": p.error
        for t, profile in lab.estimator.topologies.items()
        for n, p in profile.cpu.items()
        if isinstance(p, LearnedProfile)
    }
    return [
        Claim(
            "fig7-error",
            "the CPU of a slot is estimated from its input rate with a mean error below 3 %",
            "< 3 %",
            f"{100 * float(np.mean(list(errors.values()))):.1f} % on a sine load that was not profiled, "
            f"at most {100 * max(errors.values()):.1f} % for one operator",
            max(errors.values()) < 0.03,
            f"Readings have a noise of {100 * ClusterBehaviour().noise:g} %, which alone causes an error of 1.2 %.",
            chosen=COSTS_AND_NOISE,
        ),
        Claim(
            "profile-error",
            "on readings of the profiling phase that were held back from training, the mean error is below 3 %",
            "< 3 %",
            f"at most {100 * max(profiles.values()):.1f} % ({max(profiles, key=lambda n: profiles[n])})",
            max(profiles.values()) < 0.03,
            chosen=COSTS_AND_NOISE,
        ),
    ]


def _overhead(lab: Lab) -> Claim:
    given, used = lab.nodes.given, lab.nodes.used
    estimated = lab.estimator.overhead(given)
    with lab.run.figure("fig08", "CPU of a node by the CPU of its slots") as axes:
        order = np.argsort(given)
        axes[0, 0].plot(given / 1e9, used / 1e9, ".", markersize=3, label="real")
        axes[0, 0].plot(given[order] / 1e9, estimated[order] / 1e9, label="learned")
        axes[0, 0].set(xlabel="CPU of all slots (GHz)", ylabel="CPU of the node (GHz)")
        axes[0, 0].legend()
    error = relative_error(estimated, used)
    return Claim(
        "fig8-overhead",
        "the CPU of a node is a function of the CPU of its slots, and this function can be learned",
        "a plot without numbers",
        f"mean error {100 * error:.1f} %",
        error < 0.03,
        "Holds if the mean error is below 3 %.",
        chosen="the CPU of a node, which the simulation computes from the CPU of its slots",
    )


def _assessment_time(lab: Lab) -> Claim:
    rates, repeats = {"T1": 500.0, "T2": 300.0}, 50
    begun = time.perf_counter()
    for _ in range(repeats):
        compute_config(lab.estimator, rates)
    seconds = (time.perf_counter() - begun) / repeats
    return Claim(
        "assessment-cost",
        "the time to compute an assessment is insignificant compared with the assessment period of a minute",
        "insignificant",
        f"{1000 * seconds:.1f} ms for both topologies",
        seconds < 0.6,
        "Holds if it takes less than a hundredth of the period.",
    )


def _placement(lab: Lab) -> None:
    """Write and draw the nodes needed by load, with the paper's allocator and with one that balances the nodes.

    The paper leaves smart placement to future work.
    """
    shares = np.linspace(0.05, 1.0, 40)
    rows = []
    for share in shares:
        for topology, peak in PEAKS.items():
            nodes = [
                compute_config(lab.estimator, {topology: share * peak}, Bounds(8, allocator=allocator)).config.nodes
                for allocator in (RoundRobinAllocator(), BalancedAllocator())
            ]
            rows.append((topology, round(share * peak, 1), *nodes))
    lab.run.table("placement", ("topology", "rows per second", "nodes, round robin", "nodes, balanced"), rows)
    with lab.run.figure("placement", "Nodes needed, by placement", columns=2) as axes:
        for column, topology in enumerate(PEAKS):
            own_rows = [row for row in rows if row[0] == topology]
            for index, label in ((2, "round robin"), (3, "balanced")):
                axes[0, column].step([r[1] for r in own_rows], [r[index] for r in own_rows], where="post", label=label)
            axes[0, column].set(title=topology, xlabel="rows per second", ylabel="nodes")
            axes[0, column].legend()
