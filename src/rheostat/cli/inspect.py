"""``rheostat inspect``: show the contents of a checkpoint as tables."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.options import Json

_LISTED = 8  # values that a cell lists
_DECISIONS = 50  # decisions and events that are shown; JSON has all of them


def inspect(
    checkpoint: Annotated[str, typer.Argument(help="Folder of the checkpoint, as a path or URI.")],
    as_json: Json = False,
) -> None:
    """Show the contents of a checkpoint: epochs, routing, load and size of shards, segments, decisions and why."""
    from rheostat.state import inspection  # noqa: PLC0415 - Arrow and Polars take long to load

    report = inspection.inspect(checkpoint)
    if as_json:
        print(json.dumps(report))
    else:
        show(report, Console())


def show(report: dict[str, Any], console: Console) -> None:
    """Print the report of ``rheostat.state.inspection.inspect`` as tables."""
    console.print(
        f"{report['checkpoint']}: epoch {report['epoch']}, {report['shards']} shards, format {report['format']}",
        highlight=False,
    )
    _print(console, "epochs", [
        ("epoch", "rows", "state rows", "state bytes", "segments", "written bytes", "folded", "slots"),
        *(
            (e["epoch"], e["rows"], e["state_rows"], e["state_bytes"], e["segments"], e["written_bytes"], e["folded"],
             ", ".join(f"{name}: {n}" for name, n in e["slots"].items()))
            for e in report["epochs"]
        ),
    ])  # fmt: skip
    _print(console, "components", [
        ("component", "slots", "shards per slot", "useful ms per slot", "busiest / mean", "busiest shards"),
        *(
            (name, c["slots"], _list(c["shards_per_slot"]), _list([round(s * 1000, 1) for s in c["seconds_per_slot"]]),
             c["imbalance"], _list([f"{b['shard']} ({b['seconds'] * 1000:.1f} ms)" for b in c["busiest_shards"][:3]]))
            for name, c in report["components"].items()
        ),
    ])  # fmt: skip
    _print(console, "tables", [
        ("table", "rows", "bytes", "segments", "by rank", "bytes per shard: mean", "largest (shard)"),
        *(
            (name, t["rows"], t["bytes"], len(t["segments"]),
             ", ".join(f"{n} of rank {r}" for r, n in t["segments_by_rank"].items()), t["shard_bytes"]["mean"],
             f"{t['shard_bytes']['largest']:,} ({t['shard_bytes']['largest_shard']})")
            for name, t in report["tables"].items()
        ),
    ])  # fmt: skip
    _print(console, "routing changes", [
        ("epoch", "component", "change", "slots", "shards moved", "busiest / mean", "reason"),
        *(
            (c["epoch"], c["component"], c["kind"], f"{c['slots'][0]} to {c['slots'][1]}", c["moved"],
             f"{c['imbalance'][0]} to {c['imbalance'][1]}", "; ".join(filter(None, (c["reason"], c.get("hot")))))
            for c in report["changes"]
        ),
    ])  # fmt: skip
    _print(console, "decisions", [
        ("epoch", "component", "decision", "by", "slots or nodes", "why", "expected", "outcome", "happened"),
        *(
            (d["epoch"], d["component"], d["action"], d["policy"], _numbers(d), _reasons(d),
             _latency_and_length(d["expected_latency"], d["expected_seconds"]), d["outcome"],
             _latency_and_length(d["latency"], d["seconds"]))
            for d in report["decisions"][-_DECISIONS:]
        ),
    ])  # fmt: skip
    _print(console, "events", [
        ("epoch", "time", "event", "what"),
        *(
            (e["epoch"], e["time"][:19], e["kind"], _what(e["values"]))
            for e in report["events"][-_DECISIONS:]
        ),
    ])  # fmt: skip


def _print(console: Console, title: str, rows: list[tuple[Any, ...]]) -> None:
    """Print a table whose first row is the header; print nothing if there are no other rows."""
    header, *body = rows
    if not body:
        return
    table = Table(title=title, title_justify="left")
    for name in header:
        table.add_column(name)
    for row in body:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else "" if v is None else str(v) for v in row))
    console.print(table)


def _numbers(decision: dict[str, Any]) -> str:
    """Return the number of slots before and after a decision, or of nodes if it is about them."""
    nodes = decision.get("nodes", [0, 0])
    before, after = nodes if nodes[1] else decision["slots"]
    text = f"{before} to {after}" if before != after else str(before)
    return f"{text} nodes" if nodes[1] else text


def _reasons(decision: dict[str, Any]) -> str:
    impossible = [] if decision["feasible"] else ["the promise cannot be kept"]
    return "; ".join([*impossible, *decision["reasons"]])


def _latency_and_length(latency: float | str | None, seconds: float | str | None) -> str:
    """Return the mean latency and the length of an epoch, as far as they are known."""
    named = ((latency, "latency"), (seconds, "epoch"))
    return ", ".join(f"{name} {float(value):.2f} s" for value, name in named if value is not None)


def _what(values: dict[str, Any]) -> str:
    """Return the values of an event in words, without tracebacks."""
    if "what" in values:
        return str(values["what"])
    return ", ".join(f"{name} {value}" for name, value in values.items() if value and name != "trace")


def _list(values: list[Any]) -> str:
    """Return the first values, and the number of all of them if there are more."""
    shown = ", ".join(str(v) for v in values[:_LISTED])
    return shown + (f", ... ({len(values)})" if len(values) > _LISTED else "")
