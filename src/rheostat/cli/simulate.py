"""``rheostat simulate``: check the arguments, then load the simulator and run a scenario or replay a recorded run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat import extras
from rheostat.cli.options import Json
from rheostat.elastic.policies import POLICIES


def simulate(
    scenario: Annotated[
        Path | None, typer.Argument(help="A scenario as a TOML file; see scenarios/.", exists=True, dir_okay=False)
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            help="Replay this recorded run of Spark instead of a scenario; start(record=...) makes one.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Use this policy instead of the file's: {', '.join(POLICIES)}. With --replay, give it several times "
            "to compare."
        ),
    ] = None,
    slots: Annotated[
        list[int] | None,
        typer.Option(help="With --replay: a fixed number of slots to compare; may be given several times.", min=1),
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(help="With --replay: largest mean latency, as in '1 second', instead of the recorded promise."),
    ] = None,
    over: Annotated[str, typer.Option(help="With --slo: length of the promise's window.")] = "1 second",
    warm_up: Annotated[
        float | None, typer.Option(help="With --replay: seconds from the start of the query that do not count.", min=0)
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds to simulate, instead of the file's.", min=0.1)] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random numbers, instead of the file's.", min=0)] = None,
    plot: Annotated[Path | None, typer.Option(help="File for the figure, .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """Run a policy on a simulated cluster of any size, or over a recorded run of Spark."""
    only_replay: dict[str, object] = {"--slots": slots, "--slo": slo, "--warm-up": warm_up}
    _check(scenario, replay, policy or [], only_replay, {"--seconds": seconds, "--seed": seed})
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"{plot} must end in .svg or .png", param_hint="--plot")
    for package in ("numba", "matplotlib"):
        if not extras.installed(package):
            raise extras.missing(package, "'rheostat simulate'", "simulate")
    if replay is not None:
        from rheostat.elastic.model.promise import Latency  # noqa: PLC0415 - NumPy and figures take long to load
        from rheostat.simulate.replay.replay_report import replay_report  # noqa: PLC0415

        promise = None if slo is None else Latency(slo, over=over)
        replay_report(replay, policy or [], slots or [], promise, plot, as_json, warm_up or 0.0)
    elif scenario is not None:
        from rheostat.simulate.report import report  # noqa: PLC0415 - compiled loops and figures take long to load

        report(scenario, policy[0] if policy else None, seconds, seed, plot, as_json)


def _check(
    scenario: Path | None,
    replay: Path | None,
    policies: list[str],
    of_replay: dict[str, object],
    of_scenario: dict[str, object],
) -> None:
    """Raise an error unless there is either a scenario or a recorded run, with options that belong to it."""
    if (scenario is None) == (replay is None):
        raise typer.BadParameter("give either a scenario or --replay with a recorded run", param_hint="SCENARIO")
    if replay is None and len(policies) > 1:
        raise typer.BadParameter("a scenario runs one policy: give it once", param_hint="--policy")
    others, needs = (of_replay, "--replay") if replay is None else (of_scenario, "a scenario")
    for name, value in others.items():
        if value is not None:
            raise typer.BadParameter(f"it belongs to {needs}", param_hint=name)
