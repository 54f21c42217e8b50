"""``rheostat simulate``: check the arguments, then load the simulator and run a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat import extras
from rheostat.cli.options import Json
from rheostat.elastic.policies import POLICIES


def simulate(
    scenario: Annotated[
        Path, typer.Argument(help="A scenario as a TOML file; see scenarios/.", exists=True, dir_okay=False)
    ],
    policy: Annotated[
        str | None, typer.Option(help=f"Use this policy instead of the file's: {', '.join(POLICIES)}.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds to simulate, instead of the file's.", min=0.1)] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random numbers, instead of the file's.", min=0)] = None,
    plot: Annotated[Path | None, typer.Option(help="File for the figure, .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """Run a policy on a simulated cluster of any size, under any workload."""
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"{plot} must end in .svg or .png", param_hint="--plot")
    for package in ("numba", "matplotlib"):
        if not extras.installed(package):
            raise extras.missing(package, "'rheostat simulate'", "simulate")
    from rheostat.simulate.report import report  # noqa: PLC0415 - compiled loops and figures take long to load

    report(scenario, policy, seconds, seed, plot, as_json)
