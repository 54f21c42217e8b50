"""Elasticutor's figures 6 and 7: throughput and latency while keys are shuffled (section 5.1).

A shuffle is a random permutation of the keys' frequencies. Two other approaches run beside Elasticutor: static, and
resource-centric, which repartitions whole operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.elasticutor.testbed.clusters import (
    CENTRIC,
    ELASTIC,
    FULL,
    LOADED,
    QUEUES,
    STATIC,
    STOPPING,
    T_MAX,
    USUAL,
    MicroRun,
    policies,
)
from papers.paper_run import Run
from papers.side_by_side import Bench
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import Elasticutor, ResourceCentric
from rheostat.simulate.trace import Trace

OUR_ELASTIC, OUR_CENTRIC = f"{ELASTIC}, our rules", f"{CENTRIC}, our rules"
OURS: dict[str, Policy] = {OUR_ELASTIC: Elasticutor(), OUR_CENTRIC: ResourceCentric()}
"""Our versions, which only a full run has."""

Cases = Mapping[tuple[str, int], float]
"""One value by approach and shuffles per minute."""


def reproduce(bench: Bench) -> list[Claim]:
    """Draw both figures and return their claims."""
    run = bench.run
    omegas = (0, 2, 16) if run.quick else (0, 1, 2, 4, 8, 16)
    seconds, warm_up = (20.0, 12.0) if run.quick else (110.0, 20.0)
    approaches = policies() if run.quick else {**policies(), **OURS}
    cases = [(name, omega, FULL) for name in approaches for omega in omegas]
    cases += [(name, omega, USUAL) for name in approaches for omega in ((16,) if run.quick else omegas)]
    runs = []
    for name, omega, (load, patience) in cases:
        # With two shuffles per minute, the first one comes after 30 s.
        span = max(seconds, 38.0) if omega == 2 else seconds
        span = span if load > 1 else 18.0 if run.quick else 65.0
        each = MicroRun(approaches[name], omega=omega, seconds=span, warm_up=warm_up, load=load, patience=patience)
        runs.append(replace(each, seed=run.seed))
    done = bench.each("figures 6 and 7: shuffled keys", MicroRun.trace, runs)
    traces = {(n, o): trace for (n, o, load), trace in zip(cases, done, strict=True) if load == FULL}
    through = {case: trace.mean_throughput(warm_up) for case, trace in traces.items()}
    calm = {(n, o): trace for (n, o, load), trace in zip(cases, done, strict=True) if load == USUAL}
    latency = {case: trace.mean_latency(warm_up) for case, trace in calm.items()}
    _draw_figure_6(run, approaches, omegas, through, latency)
    rows = [
        (n, o, round(rate), round(latency.get((n, o), np.nan) * 1e3, 2), round(t.mean_latency(warm_up) * 1e3, 2))
        for ((n, o), t), rate in zip(traces.items(), through.values(), strict=True)
    ]
    header = ("policy", "shuffles per minute", "rows per second", "mean latency ms at 70% load")
    run.table("fig06", (*header, "mean latency ms at full load"), rows)
    _draw_figure_7(run, {name: traces[name, 2] for name in policies()})
    shuffled = {name: traces[name, 2] for name in (ELASTIC, CENTRIC, OUR_ELASTIC) if (name, 2) in traces}
    recovery = {name: transient(trace.time, by_second(trace)) for name, trace in shuffled.items()}
    return claims(through, latency, omegas, recovery)


def _draw_figure_6(run: Run, approaches: Iterable[str], omegas: Sequence[int], through: Cases, latency: Cases) -> None:
    with run.figure("fig06", "Throughput and latency as keys are shuffled more often", columns=2) as axes:
        for name in approaches:
            axes[0, 0].plot(omegas, [through[name, o] / 1e3 for o in omegas], marker="o", label=name)
            seen = [o for o in omegas if (name, o) in latency]
            axes[0, 1].plot(seen, [latency[name, o] * 1e3 for o in seen], marker="o", label=name)
        axes[0, 0].set(xlabel="shuffles per minute", ylabel="thousand rows/s", ylim=(0, None))
        axes[0, 1].set(xlabel="shuffles per minute", ylabel="mean latency (ms), at 70% load", yscale="log")
        axes[0, 0].legend(fontsize=7)


def _draw_figure_7(run: Run, traces: Mapping[str, Trace]) -> None:
    smooth = {name: by_second(trace) for name, trace in traces.items()}
    with run.figure("fig07", "Throughput over the last second, keys shuffled every 30 s", width=7) as axes:
        for name, values in smooth.items():
            axes[0, 0].plot(traces[name].time, values / 1e3, label=name)
        axes[0, 0].set(xlabel="seconds", ylabel="thousand rows/s", ylim=(0, None))
        axes[0, 0].legend(ncols=3)
    times = traces[STATIC].time
    columns = zip(times.tolist(), *([round(v) for v in values] for values in smooth.values()), strict=True)
    run.table("fig07", ("seconds", *(f"{name}, rows per second" for name in smooth)), columns)


def claims(through: Cases, latency: Cases, omegas: Sequence[int], recovery: Mapping[str, float]) -> list[Claim]:
    """Return the section's claims about both figures. The other approaches run as published.

    Args:
        through: rows per second.
        latency: mean seconds at 70% load.
        omegas: shuffles per minute that were run.
        recovery: seconds until throughput is back after a shuffle, by approach.
    """
    both = [name if (name, 16) in through else None for name in (ELASTIC, OUR_ELASTIC)]
    moving = [o for o in omegas if o > 0]

    def each(judge: Callable[[str], Judged]) -> list[Judged | None]:
        return [judge(name) if name else None for name in both]

    def loss(name: str) -> float:
        return 1 - through[name, 16] / through[name, 0]

    def over(name: str, rival: str) -> float:
        return min(through[name, o] / through[rival, o] for o in moving)

    def lower_latency(name: str) -> Judged:
        run_at = {o for n, o in latency if n == name and o > 0}
        ratios = {n: min(latency[n, o] / latency[name, o] for o in run_at) for n in (STATIC, CENTRIC)}
        words = ", ".join(f"at least {ratio:.1f} x lower than {rival}" for rival, ratio in ratios.items())
        return words, min(ratios.values()) > 1

    def without_shuffles(name: str) -> Judged:
        above = [through[n, 0] / through[STATIC, 0] for n in (name, CENTRIC)]
        return f"{above[0]:.2f} x and {above[1]:.2f} x", min(above) > 1.3

    def recovered(name: str) -> Judged:
        words = f"{recovery[name]:.1f} s and {recovery[CENTRIC]:.1f} s"
        return words, recovery[name] <= 3 and 10 <= recovery[CENTRIC] <= 20

    stable = max(abs(through[STATIC, o] / through[STATIC, 0] - 1) for o in omegas)
    return [
        versions(
            "fig6-elasticutor",
            "Elasticutor loses at most 15% of its throughput when keys are shuffled 16 times a minute instead of never",
            "marginal degradation",
            each(lambda name: (f"{loss(name):.1%}", loss(name) <= 0.15)),
            chosen=QUEUES,
        ),
        Claim(
            "fig6-resource-centric",
            "the resource-centric approach loses at least 50% of its throughput when keys are shuffled 16 times a "
            "minute instead of never",
            "useless at 16 shuffles a minute",
            f"{loss(CENTRIC):.1%}",
            loss(CENTRIC) >= 0.5,
            "This shows what follows from the time that a stop takes, not that a stop takes so long.",
            chosen=f"{STOPPING}; {QUEUES}",
        ),
        versions(
            "fig6-static",
            "while keys are shuffled, Elasticutor has at least 1.5 x the throughput of the static approach",
            "consistently outperforms",
            each(lambda name: (f"at least {over(name, STATIC):.2f} x", over(name, STATIC) >= 1.5)),
            chosen=QUEUES,
        ),
        versions(
            "fig6-best",
            "while keys are shuffled, Elasticutor has more throughput than the resource-centric approach",
            "consistently outperforms",
            each(lambda name: (f"at least {over(name, CENTRIC):.2f} x", over(name, CENTRIC) > 1)),
            note=f"With our rules in both, it is at least {over(OUR_ELASTIC, OUR_CENTRIC):.2f} x." if both[1] else "",
            chosen=f"{STOPPING}; {QUEUES}",
        ),
        versions(
            "fig6-latency",
            "while keys are shuffled, Elasticutor has a lower mean latency than the static and the resource-centric "
            "approach",
            "consistently outperforms",
            each(lower_latency),
            chosen=f"{LOADED}; {T_MAX}; {STOPPING}",
            detail="Measured at 70% of what all cores can process, with a source that keeps up to one second of rows "
            "while it is blocked. If the source sends as fast as it can, latency is that of full queues, and is lowest "
            "where most cores are idle.",
        ),
        versions(
            "fig6-still",
            "without shuffles, Elasticutor and the resource-centric approach each have more than 1.3 x the throughput "
            "of the static approach",
            "outperform the static considerably",
            each(without_shuffles),
            chosen=QUEUES,
        ),
        Claim(
            "fig6-stable",
            "the throughput of the static approach changes by at most 25%, however often keys are shuffled",
            "relatively stable",
            f"at most {stable:.0%}",
            stable <= 0.25,
        ),
        versions(
            "fig7-transient",
            "after a shuffle, Elasticutor's throughput is back within 3 s, and that of the resource-centric approach "
            "after 10 to 20 s",
            "1-3 s and 10-20 s",
            each(recovered),
            note="Median over shuffles of the time for which the throughput of the last second is below 90% of its "
            "usual value.",
            chosen=f"{STOPPING}; {QUEUES}",
            detail="Our resource-centric baseline moves all shards of a plan during one stop, which ends sooner than "
            "the paper's.",
        ),
    ]


def by_second(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the throughput over the second before each point in time, as in the paper's figure 7."""
    width = max(1, round(1.0 / float(trace.time[1] - trace.time[0])))
    sums = np.cumsum(np.r_[np.zeros(1), trace.throughput])
    first = np.maximum(np.arange(len(trace.time)) + 1 - width, 0)
    return np.asarray((sums[1:] - sums[first]) / (np.arange(1, len(sums)) - first), dtype=np.float64)


def transient(
    time: np.ndarray[tuple[int], np.dtype[np.float64]], throughput: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    """Return the median over shuffles of the seconds for which throughput is below 90% of its usual value.

    NaN if no shuffle is followed by at least five seconds.

    >>> transient(np.arange(1.0, 61.0), np.where(np.isin(np.arange(1, 61), [31, 32, 33]), 50.0, 100.0))
    3.0
    """
    usual = float(np.median(throughput[time > 15.0]))
    step = float(time[1] - time[0])
    spans = []
    for begin in np.arange(30.0, time[-1] - 5.0, 30.0):
        inside = (time > begin) & (time <= min(begin + 29.0, time[-1]))
        spans.append(step * float(np.count_nonzero(throughput[inside] < 0.9 * usual)))
    return float(np.median(spans)) if spans else float("nan")
