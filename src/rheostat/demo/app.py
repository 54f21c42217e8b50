"""``rheostat demo``: the lending job live for half a minute, then on plain Spark, then both in a table."""

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

_START_UP = 20.0  # seconds the first epoch may take


def run_demo(
    seconds: float, native_seconds: float, rows_per_second: int, speed: float, console: Console
) -> dict[str, Any]:
    """Run both; the figures as plain values. ``native_seconds=0`` leaves plain Spark out."""
    console.print("starting Spark ...")
    spark = rh.session("rheostat-demo")
    with tempfile.TemporaryDirectory(prefix="rheostat-demo-") as folder:
        scratch = Path(folder)
        ours, avoided = _run_rheostat(spark, rows_per_second, speed, seconds, scratch / "rheostat", console)
        native = None
        if native_seconds > 0:
            console.print()
            with Live(console=console, refresh_per_second=4) as live:

                def tick(gone: float) -> None:
                    live.update(_bar("the same job on Spark's own windows (ten queries)", gone, native_seconds))

                native = run_native(spark, rows_per_second, speed, native_seconds, scratch / "native", tick)
        spark.stop()
    console.print()
    console.print(comparison(ours, native, avoided))
    return {"rheostat": ours.to_dict(), "native": native.to_dict() if native else None, "shuffles_avoided": avoided}


def _run_rheostat(
    spark: Any, rows_per_second: int, speed: float, seconds: float, scratch: Path, console: Console
) -> tuple[Figures, int]:
    topology, results = lending(loan_stream(spark, rows_per_second, speed))
    for name, stream in results.items():
        stream.sink(rh.sinks.parquet(str(scratch / "out" / name)))
    query = topology.start(str(scratch / "checkpoint"))
    query.await_epoch(0, timeout=_START_UP)  # Spark compiles, Python workers start: not what is to be shown
    began, skipped = time.monotonic(), len(query.progress)
    with Live(console=console, refresh_per_second=4) as live:
        while (gone := time.monotonic() - began) < seconds and query.is_active:
            live.update(_dashboard(query, gone, seconds))
            time.sleep(0.2)
    elapsed = time.monotonic() - began
    query.stop()
    if (error := query.exception()) is not None:
        raise error
    view = query.view
    figures = _figures(query.progress[skipped:], elapsed, len(results), view.shuffles)
    return figures, view.unfused_shuffles - view.shuffles


def _figures(progress: list[rh.Progress], elapsed: float, operators: int, shuffles: int) -> Figures:
    steady = progress[len(progress) // 4 :]  # the first epochs still work off what came while Spark started
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
    return weighted_quantile([(p.latency[name], float(p.rows)) for p in progress if p.latency], q)


def _dashboard(query: rh.Query, gone: float, seconds: float) -> Group:
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
    return Group(_bar("lending on Rheostat: 5 operators, 5 windows, event time sped up", gone, seconds), table)


def _bar(title: str, gone: float, seconds: float) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row(title, ProgressBar(total=seconds, completed=min(gone, seconds), width=30), f"{gone:.0f} s")
    return grid


def _clock(micros: int | None) -> str:
    return "-" if micros is None else datetime.fromtimestamp(micros / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
