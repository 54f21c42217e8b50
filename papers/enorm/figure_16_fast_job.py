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

HOP = "a hop between components costs the rest of a tuple's time"


def reproduce(run: Run) -> list[Claim]:
    """Draw the figure, and the gain by the cost of the operators' logic, and return the claims."""
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
            "automatic fusion makes one component of the four operators of the fast job",
            "one component",
            f"{len(fused)}",
            len(fused) == 1,
        ),
        Claim(
            "fig16-three",
            "fusing all four operators makes the fast job more than 3 x as fast",
            "more than 3 times",
            f"{gain:.2f} x ({times[0]:.0f} s and {times[-1]:.0f} s)",
            gain > 3,
            f"It holds if an operator's logic takes at most {limit * 1e6:.0f} us per tuple.",
            chosen=f"{engine.execute * 1e6:.0f} us per tuple for an operator's logic; {HOP}",
            detail=f"A tuple costs {engine.per_tuple * 1e6:.0f} us in the paper's simple job.",
        ),
        Claim(
            "fig16-logic",
            "the longer the logic of the operators takes, the less fusion helps",
            "less impact",
            f"{gains[0]:.2f} x with {logic[0] * 1e6:.0f} us per tuple to {gains[-1]:.2f} x with "
            f"{logic[-1] * 1e6:.0f} us",
            all(a > b for a, b in itertools.pairwise(gains)),
            chosen=HOP,
        ),
    ]
