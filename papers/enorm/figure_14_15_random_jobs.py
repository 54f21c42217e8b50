"""Enorm's figures 14 and 15: fusion of large random jobs (section 7.6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.claims import Claim, addition
from papers.enorm.testbed.random_jobs import FusionJob, large_job
from papers.enorm.testbed.refusion import refine
from papers.paper_run import Run
from rheostat.planning.enorm.fusion import (
    FusedComponent,
    fuse,
    fuse_baseline,
    inter_component_traffic,
    score_by_component_rate,
    score_by_rate,
)

SIZES = (50, 100, 150)
JOBS = 500

COMM, PA, BASELINE = "score = COMM", "score = PA", "baseline"
ALONE, WHOLE, REFINED = "baseline, free operators only", "score = COMM of components", "the same, refined"

Method = Callable[[FusionJob, np.random.Generator], list[FusedComponent]]

METHODS: dict[str, Method] = {
    BASELINE: lambda job, rng: fuse_baseline(job.attributes, job.rates, rng),
    ALONE: lambda job, rng: fuse_baseline(job.attributes, job.rates, rng, join=False),
    PA: lambda job, rng: fuse(job.attributes, job.rates),  # noqa: ARG005
    COMM: lambda job, rng: fuse(job.attributes, job.rates, score_by_rate(job.rates)),  # noqa: ARG005
    WHOLE: lambda job, rng: fuse(job.attributes, job.rates, score_by_component_rate(job.rates)),  # noqa: ARG005
}
"""The paper's three ways to fuse, and two others."""


def measure(operators: int, jobs: int, seed: int, run: Run | None = None) -> dict[str, tuple[float, float, float]]:
    """Fuse random jobs with every method.

    Args:
        operators: number of operators of a job.
        jobs: number of jobs.
        seed: seed of all random numbers.
        run: receives the progress, if given.

    Returns:
        By method: mean number of components, mean traffic between components in percent, and its standard error.
    """
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


def reproduce(run: Run) -> list[Claim]:
    """Draw both figures and return their claims."""
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
    published = (BASELINE, PA, COMM)

    def by_method(place: int, methods: tuple[str, ...] = published) -> str:
        each = ("/".join(f"{found[s][m][place]:.1f}" for s in SIZES) for m in methods)
        return ", ".join(f"{m} {v}" for m, v in zip(methods, each, strict=True))

    sizes = "/".join(map(str, SIZES))
    setting = f"Means of {jobs} random jobs each of {sizes} operators."
    return [
        Claim(
            "fig15-comm",
            "fusion by COMM leaves less traffic between components than fusion by PA or the baseline, for all sizes of "
            "jobs",
            "lowest",
            f"% of traffic: {by_method(1)}",
            all(found[s][COMM][1] < min(found[s][m][1] for m in (BASELINE, PA)) for s in SIZES),
            setting,
            chosen="from one operator to the next, the number of attributes changes by up to 3",
        ),
        Claim(
            "fig14-comm",
            "fusion by COMM makes more components than fusion by PA or the baseline, for all sizes of jobs",
            "largest number of components",
            by_method(0),
            all(found[s][COMM][0] > max(found[s][m][0] for m in (BASELINE, PA)) for s in SIZES),
            f"If the baseline may not add operators to components, it makes more than COMM: {by_method(0, (ALONE,))}.",
            chosen="the baseline may add operators to existing components",
            detail=f"{setting} The paper does not say whether the baseline may fuse an operator with one that already "
            "is in a component.",
        ),
        addition(
            "fig15-better",
            "fusion by the traffic of whole components, refined afterwards, leaves less traffic between components "
            "than COMM",
            f"% of traffic: {by_method(1, (COMM, WHOLE, REFINED))}",
            all(found[s][REFINED][1] < found[s][COMM][1] for s in SIZES),
            setting,
            paper="not in the paper",
        ),
    ]
