"""Elasticutor's table 3: throughput and scheduling time on more nodes (section 5.4)."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.elasticutor.testbed.clusters import EXCHANGE, MARKET, OUR_THRESHOLD, ExchangeRun, orders
from papers.side_by_side import Bench
from rheostat.elastic.elasticutor.subspaces import subspaces_of
from rheostat.elastic.loop.turn import Control
from rheostat.elastic.policies import Elasticutor

PAPER = {8: 4.1, 16: 5.2, 32: 5.7}
"""Milliseconds of a scheduling decision, by number of nodes."""

PUBLISHED, OURS = "as published", "our rules"
POLICIES = {PUBLISHED: Elasticutor.published(), OURS: Elasticutor(threshold=OUR_THRESHOLD)}
SCHEDULERS = {PUBLISHED: Elasticutor.published(), OURS: Elasticutor(steady=1.0)}
"""Policies whose decision is timed. Ours runs without the rule that keeps cores, which would often decide nothing."""

Measurements = Mapping[tuple[str, int], tuple[float, float]]
"""Orders per second and seconds of a decision, by version and number of nodes."""


def measure(each: ExchangeRun) -> tuple[float, float]:
    """Run it and return orders per second and seconds of a decision."""
    rate = orders(each.trace(), each.warm_up)
    version = next(name for name, policy in POLICIES.items() if policy == each.policy)
    return rate, scheduling_seconds(each, SCHEDULERS[version], 20 if each.seconds > 10 else 6)


def reproduce(bench: Bench) -> list[Claim]:
    """Write the table and return its claims."""
    run = bench.run
    sizes = (8, 32) if run.quick else (8, 16, 32)
    seconds, warm_up = (4.0, 2.0) if run.quick else (40.0, 10.0)
    cases = [(rules, nodes) for rules in POLICIES for nodes in sizes]
    runs = [ExchangeRun(POLICIES[rules], nodes, seconds, warm_up, seed=run.seed) for rules, nodes in cases]
    found = dict(zip(cases, bench.each("table 3: 8 to 32 nodes", measure, runs), strict=True))
    header = ("version", "nodes", "orders per second", "scheduling ms")
    run.table("table3", header, [(*case, round(rate), round(s * 1e3, 2)) for case, (rate, s) in found.items()])
    with run.figure("table3", "Throughput and scheduling time by nodes", columns=2) as axes:
        for rules in dict.fromkeys(rules for rules, _ in cases):
            axes[0, 0].plot(sizes, [found[rules, n][0] / 1e3 for n in sizes], marker="o", label=rules)
            axes[0, 1].plot(sizes, [found[rules, n][1] * 1e3 for n in sizes], marker="o", label=rules)
        axes[0, 0].set(xlabel="nodes", ylabel="thousand orders/s", ylim=(0, None))
        axes[0, 0].legend()
        axes[0, 1].set(xlabel="nodes", ylabel="one decision (ms)", ylim=(0, None))
    return claims(found)


def claims(found: Measurements) -> list[Claim]:
    """Return the section's claims about the table."""

    def grown(rules: str) -> Judged:
        small, large = (found[rules, nodes][0] / 1e3 for nodes in (8, 32))
        return f"{small:.1f} to {large:.1f} thousand/s ({large / small:.1f} x)", large >= 3 * small

    def quick(rules: str) -> Judged:
        large = found[rules, 32][1] * 1e3
        return f"{large:.2f} ms", large <= PAPER[32]

    def flat(rules: str) -> Judged:
        small, large = (found[rules, nodes][1] * 1e3 for nodes in (8, 32))
        return f"{small:.2f} to {large:.2f} ms ({large / small:.1f} x)", large < 2 * small

    timed = "Time of one core of this machine, the median of several decisions."
    return [
        versions(
            "table3-throughput",
            "from 8 to 32 nodes, Elasticutor's throughput grows at least 3 x",
            "66.6 to 218.6 thousand/s (3.3 x)",
            map(grown, POLICIES),
            chosen=f"{MARKET}; imbalance threshold of {OUR_THRESHOLD} (ours)",
            detail=EXCHANGE,
        ),
        versions(
            "table3-scheduling",
            "one scheduling decision for 32 nodes takes at most 5.7 ms",
            "5.7 ms",
            map(quick, POLICIES),
            note=timed,
        ),
        versions(
            "table3-growth",
            "one scheduling decision for 32 nodes takes less than twice as long as one for 8 nodes",
            f"{PAPER[8]} to {PAPER[32]} ms ({PAPER[32] / PAPER[8]:.1f} x)",
            map(flat, POLICIES),
        ),
    ]


def scheduling_seconds(finished: ExchangeRun, policy: Elasticutor, times: int = 20) -> float:
    """Return the median seconds of one decision after a run, with slightly different loads each time."""
    engine = finished.engine
    history = Control.start(policy, engine.observed).history
    took = []
    for _ in range(times):
        history = policy.learn(history, engine.step().observation)
        owned = {name: subspaces_of(part) for name, part in engine.observed.operators.items()}
        begin = time.thread_time()
        policy.schedule(history, engine.observed, owned)
        took.append(time.thread_time() - begin)
    return float(np.median(took))
