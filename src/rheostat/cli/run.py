"""``rheostat run``: run the topology in a file until it ends or is interrupted."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from rheostat.cli.options import File, load_topology, parse_slots
from rheostat.elastic.loop.decision import ACCEPTED, Decision
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import POLICIES

if TYPE_CHECKING:
    from rheostat import Progress


def run(
    file: File,
    checkpoint: Annotated[str, typer.Option(help="Folder for state and progress, as a path or URI.")],
    trigger: Annotated[
        str, typer.Option(help="Time between the starts of two epochs, or 'available now'.")
    ] = "0 seconds",
    slots: Annotated[
        str | None,
        typer.Option(help="Slots per component: a number, or the fewest and most for a policy, as in 1-16."),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="Spark executors: a number, or the fewest and most, as in 1-8. By default those there are."),
    ] = None,
    slo: Annotated[str | None, typer.Option(help="Promise: the largest mean latency, as in '1 second'.")] = None,
    over: Annotated[str, typer.Option(help="Length of the sliding window of the promise.")] = "1 second",
    policy: Annotated[
        str | None,
        typer.Option(help=f"Policy: {', '.join(POLICIES)}. The default is streamswitch with --slo, else static."),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="A recorded load for the forecasts of elysium-proactive: CSV, or a recording."),
    ] = None,
    master: Annotated[str, typer.Option(help="Spark master URL.")] = "local[*]",
) -> None:
    """Run a topology until it ends or is interrupted; the next run continues after the last committed epoch."""
    from rheostat.spark.session import end_session, session  # noqa: PLC0415 - PySpark takes long to load

    console = Console(stderr=True)
    promise = None if slo is None else Latency(slo, over=over)
    wanted, executors = parse_slots(slots), parse_slots(nodes, "--nodes")
    spark = session(file.stem, master)
    query = load_topology(file, spark).start(
        checkpoint,
        trigger=trigger,
        slots=wanted,
        nodes=NodeRange(*executors) if isinstance(executors, tuple) else executors,
        slo=promise,
        policy=policy,
        history=history,
        on_progress=lambda p: show(p, console),
    )
    try:
        query.await_termination()
    except KeyboardInterrupt:
        query.stop()
    finally:
        end_session(spark)


def show(progress: Progress, console: Console) -> None:
    """Print the progress of one epoch."""
    results = ", ".join(f"{name} {count:,}" for name, count in progress.results.items()) or "no results"
    kept = f"; promise kept {progress.success_rate:.1%}" if isfinite(progress.success_rate) else ""
    console.print(
        f"epoch {progress.epoch}: {progress.rows:,} rows in {progress.seconds:.2f} s; {results}{kept}", highlight=False
    )
    for decision in progress.decisions:
        console.print(f"  {describe(decision)}", highlight=False)
    if progress.policy_failure:
        console.print(f"  policy left out: {progress.policy_failure}", highlight=False)
    for component, text in progress.hot.items():
        console.print(f"  {component}: {text}", highlight=False)


def describe(decision: Decision) -> str:
    """Return a decision as one line: what, by whom, why, and what is expected."""
    before, after = decision.slots
    change = f"{decision.action} from {before} to {after} slots" if before != after else decision.action
    if decision.nodes[1]:
        change = f"{decision.action} from {decision.nodes[0]} to {decision.nodes[1]} nodes"
    text = f"{change}, {decision.moved} shards moved" if decision.moved else change
    subject = f"{decision.component}: {text}" if decision.component else text
    reasons = [*([] if decision.feasible else ["the promise cannot be kept"]), *decision.reasons]
    if isfinite(decision.expected_latency):
        reasons.append(f"expected latency {decision.expected_latency:.2f} s")
    refused = "" if decision.outcome in (ACCEPTED, "said") else f", {decision.outcome}"
    return f"{subject} by {decision.policy}{refused} ({'; '.join(reasons)})"
