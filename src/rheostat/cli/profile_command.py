"""``rheostat profile``: learn what the operators of a topology cost, for ELYSIUM's policies."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rheostat.cli.options import File, Json, load_topology, parse_slots

if TYPE_CHECKING:
    from rheostat.spark.profile_run import ProfileRun, SweepStep


def profile(
    file: File,
    checkpoint: Annotated[
        str, typer.Option(help="Checkpoint of the query, as a path or URI; the profile becomes its profile.json.")
    ],
    seconds: Annotated[float, typer.Option(help="Length of the phase, after the first epoch.", min=1.0)] = 60.0,
    slots: Annotated[str, typer.Option(help="The fewest and most slots to try, as in 1-4.")] = "1-4",
    history: Annotated[
        Path | None,
        typer.Option(help="A recorded load to learn thresholds from: CSV with rows per second, or a recording."),
    ] = None,
    nodes: Annotated[str, typer.Option(help="The fewest and most nodes that thresholds are learned for.")] = "1-8",
    master: Annotated[str, typer.Option(help="Spark master URL.")] = "local[*]",
    as_json: Json = False,
) -> None:
    """Learn what the operators of a topology cost: rows that reach them, seconds per row and task, memory.

    The topology runs on its own sources. Nothing is written to its sinks, and its checkpoint gets a profile and nothing
    else. Policies elysium and elysium-proactive begin with the profile and go on learning.
    """
    from rheostat.elastic.elysium.live.live_policy import PERIOD  # noqa: PLC0415 - takes long to load
    from rheostat.spark.profile_keeper import past_loads  # noqa: PLC0415
    from rheostat.spark.profile_run import profile_topology, with_thresholds  # noqa: PLC0415
    from rheostat.spark.session import end_session, session  # noqa: PLC0415

    tried, offered = _pair(slots, "--slots"), _pair(nodes, "--nodes")
    recorded = None if history is None else past_loads(history, PERIOD)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    spark = session(file.stem, master)
    try:
        topology = load_topology(file, spark)
        with Progress(*columns, console=console, transient=True, disable=as_json) as bar:
            task = bar.add_task("waiting for rows", total=1.0)

            def step(phase: SweepStep, share: float) -> None:
                text = f"{phase.slots} slots" if phase.share == 1.0 else f"{phase.slots} slots, {phase.share:.0%} rows"
                bar.update(task, completed=share, description=text)

            run = profile_topology(topology, checkpoint, seconds=seconds, slots=tried, step=step)
        if recorded is not None:
            run = with_thresholds(checkpoint, topology, run, recorded, offered)
    finally:
        end_session(spark)
    figures = _figures(run)
    if as_json:
        print(json.dumps(figures))
    else:
        show(figures, Console())


def show(figures: dict[str, Any], console: Console) -> None:
    """Print a profile as a table."""
    table = Table("component", "rows per source row", "rows/s of a slot", "ms per task", "computing", "memory", "error")
    for name, found in figures["operators"].items():
        table.add_row(
            name,
            _number(found["selectivity"], "{:.3g}"),
            _number(found["slot_rows_per_s"], "{:,.0f}"),
            _number(found["task_seconds"], "{:.1f}", 1000),
            _number(found["computing_share"], "{:.0%}"),
            _number(found["memory_bytes"], "{:,.0f} MB", 1e-6),
            _number(found["error"], "{:.0%}"),
        )
    console.print(table)
    console.print(
        f"{figures['epochs']} epochs, {figures['rows']:,} rows in {figures['seconds']:.0f} s; "
        f"an epoch costs {_number(figures['epoch_seconds'], '{:.2f}')} s without rows",
        highlight=False,
    )
    for message in figures["messages"]:
        console.print(message, highlight=False)


def _figures(run: ProfileRun) -> dict[str, Any]:
    from rheostat.spark.profile_run import figures_of  # noqa: PLC0415 - PySpark takes long to load

    known = run.profile
    return {
        "operators": {name: figures_of(found) for name, found in known.operators.items() if found.known},
        "epochs": run.epochs,
        "rows": run.rows,
        "seconds": round(run.seconds, 3),
        "epoch_seconds": None if isnan(known.overhead) else round(known.overhead, 4),
        "cpu_max": None if known.thresholds is None else known.thresholds.cpu_max,
        "messages": list(run.messages),
    }


def _pair(text: str, option: str) -> tuple[int, int]:
    """Return the range that an option gives."""
    found = parse_slots(text)
    pair = found if isinstance(found, tuple) else (1, found or 1)
    if not 1 <= pair[0] <= pair[1]:
        raise typer.BadParameter(f"{text!r}: pass the fewest and the most, as in 1-4", param_hint=option)
    return pair


def _number(value: float | None, form: str, factor: float = 1.0) -> str:
    return "-" if value is None else form.format(value * factor)
