"""Run the lending job on Rheostat with a live display, then on plain Spark, and print a table that compares them."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

import rheostat as rh
from rheostat.demo.figures import Figures, comparison, weighted_quantile
from rheostat.demo.lending_job import WINDOWS, lending, loan_stream
from rheostat.demo.native import run_native

_START_UP_SECONDS = 60.0  # at most, until the first epoch is committed, and again until one has rows
_REFRESH_SECONDS = 0.2  # between two updates of the display


def run_windows_demo(
    seconds: float, native_seconds: float, rows_per_second: int, speed: float, console: Console
) -> dict[str, Any]:
    """Run the demo and return its figures as plain values.

    Args:
        seconds: how long to run Rheostat, after its first epoch.
        native_seconds: how long to run plain Spark; 0 skips it.
        rows_per_second: loan applications generated per second.
        speed: seconds of event time per second of real time.
        console: where to show the progress and the table.
    """
    from rheostat.spark.session import end_session  # noqa: PLC0415 - PySpark takes long to load

    console.print("starting Spark ...")
    spark = rh.session("rheostat-demo")
    with tempfile.TemporaryDirectory(prefix="rheostat-demo-") as folder:
        scratch = Path(folder)
        ours, avoided = _run_rheostat(spark, rows_per_second, speed, seconds, scratch / "rheostat", console)
        native = None
        if native_seconds > 0:
            console.print()
            with Live(console=console, refresh_per_second=4) as live:

                def tick(elapsed: float) -> None:
                    live.update(_bar("the same job on Spark's own windows (ten queries)", elapsed, native_seconds))

                native = run_native(spark, rows_per_second, speed, native_seconds, scratch / "native", tick)
        end_session(spark)
    console.print()
    console.print(comparison(ours, native, avoided))
    return {"rheostat": ours.to_dict(), "native": native.to_dict() if native else None, "shuffles_avoided": avoided}


def _run_rheostat(
    spark: Any, rows_per_second: int, speed: float, seconds: float, scratch: Path, console: Console
) -> tuple[Figures, int]:
    """Run the job for some seconds; return its figures and how many shuffles fusion avoids."""
    topology, results = lending(loan_stream(spark, rows_per_second, speed))
    for name, stream in results.items():
        stream.sink(rh.sinks.parquet(str(scratch / "out" / name)))
    query = topology.start(str(scratch / "checkpoint"))
    query.await_epoch(0, timeout=_START_UP_SECONDS)  # do not show Spark compiling and Python workers starting
    start, skipped = time.monotonic(), len(query.progress)
    with Live(console=console, refresh_per_second=4) as live:
        while (elapsed := time.monotonic() - start) < seconds + _START_UP_SECONDS and query.is_active:
            if elapsed >= seconds and any(p.rows for p in query.progress[skipped:]):
                break  # on a busy machine an epoch may take longer than the whole demo
            live.update(_dashboard(query, elapsed, seconds))
            time.sleep(_REFRESH_SECONDS)
    elapsed = time.monotonic() - start
    query.stop()
    if (error := query.exception()) is not None:
        raise error
    view = query.view
    figures = _figures(query.progress[skipped:], elapsed, len(results), view.shuffles)
    return figures, view.unfused_shuffles - view.shuffles


def _figures(progress: list[rh.Progress], elapsed: float, operators: int, shuffles: int) -> Figures:
    steady = progress[len(progress) // 4 :]  # the first epochs still process the rows that arrived while Spark started
    return Figures(
        rows=sum(p.rows for p in progress),
        seconds=elapsed,
        epochs=len(progress),
        windows=sum(sum(p.results.values()) for p in progress),
        p50=_latency(steady, "p50", 0.5),
        p99=_latency(steady, "p99", 0.99),
        state_bytes=progress[-1].state_bytes if progress else 0,
        windows_per_row=operators * len(WINDOWS),
        shuffles=shuffles,
    )


def _latency(progress: list[rh.Progress], name: str, q: float) -> float:
    """Return a quantile over epochs of a quantile that each epoch measured, weighted by rows."""
    return weighted_quantile([(p.latency[name], float(p.rows)) for p in progress if p.latency], q)


def _dashboard(query: rh.Query, elapsed: float, seconds: float) -> Group:
    progress = query.progress
    table = Table.grid(padding=(0, 2))
    if progress:
        last = progress[-1]
        latency = _latency(progress[-10:], "p50", 0.5), _latency(progress[-10:], "p99", 0.99)
        lines: list[tuple[str, str]] = [
            ("epoch", f"{last.epoch}, {last.seconds:.2f} s"),
            ("rows", f"{sum(p.rows for p in progress):,}"),
            ("windows emitted", f"{sum(sum(p.results.values()) for p in progress):,}"),
            ("watermark", _clock(next(iter(last.watermarks.values()), None))),
            ("latency p50 / p99", f"{latency[0]:.2f} s / {latency[1]:.2f} s"),
            ("state", f"{last.state_bytes / 1024:,.0f} KB in {last.state_rows:,} partials"),
            ("late, dropped", f"{query.status.late:,}, {query.status.dropped:,}"),
        ]
        for name, value in lines:
            table.add_row(name, value)
    return Group(_bar("lending on Rheostat: 5 operators, 5 windows, event time sped up", elapsed, seconds), table)


def _bar(title: str, elapsed: float, seconds: float) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row(title, ProgressBar(total=seconds, completed=min(elapsed, seconds), width=30), f"{elapsed:.0f} s")
    return grid


def _clock(micros: int | None) -> str:
    return "-" if micros is None else datetime.fromtimestamp(micros / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
