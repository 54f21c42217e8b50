"""Enorm: fusion of random jobs (section 7.6) and of the fast job (section 7.7)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from papers.claims import Claim
from papers.enorm.cost_model import Engine, fast_job_time
from papers.enorm.jobs import Job, fast_job, large_job
from papers.run import Run
from rheostat.planning.enorm.fusion import (
    FusedComponent,
    fuse,
    fuse_baseline,
    inter_component_traffic,
    score_by_component_rate,
    score_by_rate,
)
from rheostat.planning.enorm.refusion import refine

SIZES = (50, 100, 150)
JOBS = 500

COMM, PA, BASELINE = "score = COMM", "score = PA", "baseline"
ALONE, WHOLE, REFINED = "baseline, free operators only", "score = COMM of components", "the same, refined"

Method = Callable[[Job, np.random.Generator], list[FusedComponent]]

METHODS: dict[str, Method] = {
    BASELINE: lambda job, rng: fuse_baseline(job.attributes, job.rates, rng),
    ALONE: lambda job, rng: fuse_baseline(job.attributes, job.rates, rng, join=False),
    PA: lambda job, rng: fuse(job.attributes, job.rates),  # noqa: ARG005
    COMM: lambda job, rng: fuse(job.attributes, job.rates, score_by_rate(job.rates)),  # noqa: ARG005
    WHOLE: lambda job, rng: fuse(job.attributes, job.rates, score_by_component_rate(job.rates)),  # noqa: ARG005
}
"""The paper's three and others beside them."""


def reproduce(run: Run) -> list[Claim]:
    """The figures and claims of these sections."""
    return [*_random_jobs(run), *_fast_job(run)]


