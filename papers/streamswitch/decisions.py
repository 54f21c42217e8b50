"""StreamSwitch: what it decides over the trading day, in the whole and in single treatments (sections 6.2 and 6.7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.claims import Claim
from papers.run import Run
from papers.side_by_side import Bench
from papers.streamswitch.clips import Clip, Watched, watched
from papers.streamswitch.exchange import SHORT, SPEED, WHOLE, Day
from papers.streamswitch.runs import FLINK, SAMZA, SWITCH, words
from rheostat.workloads.exchange import PUBLISHED_ORDERS, PUBLISHED_STOCKS, Exchange

MARGIN = 0.2

_FIGURES = {"scale out": "fig07", "balance": "fig08", "scale in": "fig09"}


def run_both(bench: Bench) -> tuple[Watched, Watched]:
    """Switch(0.2) on Samza and on Flink."""
    part = SHORT if bench.run.quick else WHOLE
    days = [Day(SWITCH, MARGIN, part=part, flink=flink, seed=bench.run.seed) for flink in (False, True)]
    samza, flink = bench.each("decisions over the day", watched, days)
    return samza, flink


def claims(run: Run, samza: Watched, flink: Watched) -> list[Claim]:
    """Figures 4, 6 to 9 and 18."""
    return [*orders(run), *decisions(run, samza), *treatments(run, samza), *on_flink(run, samza, flink)]


def orders(run: Run) -> list[Claim]:
    """Figure 4: orders per second over the day."""
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
            "70 to 80 thousand orders a second when a session opens, hundreds to thousands otherwise",
            "70K-80K/s; hundreds to thousands",
            f"{opening[0] / 1e3:.0f} and {opening[1] / 1e3:.0f} thousand; {calm.min()} to {calm.max()} otherwise",
            bool((opening >= 70e3).all() and (opening <= 80e3).all() and calm.min() >= 100 and calm.max() < 10e3),
            "The exchange's trace is not public: a day is drawn that has its published numbers.",
        ),
        Claim(
            "fig4-skew",
            f"of {PUBLISHED_STOCKS} stocks, the first 11 have more than 10 % of the orders, the heaviest more than 2 %",
            f"more than 10 % and 2 % of {PUBLISHED_ORDERS}",
            f"{share:.1%} and {stocks[0] / stocks.sum():.1%} of {rates.sum()}",
            bool(share > 0.1 and stocks[0] / stocks.sum() > 0.02),
        ),
    ]


def decisions(run: Run, seen: Watched) -> list[Claim]:
    """Figure 6: slots and latencies over the day."""
    _draw(run, "fig06", "Switch(0.2) over the trading day", seen)
    kinds = seen.traded.outcome.treatments
    minute = seen.time / 60
    opening = (minute % 120 <= 5.0) & (minute > 0)
    before = (minute > 110) & (minute <= 120)
    close, hour = minute > 230, (minute > 170) & (minute <= 230)
    highest, noon = float(seen.slots[opening].max()), float(seen.slots[before].mean())
    closing = ""
    scales = highest > 2 * noon
    if not run.quick:
        at_close, earlier = float(seen.slots[close].mean()), float(seen.slots[hour].mean())
        closing = f"; {at_close:.1f} in the last ten minutes, {earlier:.1f} in the hour before"
        scales = scales and at_close > earlier
    calm = [float(np.mean((v[~opening] >= 0.01) & (v[~opening] < 1.0))) for v in (seen.mean, seen.p99)]
    late = seen.p99 > 1.0
    mostly = kinds["balance"] == max(kinds.values())
    opened = "At an opening slots are added one after the other, and that is " + (
        "most of a quick run." if run.quick else "a large part of all treatments."
    )
    return [
        Claim(
            "fig6-balance",
            "more treatments balance load than are of any other kind",
            "strives to balance load most of the time",
            ", ".join(f"{count} times {name}" for name, count in kinds.items()),
            mostly,
            "" if mostly else opened,
        ),
        Claim(
            "fig6-scale",
            "it scales out when sessions open and towards the close",
            "scales out at the openings and towards the closing",
            f"up to {highest:.0f} slots at the openings, {noon:.1f} before the second{closing}",
            scales,
            "A quick run has no close." if run.quick else "",
        ),
        Claim(
            "fig6-latency",
            "mean latency and its 99th percentile are mostly tens to hundreds of milliseconds",
            "tens to hundreds of milliseconds",
            f"so in {calm[0]:.0%} and {calm[1]:.0%} of the time",
            min(calm) > 0.5,
            "By periods of five seconds, those later than five minutes after an opening.",
        ),
        Claim(
            "fig6-late",
            "the 99th percentile exceeds 1 s at times, most of all at the openings",
            "overshoots sometimes, especially at the openings",
            f"in {late[opening].mean():.0%} of the first five minutes, {late[~opening].mean():.0%} of the others",
            bool(late[opening].mean() > late[~opening].mean() > 0),
        ),
    ]


def treatments(run: Run, seen: Watched) -> list[Claim]:
    """Figures 7 to 9: one treatment of each kind."""
    for clip in seen.clips:
        _draw_clip(run, clip)
    out = next((clip for clip in seen.clips if clip.action == "scale out"), None)
    since = "in the calm part of a quick run" if run.quick else "after minute 56, where the paper's are"
    return [
        Claim(
            "fig7-load",
            "a slot gets help from a new one when its arrivals approach its speed",
            "when the arrival rate approaches the service rate",
            f"{out.load:.0%} of its speed at minute {out.minute:.2f}, {out.moved} shards" if out else "no scale out",
            out is not None and out.load > 1 - MARGIN,
            f"Of every kind the first treatment of three shards or more {since}. A slot serves {SPEED:g} rows/s.",
        ),
        after(seen.clips),
    ]


def on_flink(run: Run, samza: Watched, flink: Watched) -> list[Claim]:
    """Figure 18: the same day on Flink."""
    _draw(run, "fig18", "Switch(0.2) over the trading day on Flink", flink)
    ours, theirs = flink.traded.outcome, samza.traded.outcome
    recovery = [_recovery(seen, 120.0) for seen in (flink, samza)]
    slightly, about = theirs.rate - 0.03 < ours.rate < theirs.rate, abs(ours.slots / theirs.slots - 1) < 0.1
    opened = [float(seen.slots[(seen.time > 7200) & (seen.time <= 7440)].mean()) for seen in (flink, samza)]
    barriers = (
        f" Where barriers wait behind the rows of an opening, slots come later: {opened[0]:.1f} and {opened[1]:.1f} of "
        f"them in the first four minutes of the second{', which weigh more in a quick run' if run.quick else ''}."
    )
    return [
        Claim(
            "fig18-success",
            "on Flink, Switch(0.2) succeeds slightly less often than on Samza, with about as many slots",
            "95.24 % with 8.39 beside 96.28 % with 8.40",
            f"{words(ours)} beside {words(theirs)}",
            slightly and about,
            f"On Samza two slots stand still for {SAMZA:g} s and the transfer of state; on Flink for {FLINK:g} s and "
            "the transfer, after a barrier has passed all rows that wait for them. Slightly: by less than 3 %; about: "
            f"within 10 %.{'' if slightly and about else barriers}",
        ),
        Claim(
            "fig18-opening",
            "after the second opening it takes longer on Flink until latency is within the bound",
            "a longer time to recover from the spike at 120 min",
            f"{recovery[0]:.1f} and {recovery[1]:.1f} minutes",
            recovery[0] > recovery[1],
            "Until the mean latency of five seconds is within 1 s. Barriers wait behind the rows of the opening.",
        ),
    ]


def after(clips: Sequence[Clip]) -> Claim:
    """What becomes of the shards that move."""
    calm = [clip for clip in clips if clip.highest < 2.0 and clip.back() < 10.0]
    return Claim(
        "fig7-9-back",
        "shards that move overshoot 1 s slightly at most, and are back soon, whatever the treatment",
        "slightly overshoots 1 s, returns quickly",
        "; ".join(f"{c.action}: up to {c.highest:.2f} s, within 1 s after {c.back():.1f} s" for c in clips),
        len(calm) == len(_FIGURES),
        "Slightly: below 2 s; soon: within 10 s. Mean latency of the shards that move, by half seconds."
        + _not_back(clips, calm),
    )


def _not_back(clips: Sequence[Clip], calm: Sequence[Clip]) -> str:
    """Why treatments are not as they should be: there was none, or rows were late before it."""
    missing = [name for name in _FIGURES if name not in {clip.action for clip in clips}]
    none = [f" There was none to {name} in that time." for name in missing]
    late = [
        f" To {c.action}: the shards were {c.before:.2f} s late in the second before it was decided, on a slot with "
        f"{c.load:.0%} of the rows it can serve."
        for c in clips
        if c not in calm
    ]
    return "".join((*none, *late))


def _recovery(seen: Watched, opening: float) -> float:
    """Minutes after an opening until mean latency is within 1 s; infinite if it never is."""
    minute = seen.time / 60
    good = minute[(minute > opening + 0.2) & (seen.mean <= 1.0)]
    return float(good.min() - opening) if len(good) else float("inf")


def _draw(run: Run, name: str, title: str, seen: Watched) -> None:
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


def _draw_clip(run: Run, clip: Clip) -> None:
    title = f"{clip.action.capitalize()} at minute {clip.minute:.2f}: {clip.moved} shards"
    slots = f"slot {clip.source}", f"slot {clip.target}"
    with run.figure(_FIGURES[clip.action], title, columns=2) as axes:
        for values, label in zip(clip.arrivals.T, slots, strict=True):
            axes[0, 0].plot(clip.time, values, lw=1, label=label)
        axes[0, 0].axhline(SPEED, color="k", lw=0.6, ls=":")
        axes[0, 0].set(xlabel="seconds after the decision", ylabel="rows per second")
        for values, label in zip(clip.latency.T, (*slots, "shards that move"), strict=True):
            axes[0, 1].plot(clip.time, values, lw=1, label=label)
        axes[0, 1].axhline(1.0, color="k", lw=0.6, ls=":")
        axes[0, 1].set(xlabel="seconds after the decision", ylabel="mean latency (s)")
        axes[0, 0].legend()
        axes[0, 1].legend()
