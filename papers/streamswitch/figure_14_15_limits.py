"""StreamSwitch's figures 14 and 15: where the time that treatments take limits success (section 6.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from papers.claims import Claim, Judged, versions
from papers.paper_run import Run
from papers.side_by_side import Bench
from papers.streamswitch.testbed.named_policies import SWITCH, SWITCH_PLUS
from papers.streamswitch.testbed.waves import COST, SHORT_STOPS, Wave, WaveResult, events, mean, rate, run_wave, slots

SPEED = 10_000.0
WORKLOADS = ((10e3, 90.0), (20e3, 90.0), (30e3, 90.0), (30e3, 80.0), (30e3, 70.0))
"""(Amplitude in rows per second, period in seconds). The first and the last are the paper's; it prints no others."""

DELAYS = (0.5, 1.0, 1.5, 2.0)
"""Seconds added to every treatment in figure 15. The paper prints 1 and 2."""

SLOWER = 0.5
"""Seconds added to run figure 14 also with treatments as long as the paper's under its wildest workload."""

_PHASES = "Two minutes are not a whole number of waves: the mean rate is lower under the wildest workload in that time."
_ROOM = (
    "Ten minutes have room for 46 treatments of 13 s, which is fewer than the paper has without delay. They have room "
    "for about 170 of the 2.5 s that treatments take here, including our version's rest of a second. Far fewer are "
    "made, so a longer treatment does not hinder others. Rows that wait for it make slots late, and more treatments "
    "balance them."
)

Runs = Mapping[str, Sequence[WaveResult]]
"""Runs by the name of their workload."""


def reproduce(bench: Bench) -> list[Claim]:
    """Draw both figures and return their claims."""
    run = bench.run
    repeats, seconds = (1, 120.0) if run.quick else (2, 600.0)
    workloads, delays = (WORKLOADS[0::4], DELAYS[1::2]) if run.quick else (WORKLOADS, DELAYS)
    base = Wave("q5", SPEED, *WORKLOADS[0], seconds, 20.0 if run.quick else 60.0)
    waves = {_name(a, p): replace(base, amplitude=a, period=p) for a, p in workloads}
    slower = {f"{name}, slower": replace(wave, delay=SLOWER) for name, wave in waves.items()}
    longer = {f"+{delay:g} s": replace(base, delay=delay) for delay in delays}
    settings = {**waves, **slower, **longer}
    every = [
        (kind, name, replace(wave, kind=kind, seed=run.seed + i))
        for name, wave in settings.items()
        for kind in (SWITCH, SWITCH_PLUS)
        for i in range(repeats)
    ]
    done = bench.each("limits", run_wave, [wave for *_, wave in every])
    published, ours = (
        {name: [r for (k, n, _), r in zip(every, done, strict=True) if (k, n) == (kind, name)] for name in settings}
        for kind in (SWITCH, SWITCH_PLUS)
    )
    length = (
        f"{repeats} runs of 10 minutes each, where the paper has ten."
        if repeats > 1
        else "One run of 2 minutes each, where the paper has ten of 10 minutes."
    )
    calm = next(iter(waves))

    def parts(found: Runs) -> tuple[Runs, Runs, Runs]:
        delayed_runs = {"+0 s": found[calm], **{n: found[n] for n in longer}}
        return {n: found[n] for n in waves}, {n: found[n] for n in slower}, delayed_runs

    (calmer, slow, late), (our_calmer, our_slow, our_late) = parts(published), parts(ours)
    return [
        *dynamics(run, (calmer, slow), (our_calmer, our_slow), length),
        *delayed(run, late, our_late),
    ]


