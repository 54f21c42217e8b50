"""The figures of one run of the demo, and the table that compares two runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table


@dataclass(frozen=True)
class Figures:
    """The figures of one run.

    Attributes:
        rows: rows that all operators have processed.
        seconds: duration of the run.
        epochs: number of epochs, over all queries.
        windows: number of window results written.
        p50: median latency in seconds, from the creation of a row to the commit of its epoch.
        p99: 99th percentile of the same latency, in seconds.
        state_bytes: size of the state at the end.
        windows_per_row: number of windows that a row belongs to, over all operators.
        shuffles: number of shuffles per epoch.
    """

    rows: int
    seconds: float
    epochs: int
    windows: int
    p50: float
    p99: float
    state_bytes: int
    windows_per_row: int
    shuffles: int

    @property
    def rows_per_s(self) -> float:
        """Rows per second over the whole run."""
        return self.rows / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, for JSON."""
        return {**asdict(self), "rows_per_s": round(self.rows_per_s)}


def weighted_quantile(points: list[tuple[float, float]], q: float) -> float:
    """Return the smallest value such that values up to it have a share ``q`` of the weight; 0 if there are no points.

    Args:
        points: pairs of value and weight.
        q: share of the total weight, from 0 to 1.

    >>> weighted_quantile([(1.0, 9.0), (5.0, 1.0)], 0.5)
    1.0
    """
    total = sum(weight for _, weight in points)
    seen = 0.0
    for value, weight in sorted(points):
        seen += weight
        if seen >= q * total:
            return value
    return 0.0


def comparison(rheostat: Figures, native: Figures | None, shuffles_avoided: int) -> Table:
    """Return the table that compares the two runs.

    Args:
        rheostat: the run on Rheostat.
        native: the run on plain Spark; None leaves out its column.
        shuffles_avoided: shuffles per epoch that fusion avoids on Rheostat.
    """
    table = Table(title="lending: five operators, five windows")
    table.add_column("")
    table.add_column("Rheostat", justify="right")
    if native is not None:
        table.add_column("Spark native", justify="right")
    rows: list[tuple[str, Any]] = [
        ("rows", lambda f: f"{f.rows:,}"),
        ("rows/s", lambda f: f"{f.rows_per_s:,.0f}"),
        ("epochs", lambda f: f"{f.epochs:,}"),
        ("windows emitted", lambda f: f"{f.windows:,}"),
        ("latency p50", lambda f: f"{f.p50:.2f} s"),
        ("latency p99", lambda f: f"{f.p99:.2f} s"),
        ("state", lambda f: f"{f.state_bytes / 1024:,.0f} KB"),
        ("windows per row", lambda f: f"{f.windows_per_row}"),
        ("shuffles per epoch", lambda f: f"{f.shuffles}"),
    ]
    for name, show in rows:
        table.add_row(name, show(rheostat), *([show(native)] if native is not None else []))
    table.add_row("shuffles avoided by fusion", f"{shuffles_avoided}", *(["-"] if native is not None else []))
    return table
