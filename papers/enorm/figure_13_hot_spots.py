"""Enorm's figure 13: latency while hot spots wander and shards move after them (section 7.5)."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim, addition
from papers.enorm.testbed.cost_model import EnormNodes
from papers.enorm.testbed.hot_spots import CONFIGURATIONS, KEYS, Configuration, Skew, simulate_skew
from papers.paper_run import Run
from rheostat.planning.enorm.migration import Strategy


def reproduce(run: Run) -> list[Claim]:
    """The figure, and what is claimed of it."""
    engine = EnormNodes()
    skew = Skew(nodes=2) if run.quick else Skew(nodes=6)
    beside = Configuration("instant, every minute", Strategy.INSTANT, 60.0)
    found = {}
    for c in run.each("hot spots", (*CONFIGURATIONS, beside)):
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
        ratios.append(f"{slow / quick:.0f} with {shards}")
    own = 1 - mean[beside.name] / mean[one]
    chosen = f"{skew.shards} shards a node, half of a core for state that moves"
    setting = (
        f"{skew.shards} shards a node, rounds in the middle of a minute, one round a second for continuously, and "
        "half of a core for state that moves are ours."
    )
    return [
        Claim(
            "fig13-order",
            "disruptive migration every five minutes cannot keep up; every minute is better, instant migration best",
            "extensive latency; better; a factor of ten better",
            f"mean latency {mean[five]:.2f} s; {mean[one]:.2f} s; {mean[instant] * 1e3:.0f} ms",
            mean[five] > mean[one] > mean[instant] and mean[five] > 1.0,
            chosen=chosen,
            detail=setting,
        ),
        Claim(
            "fig13-ten",
            f"at {KEYS} keys per shard, instant migration has a tenth of the latency of disruptive migration or less",
            "a factor of ten",
            f"mean {mean[one] / mean[instant]:.0f} times lower, 99th percentile {p99[one] / p99[instant]:.0f} times",
            mean[one] / mean[instant] >= 10,
            "Beside disruptive migration every minute. By shards per node: " + ", ".join(ratios) + ".",
            chosen=chosen,
            detail="Instant migration stays at the resolution of the simulation, 5 ms, so a real engine's own latency "
            "would lower the factor.",
        ),
        Claim(
            "fig13-own",
            "with disruptive migration every minute, latency comes mostly from the migrations themselves",
            "primarily",
            f"{own:.0%} of it is gone if the same moves need no state",
            own > 0.5,
            "Here most of it comes from the rounds being a minute apart.",
            chosen=chosen,
            detail="Flux moves one shard of a pair in each, 7% to 10% of a core, while the load of the hot node rises "
            "by 12% of a core: it is overloaded between rounds even if moves are free.",
        ),
        addition(
            "fig13-smooth",
            "smooth migration pauses nothing, but reacts later than instant migration",
            f"mean latency {mean[CONFIGURATIONS[2].name]:.2f} s and {mean[instant] * 1e3:.0f} ms",
            mean[CONFIGURATIONS[2].name] > mean[instant],
            "Moves take effect with the next one-minute partial, half a minute after the decision.",
            paper="not measured",
        ),
    ]