def dynamics(run: Run, published: tuple[Runs, Runs], ours: tuple[Runs, Runs], length: str) -> list[Claim]:
    """Draw figure 14, larger and faster waves, and return its claims.

    Args:
        run: the run.
        published: runs of the published version, by workload, as they are and with longer treatments.
        ours: the same of our version.
        length: how many runs there are and how long they are, in words.
    """
    for suffix, (waves, slower) in (("", published), ("_ours", ours)):
        _draw(run, f"fig14{suffix}", "Larger and faster waves, by amplitude and period", {**waves, **slower})
    both = published, ours
    harder = [_slots(waves) for waves, _ in both]
    first, last = _ends(published[0])
    took = [mean(published[0][n], _switch) for n in (first, last)]
    return [
        versions(
            "fig14-success",
            "success falls below 80% as the waves of the rate become larger and faster",
            "keeps decreasing, drops below 80%",
            (_success(*each) for each in both),
            chosen=COST,
            limit=SHORT_STOPS,
            detail=f"{length} A treatment takes {took[0]:.2f} s under the calmest and {took[1]:.2f} s under the "
            "wildest workload here, and 0.5 s and more than 1 s in the paper. The paper does not say why; waiting for "
            "barriers alone does not explain it.",
        ),
        versions(
            "fig14-decreasing",
            f"with {SLOWER:g} s added to every treatment, success is lower under the wildest workload than under the "
            "calmest",
            "keeps decreasing",
            (_decreasing(slower) for _, slower in both),
            note="With the added time, treatments take longer than 1 s, as the paper's do under the wildest workload.",
            chosen=f"{COST}; {SLOWER:g} s added to every treatment",
        ),
        versions(
            "fig14-slots",
            "more slots are used on average under the wildest workload than under the calmest",
            "the average number of executors increases",
            harder,
            note=_PHASES if run.quick and not harder[0][1] else "",
            chosen=COST,
        ),
        versions(
            "fig14-events",
            "the number of treatments at least doubles from the smallest to the largest amplitude",
            "from 60 to more than 130 in ten minutes",
            (_doubles(waves) for waves, _ in both),
            chosen=COST,
        ),
        versions(
            "fig14-seconds",
            "a treatment takes about 0.5 s under the calmest workload, and more than twice as long under the wildest",
            "around 0.5 s to a bit longer than 1 s",
            (_seconds(waves) for waves, _ in both),
            note="The 0.5 s were used to choose the cost of a treatment.",
            chosen=COST,
            limit=SHORT_STOPS,
        ),
        versions(
            "fig14-correlation",
            "over larger and faster waves, success and the share of time spent on treatments have a correlation below "
            "-0.5",
            "a clear negative correlation",
            (_related(*each) for each in both),
            note="Over the runs as they are and those with longer treatments together.",
            chosen=f"{COST}; {SLOWER:g} s added to every treatment in half of the runs",
        ),
    ]


def delayed(run: Run, published: Runs, ours: Runs) -> list[Claim]:
    """Draw figure 15, treatments that take longer, and return its claims; runs by seconds added."""
    for suffix, found in (("", published), ("_ours", ours)):
        _draw(run, f"fig15{suffix}", "Longer treatments, by seconds added", found)
    both = published, ours
    fewer = [_fewer(each) for each in both]
    return [
        versions(
            "fig15-amplified",
            "time added to every treatment makes it longer by more than twice that time, because backlogs delay the "
            "barriers",
            "6 s and 13 s after adding 1 s and 2 s",
            (_amplified(each) for each in both),
            chosen=COST,
            limit=SHORT_STOPS,
        ),
        versions(
            "fig15-slots",
            "time added to every treatment raises the number of slots by less than half",
            "does not increase much",
            (_steady(each) for each in both),
            chosen=COST,
        ),
        versions(
            "fig15-events",
            "there are fewer treatments if time is added to each",
            "even decreases",
            fewer,
            chosen=COST,
            limit=SHORT_STOPS,
            detail="" if fewer[0][1] else _ROOM,
        ),
        versions(
            "fig15-share",
            "the share of time spent on treatments grows with the time that is added to each",
            "increases monotonically",
            (_shares(each) for each in both),
            chosen=COST,
        ),
        versions(
            "fig15-correlation",
            "as time is added to every treatment, success falls, and its correlation with the share of time spent on "
            "treatments is below -0.5",
            "a clear negative correlation",
            (_falls(each) for each in both),
            chosen=COST,
        ),
    ]


