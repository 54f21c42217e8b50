"""Elasticutor's figure 13: numbers of executors and of shards (section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from papers.claims import Claim
from papers.elasticutor.testbed.clusters import CENTRIC, CORES, STATIC, MicroRun
from papers.paper_run import Run
from papers.side_by_side import Bench
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import Elasticutor, ResourceCentric, Static

DEFAULT, INTENSIVE, DYNAMIC = "default", "data-intensive", "highly dynamic"
LOADS = {DEFAULT: (128.0, 2.0), INTENSIVE: (8192.0, 2.0), DYNAMIC: (128.0, 16.0)}
"""Three workloads, each as (bytes per row, shuffles per minute)."""

RIVALS: dict[str, Policy] = {STATIC: Static(), CENTRIC: ResourceCentric.published()}
PER_NODE = 256
"""Shards of an operator per node in the other experiments: 8192 on 32 nodes."""

Measurements = Mapping[tuple[str, int, int], tuple[float, float]]
"""Rows and bytes of moved state, both per second, by workload, executors (y) and shards per executor (z)."""

Shards = Mapping[int, Sequence[int]]
"""Values of z that were run, by y."""


def measure(each: MicroRun) -> tuple[float, float]:
    """Run it and return rows and bytes of moved state per second."""
    trace = each.trace()
    return trace.mean_throughput(each.warm_up), trace.mean(trace.migrated, each.warm_up)


def reproduce(bench: Bench) -> list[Claim]:
    """Draw the figure and return its claims."""
    run = bench.run
    nodes = 8 if run.quick else 32
    shards = nodes * PER_NODE
    ys = (1, nodes, nodes * CORES) if run.quick else (1, 8, 32, 128, 256)
    every = (1, 4, 16, 64, 256, 1024, 8192)
    zs = {y: (4, shards // y) if run.quick else tuple(z for z in every if y * z <= 4 * shards) for y in ys}
    seconds, warm_up = (8.0, 3.0) if run.quick else (40.0, 10.0)
    cases = [(w, y, z) for w in LOADS for y in ys for z in zs[y]]
    rivals = [(w, name) for w in LOADS for name in RIVALS]

    def each(policy: Policy, workload: str, y: int, z: int) -> MicroRun:
        size, omega = LOADS[workload]
        # Executors begin with all cores: the figure is not about how they get them.
        return MicroRun(
            policy=policy,
            nodes=nodes,
            omega=omega,
            seconds=seconds,
            warm_up=warm_up,
            executors=y,
            shards=z,
            size=size,
            spread=policy not in RIVALS.values(),
            seed=run.seed,
        )

    runs = [each(Elasticutor.published(), *case) for case in cases] + [each(RIVALS[n], w, 32, 256) for w, n in rivals]
    done = bench.each("figure 13: executors and shards", measure, runs)
    found = dict(zip(cases, done[: len(cases)], strict=True))
    others = {case: through for case, (through, _) in zip(rivals, done[len(cases) :], strict=True)}
    _draw(run, found, others, zs)
    rows: list[tuple[object, ...]] = [
        (w, y, z, round(rate), round(moved)) for (w, y, z), (rate, moved) in found.items()
    ]
    rows += [(w, name, "", round(rate), "") for (w, name), rate in others.items()]
    header = ("workload", "executors", "shards per executor", "rows per second", "bytes of state moved per second")
    run.table("fig13", header, rows)
    return claims(found, others, zs, nodes)


def claims(found: Measurements, others: Mapping[tuple[str, str], float], zs: Shards, nodes: int) -> list[Claim]:
    """Return the section's claims about the figure.

    Args:
        found: what Elasticutor reached.
        others: rows per second of the other approaches, by workload and approach.
        zs: shards per executor that were run.
        nodes: number of nodes.
    """
    full = nodes * CORES
    enough = {y: min(z for z in zs[y] if y * z >= nodes * PER_NODE) for y in zs}
    rate = {case: through for case, (through, _) in found.items()}
    shards = min(rate[DEFAULT, y, enough[y]] / rate[DEFAULT, y, zs[y][0]] for y in zs if y < full)
    static = rate[DEFAULT, full, enough[full]] / others[DEFAULT, STATIC]
    single = rate[INTENSIVE, 1, enough[1]] / rate[DEFAULT, 1, enough[1]]
    unchanged = min(others[INTENSIVE, name] / others[DEFAULT, name] for name in RIVALS)
    robust = min(
        rate[w, nodes, enough[nodes]] / max(through for (load, _, _), through in rate.items() if load == w)
        for w in LOADS
    )
    lost = {y: 1 - rate[DYNAMIC, y, enough[y]] / rate[DEFAULT, y, enough[y]] for y in (1, nodes)}
    moved = {y: found[DYNAMIC, y, enough[y]][1] / 1e6 for y in (1, nodes)}
    return [
        Claim(
            "fig13-shards",
            "Elasticutor has more throughput with many shards per executor than with few",
            "generally increases",
            f"at least {shards:.2f} x, from {zs[1][0]} per executor to {nodes * PER_NODE:,} in all",
            shards > 1,
        ),
        Claim(
            "fig13-static",
            "with as many executors as cores, Elasticutor's throughput is within 25% of the static approach's",
            "downgraded to the static approach",
            f"{static:.2f} x",
            0.75 <= static <= 1.25,
        ),
        Claim(
            "fig13-intensive",
            "a single executor loses more than half of its throughput when rows have 8 KB instead of 128 bytes",
            "drops severely",
            f"{single:.0%} is left",
            single < 0.5,
        ),
        Claim(
            "fig13-rivals",
            "the static and the resource-centric approach keep at least 75% of their throughput when rows have 8 KB "
            "instead of 128 bytes",
            "does not change much",
            f"at least {unchanged:.0%}",
            unchanged >= 0.75,
        ),
        Claim(
            "fig13-dynamic",
            "a single executor loses more throughput than one executor per node when keys are shuffled 16 times a "
            "minute instead of twice",
            "much greater for few executors",
            f"{lost[1]:.1%} and {lost[nodes]:.1%}",
            lost[1] > lost[nodes],
            limit="the simulator does not charge a move to the executor's main process, and little state has to move",
            detail=f"Both have {nodes * PER_NODE:,} shards in all. Few executors have to move more state between "
            f"nodes, but with 32 KB per shard it is little: {moved[1]:.1f} MB/s in all for the single executor and "
            f"{moved[nodes]:.1f} MB/s with one per node, while every node can send 125 MB/s. Figure 12 shows the same "
            "for up to 3.2 MB per shard.",
        ),
        Claim(
            "fig13-robust",
            "one executor per node reaches at least 80% of the best throughput under each of the three workloads",
            "robust",
            f"at least {robust:.0%}",
            robust >= 0.8,
        ),
    ]


def _draw(run: Run, found: Measurements, others: Mapping[tuple[str, str], float], zs: Shards) -> None:
    with run.figure("fig13", "Throughput by executors and shards per executor", columns=3) as axes:
        for column, workload in enumerate(LOADS):
            for y, tried in zs.items():
                drawn = [found[workload, y, z][0] / 1e3 for z in tried]
                axes[0, column].plot(tried, drawn, marker="o", label=f"{y} executors")
            for name in RIVALS:
                axes[0, column].axhline(others[workload, name] / 1e3, ls="--", lw=0.9, color="#777777")
                axes[0, column].annotate(name, (1, others[workload, name] / 1e3), fontsize=7)
            axes[0, column].set(xlabel="shards per executor", ylabel="thousand rows/s", xscale="log", ylim=(0, None))
            axes[0, column].set_title(workload, fontsize=9)
            axes[0, column].legend(fontsize=7)
