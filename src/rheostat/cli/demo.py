"""``rheostat demo``: the lending job live in the terminal."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from rheostat.cli.options import Json


def demo(
    seconds: Annotated[float, typer.Option(help="How long Rheostat runs.", min=5, max=60)] = 35,
    native_seconds: Annotated[float, typer.Option(help="How long plain Spark runs; 0 leaves it out.", min=0)] = 25,
    rows_per_second: Annotated[int, typer.Option(help="Loans made per second.", min=1)] = 20_000,
    speed: Annotated[float, typer.Option(help="Seconds of event time per second.", min=1)] = 3_600,
    as_json: Json = False,
) -> None:
    """Watch the lending job: five operators, five overlapping windows, on local Spark, then on Spark's own windows."""
    from rheostat.demo.app import run_demo  # noqa: PLC0415 - PySpark takes long to load

    figures = run_demo(seconds, native_seconds, rows_per_second, speed, Console(stderr=as_json))
    if as_json:
        print(json.dumps(figures))
