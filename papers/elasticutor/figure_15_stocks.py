"""Elasticutor's figure 15: order rates of the most popular stocks over time (section 5.4)."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim
from papers.side_by_side import Bench
from rheostat.workloads.market import SaturatedMarket


def reproduce(bench: Bench) -> list[Claim]:
    """Draw the figure and return its claim."""
    run = bench.run
    market = SaturatedMarket(100_000.0, seed=run.seed)
    times = np.arange(0.0, 600.0, 1.0)
    shares = np.array([market.popularity(t) for t in times]) * market.rate
    top = np.argsort(-shares.mean(axis=0))[:5]
    with run.figure("fig15", "Orders of the five most popular stocks", width=7) as axes:
        for stock in top:
            axes[0, 0].plot(times, shares[:, stock], lw=0.9, label=f"stock {stock}")
        axes[0, 0].set(xlabel="seconds", ylabel="orders/s", ylim=(0, None))
        axes[0, 0].legend(ncols=5, fontsize=7)
    rows = ((second, *(round(v, 1) for v in shares[second, top])) for second in range(len(times)))
    run.table("fig15", ("seconds", *(f"stock {stock}, orders per second" for stock in top)), rows)
    swing = float(np.median(shares[:, top].max(axis=0) / shares[:, top].min(axis=0)))
    return [
        Claim(
            "fig15",
            "the order rates of the five most popular stocks at least double within ten minutes",
            "fluctuate greatly",
            f"the highest rate is {swing:.1f} x the lowest",
            swing >= 2,
            chosen="the orders, which are not public: these were generated with popularity that comes and goes",
        )
    ]
