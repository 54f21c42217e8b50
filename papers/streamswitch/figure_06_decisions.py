"""StreamSwitch's figure 6: decisions and latencies over the trading day (section 6.2)."""

from __future__ import annotations

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.paper_run import Run
from papers.side_by_side import Bench
from papers.streamswitch.figure_05_policies import CHOSEN, MARGIN
from papers.streamswitch.testbed.clips import WatchedDay, watch_day
from papers.streamswitch.testbed.named_policies import SWITCH, SWITCH_PLUS
from papers.streamswitch.testbed.trading_day import SHORT, WHOLE, Day

KINDS = (SWITCH, SWITCH_PLUS)
"""The policy as published, and our version."""


def run_days(bench: Bench) -> tuple[tuple[WatchedDay, WatchedDay], tuple[WatchedDay, WatchedDay]]:
    """Run both baselines, as published and ours, on Samza and on Flink."""
    part = SHORT if bench.run.quick else WHOLE
    engines = [(kind, flink) for flink in (False, True) for kind in KINDS]
    days = [Day(kind, MARGIN, part=part, flink=flink, seed=bench.run.seed) for kind, flink in engines]
    published, ours, on_flink, ours_on_flink = bench.each("decisions over the day", watch_day, days)
    return (published, ours), (on_flink, ours_on_flink)


def claims(run: Run, published: WatchedDay, ours: WatchedDay) -> list[Claim]:
    """Draw the figure and return its claims."""
    draw(run, "fig06", "Switch(0.2) over the trading day", published)
    draw(run, "fig06_ours", "Switch+(0.2) over the trading day", ours)
    both = published, ours
    balanced, scaled = [_balanced(seen) for seen in both], [_scaled(seen, run.quick) for seen in both]
    opened = "At an opening, slots are added one by one, which is " + (
        "most of a quick run." if run.quick else "a large part of all treatments."
    )
    return [
        versions(
            "fig6-balance",
            "balancing is the most frequent kind of treatment",
            "strives to balance load most of the time",
            balanced,
            note="" if balanced[0][1] else opened,
            chosen=CHOSEN,
        ),
        versions(
            "fig6-scale",
            "StreamSwitch scales out when a session opens and towards the end of the day",
            "scales out at the openings and towards the closing",
            scaled,
            note="A quick run has no close." if run.quick else "",
            chosen=CHOSEN,
        ),
        versions(
            "fig6-latency",
            "in most periods, the mean and the 99th percentile of latency are between 10 ms and 1 s",
            "tens to hundreds of milliseconds",
            (_calm(seen) for seen in both),
            note="Periods of five seconds, without the first five minutes after an opening.",
            chosen=CHOSEN,
        ),
        versions(
            "fig6-late",
            "the 99th percentile of latency exceeds 1 s at times, and most often after an opening",
            "overshoots sometimes, especially at the openings",
            (_late(seen) for seen in both),
            chosen=CHOSEN,
        ),
    ]


def draw(run: Run, name: str, title: str, seen: WatchedDay) -> None:
    """Draw slots and latencies over the day."""
    minute = seen.time / 60
    with run.figure(name, title, rows=2, width=7.2, height=2.2) as axes:
        axes[0, 0].plot(minute, seen.slots, lw=0.8, label="slots")
        at, slots = seen.balanced.T
        axes[0, 0].plot(at / 60, slots, "o", ms=1, mew=0, alpha=0.4, rasterized=True, label="balance")
        axes[0, 0].set(ylabel="slots")
        axes[0, 0].legend()
        axes[1, 0].plot(minute, seen.p99, lw=0.5, color="0.6", label="99th percentile")
        axes[1, 0].plot(minute, seen.mean, lw=0.7, label="mean")
        axes[1, 0].axhline(1.0, color="k", lw=0.6, ls=":")
        axes[1, 0].set(yscale="log", xlabel="minutes of trading", ylabel="latency (s)")
        axes[1, 0].legend()


def _balanced(seen: WatchedDay) -> Judged:
    kinds = seen.result.outcome.treatments
    words = ", ".join(f"{count:,} x {name}" for name, count in kinds.items())
    return words, kinds["balance"] == max(kinds.values())


def _scaled(seen: WatchedDay, quick: bool) -> Judged:
    minute = seen.time / 60
    before = (minute > 110) & (minute <= 120)
    highest, noon = float(seen.slots[_opening(seen)].max()), float(seen.slots[before].mean())
    words, scales = f"up to {highest:.0f} slots after an opening, {noon:.1f} before the second", highest > 2 * noon
    if quick:
        return words, scales
    close, hour = minute > 230, (minute > 170) & (minute <= 230)
    at_close, earlier = float(seen.slots[close].mean()), float(seen.slots[hour].mean())
    closing = f"; {at_close:.1f} in the last ten minutes, {earlier:.1f} in the hour before"
    return words + closing, scales and at_close > earlier


def _calm(seen: WatchedDay) -> Judged:
    rest = ~_opening(seen)
    calm = [float(np.mean((v[rest] >= 0.01) & (v[rest] < 1.0))) for v in (seen.mean, seen.p99)]
    return f"in {calm[0]:.0%} (mean) and {calm[1]:.0%} (99th percentile) of them", min(calm) > 0.5


def _late(seen: WatchedDay) -> Judged:
    late, opening = seen.p99 > 1.0, _opening(seen)
    first, others = late[opening].mean(), late[~opening].mean()
    return f"in {first:.0%} of the five minutes after an opening, {others:.0%} of the others", bool(first > others > 0)


def _opening(seen: WatchedDay) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """True for periods in the five minutes after an opening."""
    minute = seen.time / 60
    return np.asarray((minute % 120 <= 5.0) & (minute > 0))
