"""Late rows: which rows have missed a window, and which windows they still count for.

A row is late if some requested window that contains it was emitted before the row came. It is lost for that window
only, never for one that is still open. ``late_before`` is the one definition: tasks place partials by it (``place``),
and Spark finds the rows to keep aside by it (``late_sql``).

Windows consist of whole panes, so partials are placed pane by pane. The rule that keeps derived windows right: a stored
granule always holds exactly the rows of its panes. So a late partial is added to its pane *and* to every stored granule
that already contains that pane.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rheostat.windows.consolidation import PANE, ConsolidationPlan
from rheostat.windows.window import Window


@dataclass(frozen=True)
class PanePlacement:
    """What happens to the rows of one pane.

    Attributes:
        late: True if some window that contains the pane was already emitted.
        dropped: True if the pane is late and no window that contains it is still open.
        homes: the granule instances (number, start) the rows are added to.
    """

    late: bool
    dropped: bool
    homes: tuple[tuple[int, int], ...]


def late_before(window: Window, watermark: int) -> int:
    """The end of the window's last instance that a watermark has closed: a row before it that is in a window is late.

    >>> late_before(Window(size=60, slide=20), watermark=110)  # [40, 100) is closed, [60, 120) is open
    100
    """
    return window.latest_start(watermark - window.size) + window.size


def place(plan: ConsolidationPlan, pane_start: int, watermark: int | None) -> PanePlacement:
    """Where rows of a pane belong when the windows that end at or before ``watermark`` have been emitted.

    >>> from rheostat.windows.consolidation import plan_consolidation
    >>> plan = plan_consolidation([Window(10, 10), Window(30, 30)])
    >>> place(plan, 40, watermark=25)
    PanePlacement(late=False, dropped=False, homes=((0, 40),))
    >>> place(plan, 0, watermark=25)  # the 10 is gone, the 30 still open
    PanePlacement(late=True, dropped=False, homes=((0, 0),))
    >>> place(plan, 0, watermark=30)
    PanePlacement(late=True, dropped=True, homes=())
    """
    if watermark is None:
        return PanePlacement(late=False, dropped=False, homes=((PANE, pane_start),))
    around = [w for w in plan.requested if w.covers(pane_start)]
    late = any(pane_start < late_before(w, watermark) for w in around)
    still_open = any(w.latest_start(pane_start) + w.size > watermark for w in around)
    homes = [(PANE, pane_start)] if plan.expiry(PANE, pane_start) > watermark else []
    if late or plan.pane.size + pane_start <= watermark:
        homes += _stored_around(plan, pane_start, watermark)
    return PanePlacement(late, late and not still_open, tuple(homes))


def late_sql(time_sql: str, windows: Iterable[Window], watermark: int) -> str:
    """Spark SQL that is true for late rows; the same as ``place(...).late`` for the row's pane.

    Args:
        time_sql: Spark SQL for a row's event time in microseconds.
        windows: the requested windows.
        watermark: the watermark up to which windows have been emitted.

    >>> late_sql("t", [Window(10, 10), Window(30, 30)], watermark=25)
    't < 20L'
    >>> late_sql("t", [Window(1, 5, 2)], watermark=25)  # rows between windows belong to none
    't < 23L AND pmod(t - 2L, 5L) < 1L'
    """
    chosen = sorted(set(windows))
    seamless = [late_before(w, watermark) for w in chosen if not w.has_gaps]
    conditions = [f"{time_sql} < {max(seamless)}L"] if seamless else []
    conditions += [
        f"{time_sql} < {late_before(w, watermark)}L AND pmod({time_sql} - {w.offset}L, {w.slide}L) < {w.size}L"
        for w in chosen
        if w.has_gaps
    ]
    return " OR ".join(f"({c})" for c in conditions) if len(conditions) > 1 else "".join(conditions) or "false"


def _stored_around(plan: ConsolidationPlan, pane_start: int, watermark: int) -> list[tuple[int, int]]:
    """The stored granules that contain the pane and will still be read."""
    return [
        (number, start)
        for number, granule in enumerate(plan.granules)
        if number != PANE and granule.stored
        for start in granule.window.containing(pane_start)
        if start + granule.window.size <= watermark < plan.expiry(number, start)
    ]
