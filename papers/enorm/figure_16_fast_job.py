"""Enorm's figure 16: fusion of the fast job's four operators (section 7.7)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from papers.claims import Claim
from papers.enorm.testbed.cost_model import EnormNodes, fast_job_time
from papers.enorm.testbed.random_jobs import fast_job
from papers.paper_run import Run
from rheostat.planning.enorm.fusion import fuse, score_by_rate


def reproduce(run: Run) -> list[Claim]:
    """The figure, and how the gain depends on what operators do."""
    engine, job = EnormNodes(), fast_job()
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
            f"It holds for logic of up to {limit * 1e6:.0f} us.",
            chosen=f"{engine.execute * 1e6:.0f} us for an operator's logic; a hop costs the rest of a tuple's time",
            detail=f"A tuple costs {engine.per_tuple * 1e6:.0f} us in the paper's simple job.",
        ),
        Claim(
            "fig16-logic",
            "the more expensive the logic of operators is, the less fusion helps",
            "less impact",
            f"{gains[0]:.2f} times at {logic[0] * 1e6:.0f} us to {gains[-1]:.2f} times at {logic[-1] * 1e6:.0f} us",
            all(a > b for a, b in itertools.pairwise(gains)),
            chosen="a hop costs the rest of a tuple's time",
        ),
    ]