def _success(waves: Runs, slower: Runs) -> Judged:
    a, b = (mean(waves[n], rate) for n in _ends(waves))
    c, d = (mean(slower[n], rate) for n in _ends(slower))
    return f"{a:.2%} to {b:.2%}; with {SLOWER:g} s added {c:.2%} to {d:.2%}", b < 0.8 and b < a


def _decreasing(slower: Runs) -> Judged:
    a, b = (mean(slower[n], rate) for n in _ends(slower))
    return f"{a:.2%} to {b:.2%}", b < a


def _slots(waves: Runs) -> Judged:
    used, (first, last) = _means(waves, slots), _ends(waves)
    return "; ".join(f"{n}: {x:.2f}" for n, x in used.items()), used[last] > used[first]


def _doubles(waves: Runs) -> Judged:
    many = _means(waves, events)
    wide = [n for n in waves if n.endswith("90 s")] if len(waves) > 2 else list(waves)
    return "; ".join(f"{n}: {many[n]:.0f}" for n in wide), many[wide[-1]] >= 2 * many[wide[0]]


def _seconds(waves: Runs) -> Judged:
    took, (first, last) = _means(waves, _switch), _ends(waves)
    words = "; ".join(f"{n}: {x:.2f} s" for n, x in took.items())
    return words, 0.4 < took[first] < 0.6 and took[last] > 2 * took[first]


def _related(waves: Runs, slower: Runs) -> Judged:
    every = {**waves, **slower}
    groups = {"all": every, "as they are": waves, "longer treatments": slower}
    related = {name: _correlation(runs) for name, runs in groups.items()}
    return "; ".join(f"{value:+.2f} ({name})" for name, value in related.items()), related["all"] < -0.5


def _amplified(found: Runs) -> Judged:
    took, (first, last) = _means(found, _switch), _ends(found)
    words = "; ".join(f"{n}: {x:.2f} s" for n, x in took.items())
    return words, took[last] - took[first] > 2 * float(last[1:-2])


def _steady(found: Runs) -> Judged:
    used, (first, _) = _means(found, slots), _ends(found)
    return "; ".join(f"{n}: {x:.2f}" for n, x in used.items()), max(used.values()) < 1.5 * used[first]


def _fewer(found: Runs) -> Judged:
    many, (first, last) = _means(found, events), _ends(found)
    return "; ".join(f"{n}: {x:.0f}" for n, x in many.items()), many[last] < many[first]


def _shares(found: Runs) -> Judged:
    share = _means(found, _share)
    words = "; ".join(f"{n}: {x:.1%}" for n, x in share.items())
    return words, all(a < b for a, b in pairwise(share.values()))


def _falls(found: Runs) -> Judged:
    success, (first, last), related = _means(found, rate), _ends(found), _correlation(found)
    words = "; ".join(f"{n}: {x:.2%}" for n, x in success.items()) + f"; correlation {related:+.2f}"
    return words, related < -0.5 and success[last] < success[first]


def _means(found: Runs, value: Callable[[WaveResult], float]) -> dict[str, float]:
    return {name: mean(each, value) for name, each in found.items()}


def _name(amplitude: float, period: float) -> str:
    return f"{amplitude / 1e3:g}K, {period:g} s"


def _ends(found: Runs) -> tuple[str, str]:
    names = list(found)
    return names[0], names[-1]


def _switch(found: WaveResult) -> float:
    return found.outcome.switch


def _share(found: WaveResult) -> float:
    return found.outcome.switching


def _correlation(found: Runs) -> float:
    """Return the correlation of success and the share of time spent on treatments; 0 if one of them is constant."""
    pairs = np.array([(_share(r), rate(r)) for each in found.values() for r in each])
    if len(pairs) < 2 or not (pairs.std(axis=0) > 0).all():
        return 0.0
    return float(np.corrcoef(pairs.T)[0, 1])


def _draw(run: Run, name: str, title: str, found: Runs) -> None:
    values: dict[str, Callable[[WaveResult], float]] = {
        "success (%)": rate,
        "slots": slots,
        "time on treatments (%)": _share,
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
