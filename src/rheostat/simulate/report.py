"""What ``rheostat simulate`` does: run a scenario, print its figures, and draw them over time."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rheostat import plots
from rheostat.simulate.continuous.engine import Interval
from rheostat.simulate.scenario.scenario import Scenario
from rheostat.simulate.trace import Trace

_LISTED = 12


def report(
    file: Path, policy: str | None, seconds: float | None, seed: int | None, plot: Path | None, as_json: bool
) -> None:
    """Run a scenario, and print and draw what came of it."""
    console = Console(stderr=as_json)
    chosen = Scenario.read(file, policy=policy, seconds=seconds, seed=seed)
    for note in chosen.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=as_json) as progress:
        bar = progress.add_task(chosen.title, total=chosen.seconds)

        def watch(seen: Interval) -> None:
            progress.update(bar, completed=seen.observation.time)

        trace = chosen.simulation().run(chosen.seconds, watch)
    path = plot or Path("reports") / f"{file.stem}-{chosen.policy.name}.svg"
    draw(chosen.title, trace, path)
    found = {"scenario": file.stem, "policy": chosen.policy.name, **trace.summary(chosen.warm_up), "plot": str(path)}
    if as_json:
        # JSON has no word for what is not a number or without end.
        print(json.dumps({k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in found.items()}))
    else:
        show(found, trace, console)


def show(found: dict[str, object], trace: Trace, console: Console) -> None:
    """The figures and the last decisions."""
    table = Table(title=f"{found['scenario']} under {found['policy']}")
    table.add_column("")
    table.add_column("", justify="right")
    for name, value in found.items():
        if isinstance(value, int | float):
            table.add_row(name.replace("_", " "), f"{value:,.4g}")
    console.print(table)
    for decision in trace.decisions[-_LISTED:]:
        before, after = decision.slots
        text = f"{decision.time:8.1f} s  {decision.operator}: {decision.action}, {before} to {after} slots"
        console.print(f"{text}, {decision.moved} shards move", highlight=False)
    if len(trace.decisions) > _LISTED:
        console.print(f"... and {len(trace.decisions) - _LISTED} decisions before these", highlight=False)
    console.print(f"drawn in {found['plot']}", highlight=False, markup=False, soft_wrap=True)


def draw(title: str, trace: Trace, path: Path) -> None:
    """Rate, latency, slots and decisions over time."""
    with plots.figure(path, f"{title}: {trace.policy}", rows=3, width=8, height=1.9) as axes:
        rate, latency, slots = axes[:, 0]
        rate.plot(trace.time, trace.offered, label="offered", color="#999999")
        rate.plot(trace.time, trace.admitted, label="admitted")
        rate.set(ylabel="rows/s", ylim=(0, None))
        rate.legend(ncols=2, fontsize=7)
        latency.plot(trace.time, trace.latency * 1e3, label="mean")
        latency.plot(trace.time, trace.p99 * 1e3, label="99 in 100, first operator", lw=0.8)
        latency.set(ylabel="latency (ms)", yscale="log")
        latency.legend(ncols=2, fontsize=7)
        for name, count in trace.slots.items():
            slots.step(trace.time, count, where="post", label=name)
        for action, mark in (("scale out", "^"), ("balance", "o"), ("scale in", "v")):
            chosen = [d for d in trace.decisions if d.action == action]
            if chosen:
                times, heights = [d.time for d in chosen], [d.slots[1] for d in chosen]
                slots.plot(times, heights, mark, ms=3, alpha=0.6, color="#555555", label=action)
        slots.set(ylabel="slots", xlabel="seconds", ylim=(0, 1.1 * max(float(np.max(c)) for c in trace.slots.values())))
        if len(trace.slots) <= 6:
            slots.legend(ncols=4, fontsize=7)
