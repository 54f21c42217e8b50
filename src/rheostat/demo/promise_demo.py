"""``rheostat demo``: a promise about latency, under a load that surges, with fixed slots and with StreamSwitch."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.live import Live
from rich.markup import escape

import rheostat as rh
from rheostat.demo.promise_display import closing_table, decision_line, is_telling, side_view
from rheostat.demo.promise_job import surge, surging_rows, usual_slots
from rheostat.demo.promise_side import Moment, SideResult, run_promise_side
from rheostat.errors import SetupError
from rheostat.plots import figure
from rheostat.workloads.live_rows import LiveRows

PROMISE = rh.Latency("3 seconds", over="1 second")
"""Sixteen Python tasks on two cores take most of a second, before they do anything."""

FEWEST, MOST = 2, 12
"""The fewest and the most slots that StreamSwitch may use."""

_WARM_UP = 8  # seconds of rows that are not shown, in which Spark compiles and Python workers start


def run_promise_demo(seconds: int, picture: Path, console: Console) -> dict[str, Any]:
    """Run both sides, and return their figures as plain values.

    Args:
        seconds: length of each side.
        picture: where to draw latency and slots over time, .svg or .png.
        console: where to show everything.
    """
    rows = surging_rows(seconds)
    fixed = usual_slots(seconds)
    from rheostat.spark.session import end_session  # noqa: PLC0415 - PySpark takes long to load

    console.print("starting Spark ...")
    spark = rh.session("rheostat-demo", f"local[{MOST}]")
    with tempfile.TemporaryDirectory(prefix="rheostat-demo-") as folder:
        home = Path(folder)
        console.print("warming up ...")
        run_promise_side(spark, "warm-up", surging_rows(_WARM_UP), home / "warm", _show_nothing, slots=MOST)
        results = [
            _shown(spark, f"static, {fixed} slots", rows, home / "static", console, slots=fixed, policy="static"),
            _shown(
                spark, "StreamSwitch", rows, home / "streamswitch", console, slots=(FEWEST, MOST), policy="streamswitch"
            ),
        ]
        end_session(spark)
    console.print()
    console.print(closing_table(results, PROMISE))
    return {
        "promise": str(PROMISE),
        "static": results[0].to_dict(),
        "streamswitch": results[1].to_dict(),
        "picture": _draw(picture, results, seconds, console),
    }


def _shown(spark: Any, name: str, rows: LiveRows, home: Path, console: Console, **options: Any) -> SideResult:
    """Run one side with a live display; print every decision above it when it is made."""
    seconds = float(rows.times[-1])
    printed = 0
    console.print()
    with Live(console=console, refresh_per_second=4) as live:

        def show(query: rh.Query, moments: list[Moment], elapsed: float) -> None:
            nonlocal printed
            decisions = query.decisions()
            for decision in filter(is_telling, decisions[printed:]):
                live.console.print(escape(decision_line(decision, time.time() - elapsed)), highlight=False)
            printed = len(decisions)
            live.update(side_view(name, query.slo(), moments, elapsed, seconds, MOST))

        return run_promise_side(spark, name, rows, home, show, slo=PROMISE, **options)


def _show_nothing(query: rh.Query, moments: list[Moment], elapsed: float) -> None:
    """Show nothing of the warm-up."""


def _draw(path: Path, results: Sequence[SideResult], seconds: int, console: Console) -> str | None:
    """Draw load, latency and slots over time; return the file, or None if Matplotlib is not installed."""
    try:
        with figure(path, f"Promise: {PROMISE}", columns=2) as axes:
            latency, slots = cast(Any, axes[0, 0]), cast(Any, axes[0, 1])
            for result in results:
                times = [m.time for m in result.moments]
                latency.plot(times, [m.latency for m in result.moments], label=result.name)
                slots.step(times, [m.slots for m in result.moments], where="pre", label=result.name)
            latency.axhline(PROMISE.seconds, color="black", linestyle="--", linewidth=0.8, label="bound")
            slots.plot(range(seconds), surge(seconds), color="black", linestyle=":", linewidth=0.8, label="load")
            for axis, name in ((latency, "median latency, s"), (slots, "slots")):
                axis.set_xlabel("s")
                axis.set_ylabel(name)
                axis.set_ylim(bottom=0)
                axis.legend(fontsize=7)
    except SetupError as error:
        console.print(f"no picture: {error}", highlight=False)
        return None
    console.print(f"picture: {path}", highlight=False, soft_wrap=True)
    return str(path)
