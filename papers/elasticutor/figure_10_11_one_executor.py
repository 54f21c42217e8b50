"""Elasticutor's figures 10 and 11: one executor on many cores (section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping

from papers.claims import Claim
from papers.elasticutor.testbed.clusters import LOADED
from papers.elasticutor.testbed.one_executor import OneExecutor, Scaled
from papers.side_by_side import Bench

Measurements = Mapping[tuple[str, float, int], Scaled]
"""By what is varied ("cost" or "size" of a row), its value, and the number of cores."""


def reproduce(bench: Bench) -> list[Claim]:
    """Draw both figures and return their claims."""
    run = bench.run
    counts = (1, 8, 64) if run.quick else (1, 2, 4, 8, 16, 32, 64, 128, 256)
    costs = (1e-3, 1e-5) if run.quick else (1e-2, 1e-3, 1e-4, 1e-5)
    sizes = (128.0, 8192.0) if run.quick else (128.0, 512.0, 2048.0, 8192.0)
    cases = [("cost", c, n) for c in costs for n in counts] + [("size", s, n) for s in sizes[1:] for n in counts]
    ones = []
    for kind, value, cores in cases:
        seconds = 1.5 if run.quick else 4.0 if kind == "cost" and value < 1e-3 else 8.0
        cost, size = (value, 128.0) if kind == "cost" else (1e-3, value)
        # Throughput is measured at full load, latency at 70%.
        ones += [OneExecutor(cores, run.seed, seconds, cost, size, load=load) for load in (1.3, 0.7)]
    done = bench.each("figures 10 and 11: one executor", OneExecutor.scaled, ones)
    found = {c: Scaled(a.throughput, b.p99) for c, a, b in zip(cases, done[::2], done[1::2], strict=True)}
    found |= {("size", sizes[0], n): found["cost", 1e-3, n] for n in counts}
    rows = [(kind, value, n, round(s.throughput), round(s.p99 * 1e3, 3)) for (kind, value, n), s in found.items()]
    header = ("what varies", "seconds or bytes a row", "cores", "rows per second", "p99 ms")
    for name, title, scale in (
        ("fig10", "Throughput", "thousand rows/s"),
        ("fig11", "99th percentile of latency", "ms"),
    ):
        run.table(name, header, rows)
        with run.figure(name, f"{title} of one executor as it scales out", columns=2) as axes:
            for column, (kind, values) in enumerate((("cost", costs), ("size", sizes))):
                for value in values:
                    seen = [found[kind, value, n] for n in counts]
                    drawn = [s.throughput / 1e3 if name == "fig10" else s.p99 * 1e3 for s in seen]
                    label = f"{value * 1e3:g} ms a row" if kind == "cost" else f"{value:g} B a row"
                    axes[0, column].plot(counts, drawn, marker="o", label=label)
                axes[0, column].set(xlabel="cores", ylabel=scale, xscale="log", yscale="log")
                axes[0, column].legend(fontsize=7)
    return claims(found, counts[-1])


def claims(found: Measurements, most: int) -> list[Claim]:
    """Return the section's claims about both figures; ``most`` is the largest number of cores that was run."""
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
            "a single executor uses all cores of the cluster with at least 60% efficiency, if a row costs 1 ms and has "
            "128 bytes",
            "up to 256 cores",
            f"{efficiency:.0%} of linear on {most} cores",
            efficiency >= 0.6,
            "Up to a fifth may be lost to the imbalance that the paper's threshold of 1.2 allows.",
        ),
        Claim(
            "fig10-intensive",
            "if a row has 8 KB or costs 0.01 ms, a single executor gains at most as much as from 32 cores",
            "no more than 16 cores",
            f"on {most} cores the throughput of {gains['8 KB']:.0f} (8 KB) and {gains['0.01 ms']:.0f} (0.01 ms)",
            max(gains.values()) <= 32,
        ),
        Claim(
            "fig11-steady",
            "the 99th percentile of latency at most doubles as a single executor scales out, if a row costs 1 ms and "
            "has 128 bytes",
            "not noticeably, in most settings",
            f"{steady:.1f} x from 8 to {most} cores",
            steady <= 2.0,
            chosen=LOADED,
        ),
        Claim(
            "fig11-intensive",
            "if a row has 8 KB, the 99th percentile of latency grows at least 3 x once the network is the bottleneck",
            "increases greatly",
            f"{slow:.1f} x from 8 to {most} cores",
            slow >= 3,
            "It cannot grow beyond the second of rows that the source keeps.",
            chosen=LOADED,
        ),
    ]
