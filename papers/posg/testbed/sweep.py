"""POSG's sweeps: one parameter varied over many streams, as published and with our version, and their pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers.claims import Judged
from papers.paper_run import Run
from papers.posg.testbed.streams import GroupingTrials, StreamSetting, trial
from papers.side_by_side import Bench
from rheostat.arrays import Floats
from rheostat.plots import COLOURS

Sweep = Mapping[float, GroupingTrials]
"""GroupingTrials by the value of the parameter that is varied."""

NAMES = {"round robin": "blind", "POSG": "posg", "Full Knowledge": "known"}
"""The groupings, as they are called and where ``GroupingTrials`` has them."""

SKEWS = {skew: f"Zipf {skew}" if skew else "uniform" for skew in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)}

TAUGHT = "ours: slots have learnt before"
READ = "how slots are asked, and what empty cells count as"
CHOSEN = f"{READ}; {TAUGHT}"
"""What was chosen after seeing results, for every claim of a sweep."""


@dataclass(frozen=True)
class Sweeps:
    """A parameter varied, on the same streams.

    Attributes:
        published: from a cold start.
        ours: once slots have learnt.
    """

    published: Sweep
    ours: Sweep

    def each(self, judge: Callable[[Sweep], Judged]) -> list[Judged]:
        """A claim judged on both."""
        return [judge(self.published), judge(self.ours)]


@dataclass(frozen=True)
class Point:
    """One setting to be tried.

    Attributes:
        setting: what is tried.
        seed: everything random follows from it.
        streams: on how many streams.
    """

    setting: StreamSetting
    seed: int
    streams: int

    def trials(self) -> GroupingTrials:
        """Try it."""
        return GroupingTrials.of([trial(self.setting, self.seed, number) for number in range(self.streams)])


def sweep(bench: Bench, title: str, settings: Mapping[float, StreamSetting]) -> Sweeps:
    """Trials of every setting on the same streams, from a cold start and once slots have learnt."""
    run = bench.run
    both = [replace(setting, taught=taught) for taught in (False, True) for setting in settings.values()]
    points = [Point(setting, run.seed, _streams(run, setting)) for setting in both]
    done = bench.each(title, Point.trials, points)
    cold, learnt = done[: len(settings)], done[len(settings) :]
    return Sweeps(dict(zip(settings, cold, strict=True)), dict(zip(settings, learnt, strict=True)))


def _streams(run: Run, setting: StreamSetting) -> int:
    """With uniform items, gains are small beside how much streams differ, so that more of them are needed."""
    return 20 if run.quick and (setting.skew > 0 or not setting.taught) else 100


def mean_speedup(found: Sweep) -> float:
    """Over all values of the parameter."""
    return float(np.mean([t.speedup.mean() for t in found.values()]))


def draw_bars(axis: Any, labels: Sequence[str], found: Sweep) -> None:
    """Mean, and smallest to largest over the streams, of the three groupings side by side."""
    for place, (name, of) in enumerate(NAMES.items()):
        x = np.arange(len(labels), dtype=np.float64) + (place - 1) * 0.22
        interval(axis, x, [getattr(t, of) for t in found.values()], name, place)
    axis.set_xticks(range(len(labels)), labels, rotation=45)
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper right", fontsize=7)


def interval(axis: Any, x: Floats, values: Sequence[Floats], name: str, colour: int, fmt: str = "o") -> None:
    """Means with bars from the smallest to the largest."""
    mean = np.array([v.mean() for v in values])
    # The mean of equal values may differ from them in the last bit.
    ends = np.array([[v.mean() - v.min(), v.max() - v.mean()] for v in values]).T.clip(min=0.0)
    axis.errorbar(x, mean, yerr=ends, fmt=fmt, ms=4, capsize=2, lw=1, label=name, color=COLOURS[colour])


def draw_completion(run: Run, name: str, title: str, label: str, found: Sweep) -> None:
    """Completion times of round robin and POSG over the parameter."""
    with run.figure(name, title) as axes:
        axis = axes[0, 0]
        for place, (series, of) in enumerate({"round robin": "blind", "POSG": "posg"}.items()):
            x = np.array(list(found)) * (1.0 + 0.06 * place)
            interval(axis, x, [getattr(t, of) for t in found.values()], series, place, "o-")
        axis.set(xlabel=label, ylabel="seconds", xscale="log", yscale="log")
        axis.legend()
    write(run, name, label, found)


def draw_speedup(run: Run, name: str, title: str, label: str, found: Sweep, logarithmic: bool = False) -> None:
    """Speed-up of POSG over the parameter."""
    with run.figure(name, title) as axes:
        axis = axes[0, 0]
        interval(axis, np.array(list(found)), [t.speedup for t in found.values()], "POSG over round robin", 1, "o-")
        axis.axhline(1.0, color=COLOURS[5], lw=0.8)
        axis.set(xlabel=label, ylabel="speed-up", **({"xscale": "log"} if logarithmic else {}))
        axis.legend()
    write(run, name, label, found)


def write(run: Run, name: str, label: str, found: Sweep) -> None:
    """Every mean, smallest and largest that the figure shows, and the speed-ups."""
    header = [label]
    for series in ("round_robin", "posg", "full_knowledge", "speedup"):
        header += [f"{series}_{what}" for what in ("mean", "min", "max")]
    rows = [
        [value, *(f"{f(v):.5f}" for v in (t.blind, t.posg, t.known, t.speedup) for f in (np.mean, np.min, np.max))]
        for value, t in found.items()
    ]
    run.table(name, header, rows)


def draw_both(
    draw: Callable[..., None], run: Run, name: str, title: str, label: str, found: Sweeps, **more: Any
) -> None:
    """The figure as published, and the same of our version."""
    draw(run, name, f"{title}, cold start", label, found.published, **more)
    draw(run, f"{name}_ours", f"{title}, once slots have learnt", label, found.ours, **more)
