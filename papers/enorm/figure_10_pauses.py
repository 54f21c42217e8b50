"""Enorm's figure 10: how long processing pauses while a shard moves, by the size of its state (section 7.2)."""

from __future__ import annotations

import itertools

import numpy as np

from papers.claims import Claim
from papers.enorm.testbed.cost_model import EnormNodes
from papers.enorm.testbed.hot_spots import KEYS, simulate_pause
from papers.enorm.testbed.migration_costs import ShardState, Strategy, migration_cost
from papers.paper_run import Run

SIZES = (1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 200_000)
"""Numbers of keys of a shard, in figures 10 and 11."""


def reproduce(run: Run) -> list[Claim]:
    """Draw the figure and return its claims."""
    engine, seeds = EnormNodes(), range(2 if run.quick else 10)
    strategies = (Strategy.DISRUPTIVE, Strategy.INSTANT)
    seen: dict[Strategy, list[float]] = {s: [] for s in strategies}
    for size in run.each("migration latency", SIZES):
        for s in strategies:
            seen[s].append(float(np.mean([simulate_pause(s, size, engine, run.seed + i) for i in seeds])))
    idle = [migration_cost(Strategy.DISRUPTIVE, ShardState(size), engine.key_costs).pause for size in SIZES]
    header = ("keys", *(f"{s} (s)" for s in seen), "disruptive by the cost model, idle nodes (s)")
    run.table("fig10", header, zip(SIZES, *seen.values(), idle, strict=True))
    with run.figure("fig10", "Pause of a shard that moves, nodes loaded 70%") as axes:
        for strategy, values in seen.items():
            axes[0, 0].plot(SIZES, values, marker="o", ms=3, label=strategy.value)
        axes[0, 0].plot(SIZES, idle, ":", color="0.5", label="disruptive, idle nodes")
        axes[0, 0].set(xscale="log", yscale="log", xlabel="keys of the shard", ylabel="pause (s)")
        axes[0, 0].legend()
    slow, quick = seen[Strategy.DISRUPTIVE], seen[Strategy.INSTANT]
    factor = slow[SIZES.index(KEYS)] / quick[SIZES.index(KEYS)]
    switch = f"{engine.switch * 1e3:.0f} ms to switch the partitioner"
    return [
        Claim(
            "fig10-instant",
            "with instant migration, a shard pauses for less than 100 ms, whatever the size of its state",
            "negligible",
            f"{quick[0] * 1e3:.0f} ms with the smallest state, at most {max(quick) * 1e3:.0f} ms with others",
            max(quick) < 0.1 and max(quick) < 2 * min(quick),
            "The longest pause must also be less than twice the shortest.",
            chosen=switch,
        ),
        Claim(
            "fig10-disruptive",
            "with disruptive migration, a shard with more state pauses for longer",
            "grows",
            f"{slow[0]:.2f} s with {SIZES[0]:,} keys to {slow[-1]:.1f} s with {SIZES[-1]:,}",
            all(a < b for a, b in itertools.pairwise(slow)),
        ),
        Claim(
            "fig10-factor",
            f"with {KEYS:,} keys per shard, disruptive migration pauses a shard at least 10 x as long as instant "
            "migration",
            "a factor of ten (section 7.5)",
            f"{slow[SIZES.index(KEYS)]:.2f} s and {quick[SIZES.index(KEYS)] * 1e3:.0f} ms: {factor:.0f} x",
            factor >= 10,
            f"It would hold with up to {slow[SIZES.index(KEYS)] / 10 * 1e3:.0f} ms to switch the partitioner.",
            chosen=switch,
        ),
    ]
