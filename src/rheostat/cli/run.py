"""``rheostat run``: run the topology in a file until it ends or is interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from rheostat.cli.options import File, load_topology

if TYPE_CHECKING:
    from rheostat import Progress


def run(
    file: File,
    checkpoint: Annotated[str, typer.Option(help="Folder for state and progress, as a path or URI.")],
    trigger: Annotated[
        str, typer.Option(help="Time between the starts of two epochs, or 'available now'.")
    ] = "0 seconds",
    slots: Annotated[int | None, typer.Option(help="Slots per component; the number of cores by default.")] = None,
    policy: Annotated[
        str | None, typer.Option(help="Policy that moves shards between slots: static (the default) or balance.")
    ] = None,
    master: Annotated[str, typer.Option(help="Spark master URL.")] = "local[*]",
) -> None:
    """Run a topology until it ends or is interrupted; the next run continues after the last committed epoch."""
    from rheostat.spark.session import session  # noqa: PLC0415 - PySpark takes long to load

    console = Console(stderr=True)
    spark = session(file.stem, master)
    query = load_topology(file, spark).start(
        checkpoint, trigger=trigger, slots=slots, policy=policy, on_progress=lambda p: show(p, console)
    )
    try:
        query.await_termination()
    except KeyboardInterrupt:
        query.stop()
    finally:
        spark.stop()


def show(progress: Progress, console: Console) -> None:
    """Print the progress of one epoch."""
    results = ", ".join(f"{name} {count:,}" for name, count in progress.results.items()) or "no results"
    console.print(
        f"epoch {progress.epoch}: {progress.rows:,} rows in {progress.seconds:.2f} s; {results}", highlight=False
    )
    for change in progress.changes:
        text = f"{change.kind} from {change.slots[0]} to {change.slots[1]} slots, {change.moved} shards moved"
        console.print(f"  {change.component}: {text} ({change.reason})", highlight=False)
    for component, text in progress.hot.items():
        console.print(f"  {component}: {text}", highlight=False)
