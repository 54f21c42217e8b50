"""What ``rheostat demo`` shows: the state of a side, its decisions, and the table at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table

import rheostat as rh
from rheostat.demo.promise_side import Moment, SideResult, is_change

_WIDTH = 30  # characters of a bar
_RECENT = 3  # epochs that the figures in the display come from


def side_view(title: str, slo: rh.Slo, moments: Sequence[Moment], elapsed: float, seconds: float, most: int) -> Group:
    """Return the live view of a side.

    Args:
        title: what runs.
        slo: how well the promise has been kept so far.
        moments: its epochs so far.
        elapsed: seconds since the first row.
        seconds: seconds of the whole side.
        most: the most slots, for the bar.
    """
    head = Table.grid(padding=(0, 2))
    head.add_row(title, ProgressBar(total=seconds, completed=min(elapsed, seconds), width=_WIDTH), f"{elapsed:.0f} s")
    table = Table.grid(padding=(0, 2))
    recent = moments[-_RECENT:]
    if recent:
        last = recent[-1]
        known = [m.latency for m in recent if not math.isnan(m.latency)]
        lines = [
            ("promise kept", f"{percent(slo.success_rate)} of the time ({slo.promise})"),
            ("latency now", f"{sum(known) / len(known):.2f} s" if known else "-"),
            ("rows/s", f"{sum(m.rows for m in recent) / sum(m.seconds for m in recent):,.0f}"),
            ("epoch", f"{last.seconds:.2f} s"),
            ("slots", f"{'#' * last.slots}{'.' * (most - last.slots)} {last.slots}"),
        ]
        for name, value in lines:
            table.add_row(f"  {name}", value)
    return Group(head, table)


def is_telling(decision: rh.Decision) -> bool:
    """True for a decision that changes something, or says that the promise cannot be kept."""
    return is_change(decision) or not decision.feasible


def decision_line(decision: rh.Decision, begin: float) -> str:
    """Return a decision in words, with the first of its reasons.

    Args:
        decision: the decision.
        begin: when the side began, in seconds since 1970.
    """
    before, after = decision.slots
    what = f"{decision.action}, {before} -> {after} slots" if before != after else decision.action
    why = decision.reasons[0].partition("; ")[0] if decision.reasons else ""
    return f"  {decision.time.timestamp() - begin:5.1f} s  {what}: {why}"


def closing_table(results: Sequence[SideResult], promise: rh.Latency) -> Table:
    """Return the table that compares the sides."""
    table = Table(title=f"promise: {promise}")
    table.add_column("")
    for result in results:
        table.add_column(result.name, justify="right")
    lines = [
        ("promise kept", [f"{percent(r.slo.success_rate)} of the time" for r in results]),
        ("latency p50", [_seconds(r.slo.p50) for r in results]),
        ("latency p99", [_seconds(r.slo.p99) for r in results]),
        ("slots, mean", [f"{r.slo.mean_slots:.1f}" for r in results]),
        ("slot-seconds", [f"{r.slo.slot_seconds:,.0f}" for r in results]),
        ("rows committed", [f"{r.slo.rows:,.0f}" for r in results]),
        ("changes of the plan", [f"{r.changes}" for r in results]),
    ]
    for name, values in lines:
        table.add_row(name, *values)
    return table


def percent(share: float) -> str:
    """Return a share in per cent; a dash if it is unknown.

    >>> percent(0.954), percent(float("nan"))
    ('95 %', '-')
    """
    return "-" if math.isnan(share) else f"{share * 100:.0f} %"


def _seconds(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} s"
