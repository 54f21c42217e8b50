"""Enorm's figure 12: how much longer processing takes with migrations (section 7.4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from papers.claims import Claim
from papers.enorm.testbed.cost_model import MINUTE, TUPLES, EnormNodes, completion_time, simple_job, touched
from papers.enorm.testbed.hot_spots import KEYS
from papers.enorm.testbed.migration_costs import Strategy, expanded_keys
from papers.paper_run import Run
from rheostat.planning.enorm.splitting import Form

_SHARDS = 60
_SIMILAR = 1.5  # factor within which two times count as similar; the paper prints no number


def reproduce(run: Run) -> list[Claim]:
    """Draw the figure and return its claims."""
    shares = np.linspace(0, 1, 11)
    longer = {
        (keys, strategy): _longer(keys, strategy, shares)
        for keys in (KEYS // 10, KEYS)
        for strategy in (Strategy.DISRUPTIVE, Strategy.INSTANT)
    }
    header = ("share migrated", *(f"{strategy}, {keys} keys per shard" for keys, strategy in longer))
    run.table("fig12", header, zip(shares.round(1), *longer.values(), strict=True))
    with run.figure("fig12", "Extra time by share of the state migrated") as axes:
        for (keys, strategy), values in longer.items():
            line = "-" if strategy is Strategy.DISRUPTIVE else "--"
            label = f"{strategy}, {keys} keys per shard"
            axes[0, 0].plot(shares * 100, [v * 100 for v in values], line, marker="o", ms=3, label=label)
        axes[0, 0].set(xlabel="shards migrated (%)", ylabel="longer (%)", ylim=(0, None))
        axes[0, 0].legend(fontsize=7)
    few, many = (
        longer[keys, Strategy.INSTANT][-1] / longer[keys, Strategy.DISRUPTIVE][-1] for keys in (KEYS // 10, KEYS)
    )
    claim = Claim(
        "fig12-similar",
        f"instant and disruptive migration prolong processing by times that differ by less than a factor of {_SIMILAR}",
        "similar",
        f"instant takes {few:.2f} x the extra time of disruptive with {KEYS // 10:,} keys per shard, {many:.2f} x with "
        f"{KEYS:,}",
        all(1 / _SIMILAR < factor < _SIMILAR for factor in (few, many)),
        "If all shards move. Instant migration never costs more than disruptive migration.",
        detail="The paper counts one more partial result for every key of the shard. But only keys with tuples both "
        "before and after the move, within the minute, have two partial results. That is nearly every key with "
        f"{_rows_per_shard(KEYS // 10) / (KEYS // 10):.0f} tuples per key and minute, and few keys with "
        f"{_rows_per_shard(KEYS) / KEYS:.1f}. The paper does not say how many keys there were.",
    )
    return [claim]


def _longer(keys: float, strategy: Strategy, shares: npt.NDArray[np.float64]) -> list[float]:
    """Return how much longer 18 million tuples take if a share of all shards moves in the middle of a minute.

    Args:
        keys: keys of a shard.
        strategy: how shards move.
        shares: shares of all shards.

    Returns:
        For every share, the extra time relative to processing without migrations.
    """
    engine, plan, rows = EnormNodes(), simple_job(5), _rows_per_shard(keys)
    sent = expanded_keys(keys, rows, 0.5) if strategy is Strategy.INSTANT else touched(keys, rows / 2)
    undisturbed = completion_time(engine, plan, Form.SPLIT, keys * _SHARDS)
    extra = shares * _SHARDS * sent * engine.per_key
    times = [completion_time(engine, plan, Form.SPLIT, keys * _SHARDS, extra=float(e)) for e in extra]
    return [time / undisturbed - 1 for time in times]


def _rows_per_shard(keys: float) -> float:
    """Return the tuples of a shard in a minute if the simple job runs as fast as it can."""
    return TUPLES / completion_time(EnormNodes(), simple_job(5), Form.SPLIT, keys * _SHARDS) * MINUTE / _SHARDS
