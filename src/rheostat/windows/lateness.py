"""Late rows: which rows have missed a window, and which windows they still count for.

A row is late if some requested window that contains it was emitted before the row arrived. It is missing in that window
only; windows that are still open include it. ``late_before`` defines this in one place: ``place`` uses it for partials
in tasks, ``late_sql`` to find the rows that a source keeps aside.

Windows consist of whole panes, so partials are placed pane by pane. Windows that are merged from others are right
because a stored granule always holds exactly the rows of its panes: a late partial is added to its pane *and* to every
stored granule that already contains that pane.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rheostat.windows.consolidation import PANE, ConsolidationPlan
from rheostat.windows.window import Window


@dataclass(frozen=True)
class PanePlacement:
    """Where the rows of a pane are added.

    Attributes:
        late: True if some window that contains the pane has been emitted already.
        dropped: True if the pane is late and no window that contains it is still open.
        homes: the granule instances that the rows are added to, as (number, start).
    """

    late: bool
    dropped: bool
    homes: tuple[tuple[int, int], ...]


def late_before(window: Window, watermark: int) -> int:
    """The end of the last instance that a watermark has closed. Rows of the window that are earlier than this are late.

    >>> late_before(Window(size=60, slide=20), watermark=110)  # [40, 100) is closed, [60, 120) is open
    100
    """
    return window.latest_start(watermark - window.size) + window.size


def place(plan: ConsolidationPlan, pane_start: int, watermark: int | None) -> PanePlacement:
    """Where the rows of a pane are added.

    Args:
        plan: how the windows are derived.
        pane_start: start of the pane, in microseconds.
        watermark: windows that end at or before it have been emitted; None if none has.

    >>> from rheostat.windows.consolidation import plan_consolidation
    >>> plan = plan_consolidation([Window(10, 10), Window(30, 30)])
    >>> place(plan, 40, watermark=25)
    PanePlacement(late=False, dropped=False, homes=((0, 40),))
    >>> place(plan, 0, watermark=25)  # [0, 10) has been emitted, [0, 30) is open
    PanePlacement(late=True, dropped=False, homes=((0, 0),))
    >>> place(plan, 0, watermark=30)
    PanePlacement(late=True, dropped=True, homes=())
    """
    if watermark is None:
        return PanePlacement(late=False, dropped=False, homes=((PANE, pane_start),))
    containing = [w for w in plan.requested if w.covers(pane_start)]
    late = any(pane_start < late_before(w, watermark) for w in containing)
    still_open = any(w.latest_start(pane_start) + w.size > watermark for w in containing)
    homes = [(PANE, pane_start)] if plan.expiry(PANE, pane_start) > watermark else []
    if late or plan.pane.size + pane_start <= watermark:
        homes += _stored_containing(plan, pane_start, watermark)
    return PanePlacement(late, late and not still_open, tuple(homes))


def late_sql(time_sql: str, windows: Iterable[Window], watermark: int) -> str:
    """Spark SQL that is true for late rows; it agrees with ``place(...).late`` for the row's pane.

    Args:
        time_sql: Spark SQL for a row's event time in microseconds.
        windows: the requested windows.
        watermark: windows that end at or before it have been emitted.

    >>> late_sql("t", [Window(10, 10), Window(30, 30)], watermark=25)
    't < 20L'
    >>> late_sql("t", [Window(1, 5, 2)], watermark=25)  # rows between windows belong to none
    't < 23L AND pmod(t - 2L, 5L) < 1L'
    """
    distinct = sorted(set(windows))
    without_gaps = [late_before(w, watermark) for w in distinct if not w.has_gaps]
    conditions = [f"{time_sql} < {max(without_gaps)}L"] if without_gaps else []
    conditions += [
        f"{time_sql} < {late_before(w, watermark)}L AND pmod({time_sql} - {w.offset}L, {w.slide}L) < {w.size}L"
        for w in distinct
        if w.has_gaps
    ]
    return " OR ".join(f"({c})" for c in conditions) if len(conditions) > 1 else "".join(conditions) or "false"


def _stored_containing(plan: ConsolidationPlan, pane_start: int, watermark: int) -> list[tuple[int, int]]:
    """The stored granule instances that contain the pane and will be read again."""
    return [
        (number, start)
        for number, granule in enumerate(plan.granules)
        if number != PANE and granule.stored
        for start in granule.window.containing(pane_start)
        if start + granule.window.size <= watermark < plan.expiry(number, start)
    ]
