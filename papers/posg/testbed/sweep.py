"""POSG's sweeps: vary one parameter over many streams, as published and with our version, and draw the figures."""

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
"""Trials by the value of the parameter that is varied."""

NAMES = {"round robin": "round_robin", "POSG": "posg", "Full Knowledge": "full_knowledge"}
"""The groupings: the name in texts and figures, and the attribute of ``GroupingTrials``."""

SKEWS = {skew: f"Zipf {skew}" if skew else "uniform" for skew in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)}

"""Names of the distributions of items, by their skew."""

READ = "how slots are asked for their progress, and what empty sketch cells count as"
CHOSEN = f"{READ}; for our version, a warm start"
"""The ``chosen`` text of every claim about a sweep."""


@dataclass(frozen=True)
class Sweeps:
    """A sweep with both versions, on the same streams.

    Attributes:
        published: POSG as published, from a cold start.
        ours: our version, with a warm start.
    """

    published: Sweep
    ours: Sweep

    def each(self, judge: Callable[[Sweep], Judged]) -> list[Judged]:
        """Judge a claim on both versions."""
        return [judge(self.published), judge(self.ours)]


@dataclass(frozen=True)
class Point:
    """One point of a sweep.

    Attributes:
        setting: the setting to run.
        seed: seed of everything random.
        streams: number of streams to run it on.
    """

    setting: StreamSetting
    seed: int
    streams: int

    def trials(self) -> GroupingTrials:
        """Run all groupings on all streams."""
        return GroupingTrials.of([trial(self.setting, self.seed, number) for number in range(self.streams)])


def sweep(bench: Bench, title: str, settings: Mapping[float, StreamSetting]) -> Sweeps:
    """Run every setting on the same streams, from a cold start and from a warm start.

    Args:
        bench: where trials run.
        title: shown with the progress.
        settings: settings by the value of the varied parameter; ``warm`` is ignored.
    """
    run = bench.run
    both = [replace(setting, warm=warm) for warm in (False, True) for setting in settings.values()]
    points = [Point(setting, run.seed, _streams(run, setting)) for setting in both]
    trials = bench.each(title, Point.trials, points)
    cold, warm = trials[: len(settings)], trials[len(settings) :]
    return Sweeps(dict(zip(settings, cold, strict=True)), dict(zip(settings, warm, strict=True)))


def _streams(run: Run, setting: StreamSetting) -> int:
    """Return the number of streams; with uniform items gains are small, and more streams are needed to see them."""
    return 20 if run.quick and (setting.skew > 0 or not setting.warm) else 100


def mean_speedup(found: Sweep) -> float:
    """Return the mean speed-up over all values of the parameter."""
    return float(np.mean([t.speedup.mean() for t in found.values()]))


def draw_bars(axis: Any, labels: Sequence[str], found: Sweep) -> None:
    """Draw the three groupings side by side: mean, and smallest to largest over the streams."""
    for place, (name, of) in enumerate(NAMES.items()):
        x = np.arange(len(labels), dtype=np.float64) + (place - 1) * 0.22
        interval(axis, x, [getattr(t, of) for t in found.values()], name, place)
    axis.set_xticks(range(len(labels)), labels, rotation=45)
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper right", fontsize=7)


def interval(axis: Any, x: Floats, values: Sequence[Floats], name: str, colour: int, fmt: str = "o") -> None:
    """Draw means with bars from the smallest to the largest value."""
    mean = np.array([v.mean() for v in values])
    # The mean of equal values can differ from them in the last bit, and bars must not be negative.
    ends = np.array([[v.mean() - v.min(), v.max() - v.mean()] for v in values]).T.clip(min=0.0)
    axis.errorbar(x, mean, yerr=ends, fmt=fmt, ms=4, capsize=2, lw=1, label=name, color=COLOURS[colour])


def draw_completion(run: Run, name: str, title: str, label: str, found: Sweep) -> None:
    """Draw the completion times of round robin and POSG over the parameter, and write the table."""
    with run.figure(name, title) as axes:
        axis = axes[0, 0]
        for place, (series, of) in enumerate({"round robin": "round_robin", "POSG": "posg"}.items()):
            x = np.array(list(found)) * (1.0 + 0.06 * place)
            interval(axis, x, [getattr(t, of) for t in found.values()], series, place, "o-")
        axis.set(xlabel=label, ylabel="seconds", xscale="log", yscale="log")
        axis.legend()
    write(run, name, label, found)


def draw_speedup(run: Run, name: str, title: str, label: str, found: Sweep, logarithmic: bool = False) -> None:
    """Draw the speed-up of POSG over the parameter, and write the table."""
    with run.figure(name, title) as axes:
        axis = axes[0, 0]
        interval(axis, np.array(list(found)), [t.speedup for t in found.values()], "POSG over round robin", 1, "o-")
        axis.axhline(1.0, color=COLOURS[5], lw=0.8)
        axis.set(xlabel=label, ylabel="speed-up", **({"xscale": "log"} if logarithmic else {}))
        axis.legend()
    write(run, name, label, found)


def write(run: Run, name: str, label: str, found: Sweep) -> None:
    """Write mean, smallest and largest completion time of every grouping, and the same of the speed-up."""
    header = [label]
    for series in ("round_robin", "posg", "full_knowledge", "speedup"):
        header += [f"{series}_{what}" for what in ("mean", "min", "max")]
    rows = [
        [
            value,
            *(
                f"{f(v):.5f}"
                for v in (t.round_robin, t.posg, t.full_knowledge, t.speedup)
                for f in (np.mean, np.min, np.max)
            ),
        ]
        for value, t in found.items()
    ]
    run.table(name, header, rows)


def draw_both(
    draw: Callable[..., None], run: Run, name: str, title: str, label: str, found: Sweeps, **more: Any
) -> None:
    """Draw the figure for POSG as published, and again for our version."""
    draw(run, name, f"{title}, cold start", label, found.published, **more)
    draw(run, f"{name}_ours", f"{title}, warm start", label, found.ours, **more)
