"""``rheostat demo``: a promise kept under a surge; ``rheostat demo windows``: the lending job beside plain Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rheostat.cli.options import Json

EXAMPLE = "rheostat demo --seconds 30"
WINDOWS_EXAMPLE = "rheostat demo windows --seconds 20"

app = typer.Typer(invoke_without_command=True, epilog=f"Example: {EXAMPLE}")


@app.callback()
def demo(
    context: typer.Context,
    seconds: Annotated[int, typer.Option(help="Seconds of each of the two sides.", min=10, max=600)] = 40,
    picture: Annotated[Path, typer.Option(help="Where to draw latency and slots, .svg or .png.")] = Path(
        "rheostat-demo.svg"
    ),
    as_json: Json = False,
) -> None:
    """Keep a promise about latency under a load that surges: fixed slots, then StreamSwitch, on local Spark."""
    if context.invoked_subcommand is not None:
        return
    from rheostat.demo.promise_demo import run_promise_demo  # noqa: PLC0415 - PySpark takes long to load

    if picture.suffix not in (".svg", ".png"):
        raise typer.BadParameter("choose a file that ends with .svg or .png", param_hint="--picture")
    figures = run_promise_demo(seconds, picture, Console(stderr=as_json))
    if as_json:
        print(json.dumps(figures))


@app.command(epilog=f"Example: {WINDOWS_EXAMPLE}")
def windows(
    seconds: Annotated[float, typer.Option(help="Seconds to run Rheostat.", min=5, max=60)] = 35,
    native_seconds: Annotated[float, typer.Option(help="Seconds to run plain Spark; 0 skips it.", min=0)] = 25,
    rows_per_second: Annotated[int, typer.Option(help="Loan applications generated per second.", min=1)] = 20_000,
    speed: Annotated[float, typer.Option(help="Seconds of event time per second.", min=1)] = 3_600,
    as_json: Json = False,
) -> None:
    """Run the lending job (five operators, five windows) on local Spark: with Rheostat, then with plain Spark."""
    from rheostat.demo.windows_demo import run_windows_demo  # noqa: PLC0415 - PySpark takes long to load

    figures = run_windows_demo(seconds, native_seconds, rows_per_second, speed, Console(stderr=as_json))
    if as_json:
        print(json.dumps(figures))
