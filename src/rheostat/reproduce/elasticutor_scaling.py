"""Elasticutor sections 5.2 and 5.3: one executor on many cores; numbers of executors and shards (figures 10 to 13)."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.elastic.policies import Elasticutor, ResourceCentric, Static
from rheostat.reproduce.claims import Claim
from rheostat.reproduce.elasticutor_runs import CORES, MicroRun
from rheostat.reproduce.run import Run
from rheostat.simulate.trace import quantile

SHARDS = 8192
"""Of a single executor: as many as an operator has otherwise."""


@dataclass(frozen=True)
class Scaled:
    """What one executor did with so many cores."""

    throughput: float
    p99: float


def one_executor(
    cores: int,
    seed: int,
    seconds: float,
    cost: float = 1e-3,
    size: float = 128.0,
    state: float = 32e3,
    omega: float = 0.0,
    load: float = 1.3,
) -> Scaled:
    """One executor that has all cores of a cluster of that size, and its home on the first node."""
    nodes = max(1, cores // CORES)
    run = MicroRun(
        Elasticutor.published(),
        nodes,
        omega,
        seconds,
        executors=1,
        shards=SHARDS,
        cost=cost,
        size=size,
        state=state,
        cores=min(cores, CORES),
        seed=seed,
        warm_up=seconds / 2,
        load=load,
        patience=0.0 if load > 1 else 1.0,
        spread=True,
    )
    trace = run.trace()
    return Scaled(trace.mean_throughput(seconds / 2), quantile(trace.bins[0], 0.99))


def data_intensity(run: Run) -> list[Claim]:
    """Figures 10 and 11: throughput and latency of one executor, by cost of a row and by its size."""
    counts = (1, 8, 64) if run.quick else (1, 2, 4, 8, 16, 32, 64, 128, 256)
    costs = (1e-3, 1e-5) if run.quick else (1e-2, 1e-3, 1e-4, 1e-5)
    sizes = (128.0, 8192.0) if run.quick else (128.0, 512.0, 2048.0, 8192.0)
    cases = [("cost", c, n) for c in costs for n in counts] + [("size", s, n) for s in sizes for n in counts]
    found: dict[tuple[str, float, int], Scaled] = {}
    for kind, value, cores in run.each("figures 10 and 11: one executor", cases):
        if kind == "size" and value == 128.0:
            found[kind, value, cores] = found["cost", 1e-3, cores]
            continue
        seconds = 2.5 if run.quick else 4.0 if kind == "cost" and value < 1e-3 else 8.0
        more = {"cost": value} if kind == "cost" else {"size": value}
        # Throughput with all that goes through; latency with what the cores could do by themselves.
        through = one_executor(cores, run.seed, seconds, **more).throughput
        found[kind, value, cores] = Scaled(through, one_executor(cores, run.seed, seconds, load=0.7, **more).p99)
    for name, title, scale in (("fig10", "Throughput", "thousand rows/s"), ("fig11", "99 in 100 rows", "ms at most")):
        with run.figure(name, f"{title} of one executor as it scales out", columns=2) as axes:
            for column, (kind, values) in enumerate((("cost", costs), ("size", sizes))):
                for value in values:
                    seen = [found[kind, value, n] for n in counts]
                    drawn = [s.throughput / 1e3 if name == "fig10" else s.p99 * 1e3 for s in seen]
                    label = f"{value * 1e3:g} ms a row" if kind == "cost" else f"{value:g} B a row"
                    axes[0, column].plot(counts, drawn, marker="o", label=label)
                axes[0, column].set(xlabel="cores", ylabel=scale, xscale="log", yscale="log")
                axes[0, column].legend(fontsize=7)
    most = counts[-1]
    usual, large, cheap = found["cost", 1e-3, most], found["size", 8192.0, most], found["cost", 1e-5, most]
    efficiency = usual.throughput / found["cost", 1e-3, 1].throughput / most
    gains = {
        "8 KB": large.throughput / found["size", 8192.0, 1].throughput,
        "0.01 ms": cheap.throughput / found["cost", 1e-5, 1].throughput,
    }
    slow = large.p99 / found["size", 8192.0, 8].p99
    steady = usual.p99 / found["cost", 1e-3, 8].p99
    return [
        Claim(
            "fig10-scales",
            "one executor uses all cores of the cluster efficiently, with 1 ms and 128 bytes a row",
            "to 256 cores",
            f"{efficiency:.0%} of linear on {most} cores",
            efficiency >= 0.6,
            "Of the loss, up to a fifth is the imbalance that the paper's threshold of 1.2 allows.",
        ),
        Claim(
            "fig10-intensive",
            "with 8 KB or 0.01 ms a row it cannot use more than about 16 cores",
            "16 cores",
            f"on {most} cores as much as {gains['8 KB']:.0f} and {gains['0.01 ms']:.0f}",
            max(gains.values()) <= 32,
        ),
        Claim(
            "fig11-steady",
            "latency does not grow noticeably as it scales out, in most settings",
            "not noticeably",
            f"{steady:.1f} x from 8 to {most} cores",
            steady <= 2.0,
            "Cores are 70 % busy.",
        ),
        Claim(
            "fig11-intensive",
            "with large rows latency grows a lot once the network is the bottleneck",
            "increases greatly",
            f"{slow:.1f} x from 8 to {most} cores",
            slow >= 3,
            "70 % of what the cores could do is offered. Bounded by the second that rows wait in front of the source.",
        ),
    ]


def operational_cost(run: Run) -> list[Claim]:
    """Figure 12: one executor with much state, while keys shift."""
    counts = (8, 64) if run.quick else (8, 16, 32, 64, 128, 256)
    states = (32e3, 32e6) if run.quick else (32e3, 320e3, 3.2e6, 32e6)
    seconds = 50.0 if run.quick else 80.0
    found: dict[tuple[int, float, int], float] = {}
    cases = [(omega, state, cores) for omega in (2, 16) for state in states for cores in counts]
    for omega, state, cores in run.each("figure 12: state and shifts", cases):
        found[omega, state, cores] = one_executor(cores, run.seed, seconds, state=state, omega=omega).throughput
    with run.figure("fig12", "Throughput of one executor by state of a shard", columns=2) as axes:
        for column, omega in enumerate((2, 16)):
            for state in states:
                drawn = [found[omega, state, n] / 1e3 for n in counts]
                axes[0, column].plot(counts, drawn, marker="o", label=f"{state / 1e3:g} KB a shard")
            axes[0, column].set(xlabel="cores", ylabel="thousand rows/s", xscale="log", yscale="log")
            axes[0, column].set_title(f"{omega} shuffles a minute", fontsize=9)
            axes[0, column].legend(fontsize=7)
    most = counts[-1]
    small = min(found[o, s, most] / found[o, states[0], most] for o in (2, 16) for s in states[:-1])
    large = {omega: found[omega, states[-1], most] / found[omega, states[0], most] for omega in (2, 16)}
    return [
        Claim(
            "fig12-small",
            "an executor scales out with any state but 32 MB a shard",
            "scales efficiently",
            f"{small:.0%} of the throughput with 32 KB, on {most} cores, at least",
            small >= 0.7,
        ),
        Claim(
            "fig12-large",
            "32 MB a shard keep it from using remote cores, the more so the faster keys shift",
            "decreases considerably",
            f"{large[2]:.0%} of the throughput with 32 KB at 2 shuffles a minute, {large[16]:.0%} at 16",
            large[2] < 0.9 and large[16] < large[2],
        ),
    ]


def parameters(run: Run) -> list[Claim]:
    """Figure 13: numbers of executors (y) and shards (z) under three workloads."""
    nodes = 8 if run.quick else 32
    full = nodes * CORES
    ys = (1, nodes, full) if run.quick else (1, 8, 32, 128, 256)
    zs = (4, 256) if run.quick else (1, 4, 16, 64, 256, 1024)
    loads = {"default": (128.0, 2.0), "data-intensive": (8192.0, 2.0), "highly dynamic": (128.0, 16.0)}
    seconds, warm_up = (14.0, 7.0) if run.quick else (40.0, 10.0)
    found: dict[tuple[str, int, int], float] = {}
    others: dict[tuple[str, str], float] = {}
    cases: list[tuple[str, int, int]] = [(w, y, z) for w in loads for y in ys for z in zs if y * z <= 32_768]
    cases += [(w, 0, place) for w in loads for place in range(2)]
    for workload, y, z in run.each("figure 13: executors and shards", cases):
        size, omega = loads[workload]
        if y == 0:
            policy = (Static(), ResourceCentric.published())[z]
            each = MicroRun(policy, nodes, omega, seconds, warm_up, size=size, seed=run.seed)
            others[workload, ("static", "resource-centric")[z]] = each.trace().mean_throughput(warm_up)
        else:
            each = MicroRun(Elasticutor.published(), nodes, omega, seconds, warm_up, y, z, size=size, seed=run.seed)
            found[workload, y, z] = each.trace().mean_throughput(warm_up)
    with run.figure("fig13", "Throughput by executors and shards per executor", columns=3) as axes:
        for column, workload in enumerate(loads):
            for y in ys:
                drawn = [(z, found[workload, y, z] / 1e3) for z in zs if (workload, y, z) in found]
                axes[0, column].plot(*zip(*drawn, strict=True), marker="o", label=f"{y} executors")
            for name in ("static", "resource-centric"):
                axes[0, column].axhline(others[workload, name] / 1e3, ls="--", lw=0.9, color="#777777")
                axes[0, column].annotate(name, (zs[0], others[workload, name] / 1e3), fontsize=7)
            axes[0, column].set(xlabel="shards per executor", ylabel="thousand rows/s", xscale="log", ylim=(0, None))
            axes[0, column].set_title(workload, fontsize=9)
            axes[0, column].legend(fontsize=7)
    few, many, per_node = zs[0], zs[-1] if run.quick else 256, nodes if run.quick else 32
    shards = min(found["default", y, many] / found["default", y, few] for y in ys[:-1])
    static = found["default", full, max(z for z in zs if ("default", full, z) in found)] / others["default", "static"]
    single = found["data-intensive", 1, many] / found["default", 1, many]
    robust = min(found[w, per_node, many] / max(found[w, y, many] for y in ys if (w, y, many) in found) for w in loads)
    lost = {y: 1 - found["highly dynamic", y, many] / found["default", y, many] for y in (1, per_node)}
    return [
        Claim(
            "fig13-shards",
            "more shards give more throughput",
            "generally increases",
            f"{shards:.2f} x from {few} to {many} shards, at least",
            shards > 1,
        ),
        Claim(
            "fig13-static",
            "with as many executors as cores Elasticutor is no better than the static approach",
            "downgraded to the static approach",
            f"{static:.2f} x",
            0.75 <= static <= 1.25,
        ),
        Claim(
            "fig13-intensive",
            "a single executor loses most of its throughput when rows have 8 KB",
            "drops severely",
            f"{single:.0%} of the throughput with 128 bytes",
            single < 0.5,
        ),
        Claim(
            "fig13-dynamic",
            "shifting keys cost a single executor more than one executor per node",
            "much greater for few executors",
            f"{lost[1]:.1%} and {lost[per_node]:.1%}",
            lost[1] > lost[per_node],
        ),
        Claim(
            "fig13-robust",
            "one executor per node does well under all three workloads",
            "robust",
            f"{robust:.0%} of the best, at least",
            robust >= 0.8,
        ),
    ]
