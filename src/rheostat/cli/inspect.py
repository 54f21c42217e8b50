"""``rheostat inspect``: show the contents of a checkpoint as tables."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.options import Json

_LISTED = 8  # values that a cell lists


def inspect(
    checkpoint: Annotated[str, typer.Argument(help="Folder of the checkpoint, as a path or URI.")],
    as_json: Json = False,
) -> None:
    """Show the contents of a checkpoint: epochs, routing, load and size of shards, segments, and why shards moved."""
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


def _list(values: list[Any]) -> str:
    """Return the first values, and the number of all of them if there are more."""
    shown = ", ".join(str(v) for v in values[:_LISTED])
    return shown + (f", ... ({len(values)})" if len(values) > _LISTED else "")
