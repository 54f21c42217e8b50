"""``rheostat simulate``: the arguments; the simulator itself is loaded when the command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat import extras
from rheostat.cli.options import Json
from rheostat.elastic.policies import POLICIES


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A TOML file; see scenarios/.", exists=True, dir_okay=False)],
    policy: Annotated[str | None, typer.Option(help=f"Instead of the file's: {', '.join(POLICIES)}.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulate so many seconds.", min=0.1)] = None,
    seed: Annotated[int | None, typer.Option(help="Everything random follows from it.", min=0)] = None,
    plot: Annotated[Path | None, typer.Option(help="Where the figure goes: .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """Run a policy on a simulated cluster: any workload, any size."""
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"{plot} ends in neither .svg nor .png", param_hint="--plot")
    for package in ("numba", "matplotlib"):
        if not extras.installed(package):
            raise extras.missing(package, "'rheostat simulate'", "simulate")
    from rheostat.simulate.report import report  # noqa: PLC0415 - compiled loops and figures take long to load

    report(scenario, policy, seconds, seed, plot, as_json)
