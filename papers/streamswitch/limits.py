"""StreamSwitch: what it cannot do, for the time that switching takes (section 6.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from papers.claims import Claim
from papers.run import Run
from papers.side_by_side import Bench
from papers.streamswitch.waves import NOTE, Ridden, Wave, events, mean, rate, ride, slots

SPEED = 10_000.0
WORKLOADS = ((10e3, 90.0), (20e3, 90.0), (30e3, 90.0), (30e3, 80.0), (30e3, 70.0))
"""Amplitude in rows per second, and period in seconds: the paper's ends, and ours between them."""

DELAYS = (0.5, 1.0, 1.5, 2.0)
"""Seconds added to every treatment. The paper prints 1 and 2."""

SLOWER = 0.5
"""Seconds added to show the first figure also with treatments as long as the paper's are under its worst workload."""

_PHASES = (
    "Two minutes are no whole number of waves: on average the rate is lower under the wildest of them in that time."
)
_RELIEVED = "Here slots are relieved before much waits for them, so barriers are rarely late."
_ROOM = (
    "Ten minutes have room for 46 treatments of 13 s, fewer than the paper has without delay, and for some 170 of "
    "those that take 2.5 s here, with the rest of a second; far fewer are made, so a longer one is in no other's way. "
    "What waits for it makes slots late, and more treatments balance them."
)

Found = Mapping[str, Sequence[Ridden]]


def reproduce(bench: Bench) -> list[Claim]:
    """Figures 14 and 15."""
    run = bench.run
    repeats, seconds = (1, 120.0) if run.quick else (2, 600.0)
    workloads, delays = (WORKLOADS[0::4], DELAYS[1::2]) if run.quick else (WORKLOADS, DELAYS)
    base = Wave("q5", SPEED, *WORKLOADS[0], seconds, 20.0 if run.quick else 60.0)
    waves = {_name(a, p): replace(base, amplitude=a, period=p) for a, p in workloads}
    slower = {f"{name}, slower": replace(wave, delay=SLOWER) for name, wave in waves.items()}
    longer = {f"+{delay:g} s": replace(base, delay=delay) for delay in delays}
    settings = {**waves, **slower, **longer}
    done = bench.each(
        "limits", ride, [replace(w, seed=run.seed + i) for w in settings.values() for i in range(repeats)]
    )
    found = {name: done[k * repeats : (k + 1) * repeats] for k, name in enumerate(settings)}
    length = (
        f"{repeats} runs of 10 minutes each, not ten." if repeats > 1 else "One run of 2 minutes each, not ten of 10."
    )
    calm = next(iter(waves))
    return [
        *dynamics(run, {n: found[n] for n in waves}, {n: found[n] for n in slower}, f"{NOTE} {length}"),
        *delayed(run, {"+0 s": found[calm], **{n: found[n] for n in longer}}),
    ]


def dynamics(run: Run, found: Found, slower: Found, note: str) -> list[Claim]:
    """Figure 14: larger and faster waves."""
    _draw(run, "fig14", "Larger and faster waves, by amplitude and period", {**found, **slower})
    first, last = _ends(found)
    success, used, many, took = (
        {n: mean(each, v) for n, each in found.items()} for v in (rate, slots, events, _switch)
    )
    slow = [mean(slower[n], rate) for n in _ends(slower)]
    wide = [n for n in found if n.endswith("90 s")] if len(found) > 2 else list(found)
    harder = used[last] > used[first]
    related = {"ours": _correlation(found), "longer": _correlation(slower), "both": _correlation({**found, **slower})}
    return [
        Claim(
            "fig14-success",
            "success falls below 80 % as waves become larger and faster",
            "keeps decreasing, drops below 80 %",
            f"{success[first]:.2%} to {success[last]:.2%}; if {SLOWER:g} s longer, {slow[0]:.2%} to {slow[1]:.2%}",
            success[last] < 0.8 and success[last] < success[first],
            f"{note} A treatment takes {took[first]:.2f} s at first and {took[last]:.2f} s in the end here, 0.5 s and "
            "more than 1 s in the paper, which does not say why; waiting for barriers alone does not explain it.",
        ),
        Claim(
            "fig14-decreasing",
            "larger and faster waves are harder",
            "keeps decreasing",
            f"{slow[0]:.2%} to {slow[1]:.2%} where treatments take longer than 1 s, as they do in the paper in the end",
            slow[1] < slow[0],
            "From the calmest to the wildest workload.",
        ),
        Claim(
            "fig14-slots",
            "larger and faster waves take more slots on average",
            "the average number of executors increases",
            "; ".join(f"{n}: {x:.2f}" for n, x in used.items()),
            harder,
            _PHASES if run.quick and not harder else "",
        ),
        Claim(
            "fig14-events",
            "the number of treatments at least doubles with the amplitude",
            "from 60 to more than 130 in ten minutes",
            "; ".join(f"{n}: {many[n]:.0f}" for n in wide),
            many[wide[-1]] >= 2 * many[wide[0]],
        ),
        Claim(
            "fig14-seconds",
            "a treatment takes about 0.5 s under the calmest workload, and twice as long under the wildest",
            "around 0.5 s to a bit longer than 1 s",
            "; ".join(f"{n}: {x:.2f} s" for n, x in took.items()),
            0.4 < took[first] < 0.6 and took[last] > 2 * took[first],
            f"The first is what the cost of switching on Flink was chosen by. {_RELIEVED}",
        ),
        Claim(
            "fig14-correlation",
            "success falls with the share of time that goes into switching",
            "a clear negative correlation",
            "; ".join(f"{name} {value:+.2f}" for name, value in related.items()),
            related["both"] < -0.5,
            "Correlation over all runs: with our treatments, longer ones, and both; clear: below -0.5 with both.",
        ),
    ]


