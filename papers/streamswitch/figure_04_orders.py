"""StreamSwitch's figure 4: the orders of the trading day (section 6, financial application)."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim
from papers.paper_run import Run
from rheostat.workloads.exchange import PUBLISHED_ORDERS, PUBLISHED_STOCKS, Exchange

CHOSEN = "the orders, generated with the published numbers"
NOTE = "The exchange's trace is not public. The generated orders were made to have these numbers."


def reproduce(run: Run) -> list[Claim]:
    """Draw the figure and return its claims."""
    day = Exchange(seed=run.seed)
    rates, second = day.per_second(), np.arange(day.seconds)
    blocks = rates.reshape(len(day.popularity()), -1).sum(axis=1)
    stocks = np.sort(blocks @ day.popularity())[::-1]
    calm = rates[second % (day.seconds // 2) >= 120]
    with run.figure("fig04", "Limit orders over the trading day", width=6.4) as axes:
        axes[0, 0].plot(second / 60, rates, lw=0.5, rasterized=True)
        axes[0, 0].set(yscale="log", xlabel="minutes of trading", ylabel="orders per second")
    share, opening = float(stocks[:11].sum() / stocks.sum()), rates[[0, day.seconds // 2]]
    return [
        Claim(
            "fig4-rates",
            "70 to 80 thousand orders arrive per second when a session opens, and hundreds to thousands otherwise",
            "70-80 thousand/s; hundreds to thousands",
            f"{opening[0] / 1e3:.0f} and {opening[1] / 1e3:.0f} thousand/s; {calm.min()} to {calm.max():,} otherwise",
            bool((opening >= 70e3).all() and (opening <= 80e3).all() and calm.min() >= 100 and calm.max() < 10e3),
            NOTE,
            chosen=CHOSEN,
        ),
        Claim(
            "fig4-skew",
            f"the 11 busiest of {PUBLISHED_STOCKS:,} stocks have more than 10% of the orders, and the busiest alone "
            "more than 2%",
            f"more than 10% and 2% of {PUBLISHED_ORDERS:,}",
            f"{share:.1%} and {stocks[0] / stocks.sum():.1%} of {rates.sum():,}",
            bool(share > 0.1 and stocks[0] / stocks.sum() > 0.02),
            NOTE,
            chosen=CHOSEN,
        ),
    ]
