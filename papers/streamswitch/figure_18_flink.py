"""StreamSwitch's figure 18: the same trading day on Flink (section 6.7)."""

from __future__ import annotations

from papers.claims import Claim, Judged, versions
from papers.paper_run import Run
from papers.streamswitch.figure_05_policies import CHOSEN
from papers.streamswitch.figure_06_decisions import draw
from papers.streamswitch.testbed.clips import Watched
from papers.streamswitch.testbed.named_policies import FLINK, SAMZA, words

Pair = tuple[Watched, Watched]
"""As published, and ours."""


def claims(run: Run, samza: Pair, flink: Pair) -> list[Claim]:
    """The figure, and what is claimed of it."""
    draw(run, "fig18", "Switch(0.2) over the trading day on Flink", flink[0])
    draw(run, "fig18_ours", "Switch+(0.2) over the trading day on Flink", flink[1])
    success = [_success(*each) for each in zip(flink, samza, strict=True)]
    opened = [float(seen.slots[(seen.time > 7200) & (seen.time <= 7440)].mean()) for seen in (flink[0], samza[0])]
    weigh = ", which weigh more in a quick run" if run.quick else ""
    return [
        versions(
            "fig18-success",
            "on Flink, Switch(0.2) succeeds slightly less often than on Samza, with about as many slots",
            "95.24 % with 8.39 beside 96.28 % with 8.40",
            success,
            note="Slightly: by less than 3 %; about: within 10 %.",
            chosen=f"{CHOSEN}, cost of a treatment ({SAMZA:g} s, {FLINK:g} s on Flink)",
            detail=f"On Samza two slots stand still for {SAMZA:g} s and the transfer of state; on Flink for {FLINK:g} "
            "s and the transfer, after a barrier has passed all rows that wait for them. Where barriers wait behind "
            f"the rows of an opening, slots come later: {opened[0]:.1f} and {opened[1]:.1f} of them in the first four "
            f"minutes of the second{weigh}.",
        ),
        versions(
            "fig18-opening",
            "after the second opening it takes longer on Flink until latency is within the bound",
            "a longer time to recover from the spike at 120 min",
            (_opening(*each) for each in zip(flink, samza, strict=True)),
            note="Until the mean latency of five seconds is within 1 s. Barriers wait behind the rows of the opening.",
            chosen=CHOSEN,
        ),
    ]


def _success(flink: Watched, samza: Watched) -> Judged:
    here, there = flink.traded.outcome, samza.traded.outcome
    slightly, about = there.rate - 0.03 < here.rate < there.rate, abs(here.slots / there.slots - 1) < 0.1
    return f"{words(here)} beside {words(there)}", slightly and about


def _opening(flink: Watched, samza: Watched) -> Judged:
    here, there = (_recovery(seen, 120.0) for seen in (flink, samza))
    return f"{here:.1f} and {there:.1f} minutes", here > there


def _recovery(seen: Watched, opening: float) -> float:
    """Minutes after an opening until mean latency is within 1 s; infinite if it never is."""
    minute = seen.time / 60
    good = minute[(minute > opening + 0.2) & (seen.mean <= 1.0)]
    return float(good.min() - opening) if len(good) else float("inf")