def delayed(run: Run, found: Found) -> list[Claim]:
    """Figure 15: treatments that take longer."""
    _draw(run, "fig15", "Longer treatments, by seconds added", found)
    success, used, many, took, share = (
        {n: mean(each, v) for n, each in found.items()} for v in (rate, slots, events, _switch, _share)
    )
    first, last = _ends(found)
    related = _correlation(found)
    fewer = many[last] < many[first]
    return [
        Claim(
            "fig15-amplified",
            "seconds added to a treatment come back more than twice: backlogs delay the barriers",
            "6 s and 13 s after adding 1 s and 2 s",
            "; ".join(f"{n}: {x:.2f} s" for n, x in took.items()),
            took[last] - took[first] > 2 * float(last[1:-2]),
            _RELIEVED,
        ),
        Claim(
            "fig15-slots",
            "the number of slots grows by less than half with the delay",
            "does not increase much",
            "; ".join(f"{n}: {x:.2f}" for n, x in used.items()),
            max(used.values()) < 1.5 * used[first],
        ),
        Claim(
            "fig15-events",
            "there are fewer treatments with longer delays",
            "even decreases",
            "; ".join(f"{n}: {x:.0f}" for n, x in many.items()),
            fewer,
            "" if fewer else _ROOM,
        ),
        Claim(
            "fig15-share",
            "the share of time spent on switching grows with the delay",
            "increases monotonically",
            "; ".join(f"{n}: {x:.1%}" for n, x in share.items()),
            all(a < b for a, b in pairwise(share.values())),
        ),
        Claim(
            "fig15-correlation",
            "success falls as that share grows",
            "a clear negative correlation",
            "; ".join(f"{n}: {x:.2%}" for n, x in success.items()) + f"; correlation {related:+.2f}",
            related < -0.5 and success[last] < success[first],
        ),
    ]


def _name(amplitude: float, period: float) -> str:
    return f"{amplitude / 1e3:g}K, {period:g} s"


def _ends(found: Found) -> tuple[str, str]:
    names = list(found)
    return names[0], names[-1]


def _switch(found: Ridden) -> float:
    return found.outcome.switch


def _share(found: Ridden) -> float:
    return found.outcome.switching


def _correlation(found: Found) -> float:
    """Between success and the share of time spent on switching; 0 if one of them never changes."""
    pairs = np.array([(_share(r), rate(r)) for each in found.values() for r in each])
    if len(pairs) < 2 or not (pairs.std(axis=0) > 0).all():
        return 0.0
    return float(np.corrcoef(pairs.T)[0, 1])


def _draw(run: Run, name: str, title: str, found: Found) -> None:
    values: dict[str, Callable[[Ridden], float]] = {
        "success (%)": rate,
        "slots": slots,
        "time on switching (%)": _share,
        "treatments": events,
        "seconds of each": _switch,
    }
    header = ("setting", "success", "slots", "share of time", "treatments", "seconds")
    run.table(name, header, [(n, *(mean(each, v) for v in values.values())) for n, each in found.items()])
    with run.figure(name, title, columns=len(values), width=2.6) as axes:
        for column, (label, value) in enumerate(values.items()):
            factor = 100 if label.endswith("(%)") else 1
            axes[0, column].boxplot([[factor * value(r) for r in each] for each in found.values()], widths=0.6)
            axes[0, column].set_xticks(range(1, len(found) + 1), list(found), rotation=90, fontsize=6)
            axes[0, column].set(ylabel=label)
