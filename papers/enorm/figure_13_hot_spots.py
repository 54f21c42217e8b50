"""Enorm's figure 13: latency while one node after the other becomes a hot spot and Flux moves shards (section 7.5)."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim, addition
from papers.enorm.testbed.cost_model import EnormNodes
from papers.enorm.testbed.hot_spots import CONFIGURATIONS, KEYS, Configuration, Skew, simulate_skew
from papers.enorm.testbed.migration_costs import Strategy
from papers.paper_run import Run


def reproduce(run: Run) -> list[Claim]:
    """Draw the figure and return its claims."""
    engine = EnormNodes()
    skew = Skew(nodes=2) if run.quick else Skew(nodes=6)
    instant_rounds = Configuration("instant, every minute", Strategy.INSTANT, 60.0)
    found = {}
    for c in run.each("hot spots", (*CONFIGURATIONS, instant_rounds)):
        found[c.name] = [simulate_skew(c, skew, engine, run.seed + i) for i in range(1 if run.quick else 3)]
    mean = {name: float(np.mean([r.overall for r in runs])) for name, runs in found.items()}
    p99 = {name: float(np.mean([r.p99 for r in runs])) for name, runs in found.items()}
    run.table(
        "fig13",
        ("configuration", "mean latency (s)", "99th percentile (s)", "longest (s)", "shards moved"),
        [(n, mean[n], p99[n], max(x.worst for x in r), np.mean([x.moves for x in r])) for n, r in found.items()],
    )
    with run.figure("fig13", "Latency while hot spots wander", width=6.4) as axes:
        for c in CONFIGURATIONS:
            values = found[c.name][0].mean[int(skew.calm) - 60 :]
            axes[0, 0].plot(np.arange(len(values)) / 60 - 1, values, lw=1, label=c.name)
        axes[0, 0].set(yscale="log", xlabel="minutes after the first change", ylabel="mean latency (s)")
        axes[0, 0].legend()
    five, one, _, instant = (c.name for c in CONFIGURATIONS)
    ratios = []
    for shards in (4, 20):
        each = Skew(nodes=skew.nodes, shards=shards)
        slow, quick = (simulate_skew(c, each, engine, run.seed).overall for c in CONFIGURATIONS[1::2])
        ratios.append(f"{slow / quick:.0f} x lower with {shards}")
    own = 1 - mean[instant_rounds.name] / mean[one]
    chosen = f"{skew.shards} shards per node; half of a core for moving state"
    setting = (
        f"We chose {skew.shards} shards per node, rounds in the middle of a minute, one round per second for "
        "continuous migration, and half of a core for moving state."
    )
    return [
        Claim(
            "fig13-order",
            "while hot spots move, mean latency exceeds 1 s with disruptive migration every five minutes, is lower "
            "with disruptive migration every minute, and lowest with instant migration",
            "extensive latency; better; a factor of ten better",
            f"{mean[five]:.2f} s, {mean[one]:.2f} s and {mean[instant] * 1e3:.0f} ms",
            mean[five] > mean[one] > mean[instant] and mean[five] > 1.0,
            chosen=chosen,
            detail=setting,
        ),
        Claim(
            "fig13-ten",
            f"with {KEYS:,} keys per shard, instant migration has at most a tenth of the mean latency of disruptive "
            "migration every minute",
            "a factor of ten",
            f"mean {mean[one] / mean[instant]:.0f} x lower, 99th percentile {p99[one] / p99[instant]:.0f} x lower",
            mean[one] / mean[instant] >= 10,
            f"The mean is {' and '.join(ratios)} shards per node.",
            chosen=chosen,
            detail="With instant migration, latency stays at the resolution of the simulation, 5 ms. A real engine has "
            "more latency of its own, which would lower the factor.",
        ),
        Claim(
            "fig13-own",
            "with disruptive migration every minute, more than half of the latency is caused by the moves",
            "primarily",
            f"{own:.0%} less latency with instant migration every minute",
            own > 0.5,
            "Most of the latency is caused by the minute between two rounds.",
            chosen=chosen,
            detail="In each round, Flux moves one shard of a pair of nodes, 7% to 10% of a core, while the load of the "
            "hot node rises by 12% of a core. The node is overloaded between rounds even if moves are free.",
        ),
        addition(
            "fig13-smooth",
            "while hot spots move, smooth migration every minute has a higher mean latency than instant migration",
            f"{mean[CONFIGURATIONS[2].name]:.2f} s and {mean[instant] * 1e3:.0f} ms",
            mean[CONFIGURATIONS[2].name] > mean[instant],
            "Smooth migration pauses nothing but reacts later: moves take effect half a minute after the decision.",
            paper="not measured",
        ),
    ]