def measure(operators: int, jobs: int, seed: int, run: Run | None = None) -> dict[str, tuple[float, float, float]]:
    """By method: mean number of components, mean inter-component traffic in percent, and its standard error."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in (*METHODS, REFINED)}
    numbers = range(jobs)
    for number in run.each(f"fusion of {operators} operators", numbers) if run else numbers:
        rng = np.random.default_rng([seed, operators, number])
        job = large_job(operators, rng)
        total = sum(job.rates.values())
        found = {name: method(job, rng) for name, method in METHODS.items()}
        found[REFINED] = refine(found[WHOLE], job.attributes, job.rates)
        for name, components in found.items():
            seen[name].append((len(components), 100 * inter_component_traffic(components, job.rates) / total))
    result = {}
    for name, values in seen.items():
        (count, traffic), error = np.mean(values, axis=0), np.std(values, axis=0)[1] / np.sqrt(jobs)
        result[name] = float(count), float(traffic), float(error)
    return result


def _random_jobs(run: Run) -> list[Claim]:
    """Figures 14 and 15."""
    jobs = 40 if run.quick else JOBS
    found = {size: measure(size, jobs, run.seed, run) for size in SIZES}
    header = ("operators", "method", "components", "inter-component traffic (%)", "standard error")
    run.table("fig14-15", header, [(size, m, *v) for size, each in found.items() for m, v in each.items()])
    for name, title, place, unit in (
        ("fig14", "Components of random jobs", 0, "components"),
        ("fig15", "Traffic between components of random jobs", 1, "traffic between components (%)"),
    ):
        with run.figure(name, title) as axes:
            for method, line in ((BASELINE, "-"), (PA, "-"), (COMM, "-"), (ALONE, ":"), (WHOLE, ":"), (REFINED, ":")):
                values = [found[s][method][place] for s in SIZES]
                axes[0, 0].plot(SIZES, values, line, marker="o", ms=3, label=method)
            axes[0, 0].set(xlabel="operators", ylabel=unit, xticks=SIZES, ylim=(0, None))
            axes[0, 0].legend(fontsize=7)
    papers = (BASELINE, PA, COMM)

    def told(place: int, methods: tuple[str, ...] = papers) -> str:
        each = ("/".join(f"{found[s][m][place]:.1f}" for s in SIZES) for m in methods)
        return ", ".join(f"{m} {v}" for m, v in zip(methods, each, strict=True))

    means = "/".join(map(str, SIZES))
    setting = f"Means of {jobs} random jobs of {means} operators each. "
    return [
        Claim(
            "fig15-comm",
            "COMM has the least traffic between components on all sizes of jobs",
            "lowest",
            f"{told(1)} %",
            all(found[s][COMM][1] < min(found[s][m][1] for m in (BASELINE, PA)) for s in SIZES),
            setting
            + "How much the number of attributes changes from operator to operator is not printed: here by up to 3.",
        ),
        Claim(
            "fig14-comm",
            "COMM makes the most components",
            "largest number of components",
            told(0),
            all(found[s][COMM][0] > max(found[s][m][0] for m in (BASELINE, PA)) for s in SIZES),
            setting
            + "Whether the baseline may also fuse with an operator that already is in a component is not said; here it "
            f"may. If it may not, it makes more components than COMM: {told(0, (ALONE,))}.",
        ),
        Claim(
            "fig15-better",
            "scoring what whole components exchange, and refining afterwards, leaves less traffic than COMM",
            "not in the paper",
            f"{told(1, (COMM, WHOLE, REFINED))} %",
            all(found[s][REFINED][1] < found[s][COMM][1] for s in SIZES),
        ),
    ]


def _fast_job(run: Run) -> list[Claim]:
    """Figure 16, and how the gain depends on what operators do."""
    engine, job = Engine(), fast_job()
    fused = fuse(job.attributes, job.rates, score_by_rate(job.rates))
    counts = (1, 2, 3, 4)
    times = [fast_job_time(engine, n) for n in counts]
    logic = np.logspace(-6, -3, 25)
    gains = []
    for execute in logic:
        other = replace(engine, execute=float(execute), per_tuple=engine.hop + float(execute))
        gains.append(fast_job_time(other, 1) / fast_job_time(other, 4))
    labels = ("zero", "two", "three", "four")
    run.table("fig16", ("operators fused", "completion time (s)"), zip(labels, times, strict=True))
    with run.figure("fig16", "The fast job, 18 million tuples", columns=2) as axes:
        axes[0, 0].bar(labels, times)
        axes[0, 0].set(xlabel="operators fused", ylabel="completion time (s)")
        axes[0, 1].plot(logic * 1e6, gains)
        axes[0, 1].axhline(3, color="0.5", ls=":")
        axes[0, 1].axvline(engine.execute * 1e6, color="0.5", ls=":")
        axes[0, 1].set(xscale="log", xlabel="logic of an operator (us a tuple)", ylabel="times faster if fused")
    gain = times[0] / times[-1]
    limit = float(np.interp(-3, [-g for g in gains], logic))
    return [
        Claim(
            "fig16-fusion",
            "automatic fusion makes one component of the fast job's four operators",
            "one component",
            f"{len(fused)}",
            len(fused) == 1,
        ),
        Claim(
            "fig16-three",
            "fusing all four operators makes the fast job more than three times faster",
            "more than 3 times",
            f"{gain:.2f} times ({times[0]:.0f} s and {times[-1]:.0f} s)",
            gain > 3,
            f"Simulated: a tuple costs {engine.per_tuple * 1e6:.0f} us in the paper's simple job, of which we take "
            f"{engine.execute * 1e6:.0f} us as the operator's logic; a hop between components is taken to cost the "
            f"rest. It holds for logic of up to {limit * 1e6:.0f} us.",
        ),
        Claim(
            "fig16-logic",
            "the more expensive the logic of operators is, the less fusion helps",
            "less impact",
            f"{gains[0]:.2f} times at {logic[0] * 1e6:.0f} us to {gains[-1]:.2f} times at {logic[-1] * 1e6:.0f} us",
            all(a > b for a, b in itertools.pairwise(gains)),
        ),
    ]
