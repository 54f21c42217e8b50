"""Late rows: a row is lost only for windows that have been emitted before it came, never for one that is still open.

Windows consist of whole panes, so lateness is decided per pane. The rule that keeps derived windows right: a granule
that has been put together and stored always holds exactly the rows of its panes. So a late partial is added to its pane
*and* to every stored granule that already contains that pane.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.windows.consolidation import PANE, ConsolidationPlan


@dataclass(frozen=True)
class PanePlacement:
    """What happens to the rows of one pane.

    Attributes:
        late: some window that contains the pane was already emitted.
        dropped: late, and no window that contains it is still open.
        homes: the granule instances (number, start) the rows are added to.
    """

    late: bool
    dropped: bool
    homes: tuple[tuple[int, int], ...]


def place(plan: ConsolidationPlan, pane_start: int, watermark: int | None) -> PanePlacement:
    """Where rows of a pane belong when the windows that end at or before ``watermark`` have been emitted.

    >>> from rheostat.windows.consolidation import plan_consolidation
    >>> from rheostat.windows.window import Window
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
    late, open_ = False, False
    for granule in plan.granules:
        window = granule.window
        first, last = window.earliest_start(pane_start), window.latest_start(pane_start)
        if granule.requested and first <= last:
            late |= first + window.size <= watermark
            open_ |= last + window.size > watermark
    homes = [(PANE, pane_start)] if plan.expiry(PANE, pane_start) > watermark else []
    if late or plan.pane.size + pane_start <= watermark:
        homes += _stored_around(plan, pane_start, watermark)
    return PanePlacement(late, late and not open_, tuple(homes))


def _stored_around(plan: ConsolidationPlan, pane_start: int, watermark: int) -> list[tuple[int, int]]:
    """The stored granules, already put together, that contain the pane and that someone will still read."""
    return [
        (number, start)
        for number, granule in enumerate(plan.granules)
        if number != PANE and granule.stored
        for start in granule.window.containing(pane_start)
        if start + granule.window.size <= watermark < plan.expiry(number, start)
    ]
