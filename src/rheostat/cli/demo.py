"""``rheostat demo``: run the lending job and show it live in the terminal."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from rheostat.cli.options import Json


def demo(
    seconds: Annotated[float, typer.Option(help="Seconds to run Rheostat.", min=5, max=60)] = 35,
    native_seconds: Annotated[float, typer.Option(help="Seconds to run plain Spark; 0 skips it.", min=0)] = 25,
    rows_per_second: Annotated[int, typer.Option(help="Loan applications generated per second.", min=1)] = 20_000,
    speed: Annotated[float, typer.Option(help="Seconds of event time per second.", min=1)] = 3_600,
    as_json: Json = False,
) -> None:
    """Run the lending job (five operators, five windows) on local Spark: with Rheostat, then with plain Spark."""
    from rheostat.demo.app import run_demo  # noqa: PLC0415 - PySpark takes long to load

    figures = run_demo(seconds, native_seconds, rows_per_second, speed, Console(stderr=as_json))
    if as_json:
        print(json.dumps(figures))
