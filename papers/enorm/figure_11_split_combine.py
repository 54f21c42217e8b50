"""Enorm's figure 11: latency and completion time of split and combine (section 7.3)."""

from __future__ import annotations

from papers.claims import Claim
from papers.enorm.figure_10_pauses import SIZES
from papers.enorm.testbed.cost_model import MINUTE, EnormNodes
from papers.enorm.testbed.migration_costs import ShardState, Strategy, migration_cost
from papers.paper_run import Run

LONGEST = 10 * MINUTE
"""Seconds of the longest window of the simple job with two windows. Smooth migration may have to wait for its end."""


def reproduce(run: Run) -> list[Claim]:
    """Draw the figure and return its claims."""
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
            "a split completes sooner than a combine, whatever the size of the state",
            "very efficient",
            f"after at most {max(c.completion for c in split) * 1e3:.0f} ms",
            all(s.completion < min(a.completion, b.completion) for s, a, b in zip(split, smooth, moved, strict=True)),
            "Calculated with the cost model, as in the paper. Figure 10 simulates the pause.",
            chosen=f"{engine.switch * 1e3:.0f} ms to switch the partitioner",
        ),
        Claim(
            "fig11-combine",
            "a combine with smooth migration causes no latency but completes only after the longest window; with "
            "disruptive migration, it causes latency that grows with the state",
            "no latency, long completion; latency relative to state",
            f"smooth: 0 s, complete after at most {smooth[0].completion:.0f} s; disruptive: {moved[0].pause:.2f} s to "
            f"{moved[-1].pause:.1f} s",
            all(c.pause == 0 for c in smooth) and moved[-1].pause > 10 * moved[0].pause,
            "Calculated with the cost model, in which smooth migration moves no state.",
        ),
    ]
