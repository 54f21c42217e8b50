"""Elasticutor section 5.2: one executor on many cores (figures 10 to 12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from papers.claims import Claim
from papers.elasticutor.runs import CORES, SHARDS, MicroRun
from papers.run import Run
from papers.side_by_side import Bench
from rheostat.elastic.policies import Elasticutor
from rheostat.simulate.trace import quantile


@dataclass(frozen=True)
class Scaled:
    """What one executor did with so many cores, in the second half of a run.

    Attributes:
        throughput: rows per second; ``p99``, seconds that 99 in 100 of them took at most.
        moves: shards that changed their node, per shuffle; ``transfer``, seconds that their state took, with the wait
            for other state on its way.
    """

    throughput: float
    p99: float = float("nan")
    moves: float = 0.0
    transfer: float = 0.0


@dataclass(frozen=True)
class One:
    """One executor that has all cores of a cluster of that size, and its home on the first node."""

    cores: int
    seed: int
    seconds: float
    cost: float = 1e-3
    size: float = 128.0
    state: float = 32e3
    omega: float = 0.0
    load: float = 1.3

    def scaled(self) -> Scaled:
        """Run it."""
        half = self.seconds / 2
        run = MicroRun(
            Elasticutor.published(),
            max(1, self.cores // CORES),
            self.omega,
            self.seconds,
            executors=1,
            shards=SHARDS,
            cost=self.cost,
            size=self.size,
            state=self.state,
            cores=min(self.cores, CORES),
            seed=self.seed,
            warm_up=half,
            load=self.load,
            patience=0.0 if self.load > 1 else 1.0,
            spread=True,
        )
        trace = run.trace()
        after = trace.after(half)
        moved = float((trace.migrated[after] * trace.seconds[after]).sum()) / self.state
        shuffles = self.seconds * self.omega // 60 - half * self.omega // 60
        spent = trace.moved["far_seconds"] - trace.moved["far_sync_seconds"]
        return Scaled(
            trace.mean_throughput(half),
            quantile(trace.bins[0], 0.99),
            moved / max(shuffles, 1.0),
            spent / max(trace.moved["far_moves"], 1.0),
        )


Found = Mapping[tuple[str, float, int], Scaled]
"""By what varies, cost or size of a row, its value, and cores."""


def data_intensity(bench: Bench) -> list[Claim]:
    """Figures 10 and 11: throughput and latency of one executor, by cost of a row and by its size."""
    run = bench.run
    counts = (1, 8, 64) if run.quick else (1, 2, 4, 8, 16, 32, 64, 128, 256)
    costs = (1e-3, 1e-5) if run.quick else (1e-2, 1e-3, 1e-4, 1e-5)
    sizes = (128.0, 8192.0) if run.quick else (128.0, 512.0, 2048.0, 8192.0)
    cases = [("cost", c, n) for c in costs for n in counts] + [("size", s, n) for s in sizes[1:] for n in counts]
    ones = []
    for kind, value, cores in cases:
        seconds = 1.5 if run.quick else 4.0 if kind == "cost" and value < 1e-3 else 8.0
        cost, size = (value, 128.0) if kind == "cost" else (1e-3, value)
        # Throughput with all that goes through; latency with what the cores could do by themselves.
        ones += [One(cores, run.seed, seconds, cost, size, load=load) for load in (1.3, 0.7)]
    done = bench.each("figures 10 and 11: one executor", One.scaled, ones)
    found = {c: Scaled(a.throughput, b.p99) for c, a, b in zip(cases, done[::2], done[1::2], strict=True)}
    found |= {("size", sizes[0], n): found["cost", 1e-3, n] for n in counts}
    rows = [(kind, value, n, round(s.throughput), round(s.p99 * 1e3, 3)) for (kind, value, n), s in found.items()]
    header = ("what varies", "seconds or bytes a row", "cores", "rows per second", "p99 ms")
    for name, title, scale in (("fig10", "Throughput", "thousand rows/s"), ("fig11", "99 in 100 rows", "ms at most")):
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
    return judged_intensity(found, counts[-1])


def judged_intensity(found: Found, most: int) -> list[Claim]:
    """What the section says of figures 10 and 11, of what was measured."""
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


def operational_cost(bench: Bench) -> list[Claim]:
    """Figure 12: one executor with much state, while keys shift."""
    run = bench.run
    counts = (8, 32) if run.quick else (8, 16, 32, 64, 128, 256)
    states = (32e3, 32e6) if run.quick else (32e3, 320e3, 3.2e6, 32e6)
    seconds = 40.0 if run.quick else 80.0
    cases = [(omega, state, cores) for omega in (2, 16) for state in states for cores in counts]
    ones = [One(cores, run.seed, seconds, state=state, omega=omega) for omega, state, cores in cases]
    found = dict(zip(cases, bench.each("figure 12: state and shifts", One.scaled, ones), strict=True))
    _draw_cost(run, found, states, counts)
    rows = [(*case, round(s.throughput), round(s.moves, 1), round(s.transfer, 4)) for case, s in found.items()]
    header = ("shuffles per minute", "bytes of a shard", "cores", "rows per second")
    run.table("fig12", (*header, "shards between nodes per shuffle", "transfer s"), rows)
    return judged_cost(found, states, counts[-1])


def judged_cost(found: Mapping[tuple[int, float, int], Scaled], states: tuple[float, ...], most: int) -> list[Claim]:
    """What the section says of figure 12, of what was measured."""
    rows = {case: scaled.throughput for case, scaled in found.items()}
    small = min(rows[o, s, most] / rows[o, states[0], most] for o in (2, 16) for s in states[:-1])
    large = {omega: rows[omega, states[-1], most] / rows[omega, states[0], most] for omega in (2, 16)}
    slow, fast = found[2, states[-1], most], found[16, states[-1], most]
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
            f"Balancing moves few of the {SHARDS} shards, {slow.moves:.0f} per shuffle at 2 a minute and "
            f"{fast.moves:.0f} at 16, each for {slow.transfer:.1f} and {fast.transfer:.1f} s with the wait for the "
            "others; meanwhile the rest goes on until rows held for these fill up. So a shuffle costs a few seconds, "
            "of 30 at 2 a minute and of 4 at 16. State and rows do not share the network here, but rows would take no "
            "more than a fifth of it even at the executor's home.",
        ),
    ]


def _draw_cost(
    run: Run, found: Mapping[tuple[int, float, int], Scaled], states: tuple[float, ...], counts: tuple[int, ...]
) -> None:
    with run.figure("fig12", "Throughput of one executor by state of a shard", columns=2) as axes:
        for column, omega in enumerate((2, 16)):
            for state in states:
                drawn = [found[omega, state, n].throughput / 1e3 for n in counts]
                axes[0, column].plot(counts, drawn, marker="o", label=f"{state / 1e3:g} KB a shard")
            axes[0, column].set(xlabel="cores", ylabel="thousand rows/s", xscale="log", yscale="log")
            axes[0, column].set_title(f"{omega} shuffles a minute", fontsize=9)
            axes[0, column].legend(fontsize=7)
