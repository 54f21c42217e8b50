"""Enorm's figure 11: latency and completion time of split and combine (section 7.3)."""

from __future__ import annotations

from papers.claims import Claim
from papers.enorm.figure_10_pauses import SIZES
from papers.enorm.testbed.cost_model import MINUTE, EnormNodes
from papers.paper_run import Run
from rheostat.planning.enorm.migration import ShardState, Strategy, migration_cost

LONGEST = 10 * MINUTE
"""The longest window of the simple job with two windows: what smooth migration may have to wait for."""


def reproduce(run: Run) -> list[Claim]:
    """The figure, and what is claimed of it."""
    engine = EnormNodes()
    ways = {
        "split, instant": Strategy.INSTANT,
        "combine, smooth": Strategy.SMOOTH,
        "combine, disruptive": Strategy.DISRUPTIVE,
    }
    costs = {
        name: [migration_cost(s, ShardState(size, remaining=LONGEST), engine.key_costs) for size in SIZES]
        for name, s in ways.items()
    }
    header = ("keys", *(f"{name}: {what} (s)" for name in ways for what in ("latency", "completion")))
    rows = ((k, *(v for c in costs.values() for v in (c[i].pause, c[i].completion))) for i, k in enumerate(SIZES))
    run.table("fig11", header, rows)
    with run.figure("fig11", "Split and combine, one shard", columns=2) as axes:
        for name, each in costs.items():
            axes[0, 0].plot(SIZES, [c.pause for c in each], marker="o", ms=3, label=name)
            axes[0, 1].plot(SIZES, [c.completion for c in each], marker="o", ms=3, label=name)
        axes[0, 0].set(xscale="log", xlabel="keys of the shard", ylabel="latency (s)")
        axes[0, 1].set(xscale="log", yscale="log", xlabel="keys of the shard", ylabel="completion time (s)")
        axes[0, 0].legend()
    split, smooth, moved = costs.values()
    return [
        Claim(
            "fig11-split",
            "split is always complete at once, with negligible latency",
            "very efficient",
            f"{max(c.completion for c in split) * 1e3:.0f} ms at most",
            all(s.completion < min(a.completion, b.completion) for s, a, b in zip(split, smooth, moved, strict=True)),
            "By the cost model, as the paper calculates this figure; the pause itself is simulated in figure 10.",
            chosen=f"{engine.switch * 1e3:.0f} ms to switch the partitioner",
        ),
        Claim(
            "fig11-combine",
            "combine costs no latency if smooth, but up to the longest window to complete; latency by the state if "
            "disruptive",
            "no latency, long completion; latency relative to state",
            f"smooth 0 s, complete after {smooth[0].completion:.0f} s at most; disruptive {moved[0].pause:.2f} s to "
            f"{moved[-1].pause:.1f} s",
            all(c.pause == 0 for c in smooth) and moved[-1].pause > 10 * moved[0].pause,
        ),
    ]
