"""``rheostat simulate``: run a scenario, print its figures, and draw them over time."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rheostat import plots
from rheostat.simulate.interval import Interval
from rheostat.simulate.scenario.scenario import Scenario
from rheostat.simulate.trace import Trace

_LISTED = 12  # decisions that are printed


def report(
    file: Path, policy: str | None, seconds: float | None, seed: int | None, plot: Path | None, as_json: bool
) -> None:
    """Run a scenario, draw its figure and print its results.

    Args:
        file: the scenario.
        policy: name of a policy to use instead of the file's.
        seconds: seconds to simulate instead of the file's.
        seed: seed instead of the file's.
        plot: file for the figure; by default in the folder ``reports``.
        as_json: True to print the figures as JSON, and everything else to stderr.
    """
    console = Console(stderr=as_json)
    scenario = Scenario.read(file, policy=policy, seconds=seconds, seed=seed)
    for note in scenario.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=as_json) as progress:
        bar = progress.add_task(scenario.title, total=scenario.seconds)

        def watch(interval: Interval) -> None:
            progress.update(bar, completed=interval.observation.time)

        trace = scenario.simulation().run(scenario.seconds, watch)
    path = plot or Path("reports") / f"{file.stem}-{scenario.policy.name}.svg"
    draw(scenario.title, trace, path)
    summary = trace.summary(scenario.warm_up)
    figures = {"scenario": file.stem, "policy": scenario.policy.name, **summary, "plot": str(path)}
    if as_json:
        # JSON has neither NaN nor infinity.
        print(json.dumps({k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in figures.items()}))
    else:
        show(figures, trace, console)


def show(figures: dict[str, object], trace: Trace, console: Console) -> None:
    """Print the figures and the last decisions."""
    table = Table(title=f"{figures['scenario']} under {figures['policy']}")
    table.add_column("")
    table.add_column("", justify="right")
    for name, value in figures.items():
        if isinstance(value, int | float):
            table.add_row(name.replace("_", " "), f"{value:,.4g}")
    console.print(table)
    for decision in trace.decisions[-_LISTED:]:
        before, after = decision.slots
        text = f"{decision.time:8.1f} s  {decision.operator}: {decision.action}, {before} to {after} slots"
        console.print(f"{text}, {decision.moved} shards move", highlight=False)
    if len(trace.decisions) > _LISTED:
        console.print(f"... and {len(trace.decisions) - _LISTED} earlier decisions", highlight=False)
    console.print(f"figure: {figures['plot']}", highlight=False, markup=False, soft_wrap=True)


def draw(title: str, trace: Trace, path: Path) -> None:
    """Draw rate, latency, slots and decisions over time."""
    with plots.figure(path, f"{title}: {trace.policy}", rows=3, width=8, height=1.9) as axes:
        rate, latency, slots = axes[:, 0]
        rate.plot(trace.time, trace.offered, label="offered", color="#999999")
        rate.plot(trace.time, trace.admitted, label="admitted")
        rate.set(ylabel="rows/s", ylim=(0, None))
        rate.legend(ncols=2, fontsize=7)
        latency.plot(trace.time, trace.latency * 1e3, label="mean")
        latency.plot(trace.time, trace.p99 * 1e3, label="99th percentile, first operator", lw=0.8)
        latency.set(ylabel="latency (ms)", yscale="log")
        latency.legend(ncols=2, fontsize=7)
        for name, count in trace.slots.items():
            slots.step(trace.time, count, where="post", label=name)
        for action, mark in (("scale out", "^"), ("balance", "o"), ("scale in", "v")):
            decisions = [d for d in trace.decisions if d.action == action]
            if decisions:
                times, heights = [d.time for d in decisions], [d.slots[1] for d in decisions]
                slots.plot(times, heights, mark, ms=3, alpha=0.6, color="#555555", label=action)
        slots.set(ylabel="slots", xlabel="seconds", ylim=(0, 1.1 * max(float(np.max(c)) for c in trace.slots.values())))
        if len(trace.slots) <= 6:
            slots.legend(ncols=4, fontsize=7)
