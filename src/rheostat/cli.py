"""The command line."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import rheostat as rh
from rheostat import inspecting
from rheostat.bench.commands import bench
from rheostat.demo.app import run_demo
from rheostat.reproduce.commands import reproduce
from rheostat.simulate.commands import simulate
from rheostat.state import inspection

app = typer.Typer(
    help="Elastic, fast, exactly-once streams on Apache Spark.", no_args_is_help=True, add_completion=False
)
app.add_typer(bench, name="bench")
app.command()(reproduce)
app.command()(simulate)

Json = Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object and nothing else.")]


def main() -> None:
    """Run the command line; errors meant for users are one sentence, without a traceback."""
    try:
        app()
    except rh.RheostatError as error:
        # A file's name is left in one piece: it is there to be copied.
        Console(stderr=True).print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)


@app.command()
def demo(
    seconds: Annotated[float, typer.Option(help="How long Rheostat runs.", min=5, max=60)] = 35,
    native_seconds: Annotated[float, typer.Option(help="How long plain Spark runs; 0 leaves it out.", min=0)] = 25,
    rows_per_second: Annotated[int, typer.Option(help="Loans made per second.", min=1)] = 20_000,
    speed: Annotated[float, typer.Option(help="Seconds of event time per second.", min=1)] = 3_600,
    as_json: Json = False,
) -> None:
    """Watch the lending job: five operators, five overlapping windows, on local Spark, then on Spark's own windows."""
    figures = run_demo(seconds, native_seconds, rows_per_second, speed, Console(stderr=as_json))
    if as_json:
        print(json.dumps(figures))


@app.command()
def explain(
    file: Annotated[Path, typer.Argument(help="A Python file with topology(spark).", exists=True, dir_okay=False)],
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid flowchart.")] = False,
) -> None:
    """Show how a topology would run: components, shuffles, how each window is derived."""
    spark = rh.session("rheostat-explain")
    print(_load(file, spark).explain("mermaid" if mermaid else "text"))
    spark.stop()


@app.command()
def inspect(
    checkpoint: Annotated[str, typer.Argument(help="A checkpoint's folder: a path or URI.")],
    as_json: Json = False,
) -> None:
    """Look into a checkpoint: epochs, routing, loads and sizes of shards, segments, who moved when and why."""
    found = inspection.inspect(checkpoint)
    if as_json:
        print(json.dumps(found))
    else:
        inspecting.show(found, Console())


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="A Python file with topology(spark).", exists=True, dir_okay=False)],
    checkpoint: Annotated[str, typer.Option(help="Folder for state and progress.")],
    trigger: Annotated[str, typer.Option(help="How often an epoch begins, or 'available now'.")] = "0 seconds",
    slots: Annotated[int | None, typer.Option(help="Tasks per component; as many as cores by default.")] = None,
    balance: Annotated[
        float | None, typer.Option(help="Keep the busiest slot within this multiple of the mean.")
    ] = None,
    master: Annotated[str, typer.Option(help="Spark master.")] = "local[*]",
) -> None:
    """Run a topology until it ends or is interrupted; started again, it goes on where it committed."""
    console = Console(stderr=True)
    spark = rh.session(file.stem, master)

    def show(p: rh.Progress) -> None:
        results = ", ".join(f"{name} {count:,}" for name, count in p.results.items()) or "no results"
        console.print(f"epoch {p.epoch}: {p.rows:,} rows in {p.seconds:.2f} s; {results}", highlight=False)
        for change in p.changes:
            text = f"{change.kind} from {change.slots[0]} to {change.slots[1]} slots, {change.moved} shards moved"
            console.print(f"  {change.component}: {text} ({change.reason})", highlight=False)
        for component, text in p.hot.items():
            console.print(f"  {component}: {text}", highlight=False)

    query = _load(file, spark).start(checkpoint, trigger=trigger, slots=slots, balance=balance, on_progress=show)
    try:
        query.await_termination()
    except KeyboardInterrupt:
        query.stop()
    finally:
        spark.stop()


def _load(file: Path, spark: Any) -> rh.Topology:
    """The topology that a file's ``topology(spark)`` returns."""
    make = runpy.run_path(str(file)).get("topology")  # not imported, so its functions travel to workers by value
    if not callable(make):
        raise rh.TopologyError(f"{file} defines no function topology(spark) that returns a rheostat.Topology")
    made = make(spark)
    if not isinstance(made, rh.Topology):
        raise rh.TopologyError(f"topology(spark) in {file} returned {type(made).__name__}, not a rheostat.Topology")
    return made


if __name__ == "__main__":
    main()
