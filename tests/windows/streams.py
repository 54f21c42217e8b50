"""Random streams cut into epochs, the state they leave in memory, and the windows that should result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl
from hypothesis import strategies as st

from rheostat.windows.close import MergedGranule, close
from rheostat.windows.consolidation import ConsolidationPlan
from rheostat.windows.lateness import place
from rheostat.windows.partials import ROW_COUNT, ROWS, Column, Extreme, Total
from rheostat.windows.window import Window
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.windows.builders import containing

GRANULE, START = "granule", "start"
TOTAL, MAXIMUM = Total("sum(x)", "bigint", "", ""), Extreme("max", "x", "bigint")
KEY = Column("k.area", "string")
EXACT = WindowLayout((KEY,), (ROW_COUNT, TOTAL))
MERGED = WindowLayout((KEY,), (ROW_COUNT, TOTAL, MAXIMUM))
HASHES = {"a": 5, "b": -(2**62), None: 2**62}


@dataclass(frozen=True)
class Row:
    """A row of a stream."""

    time: int
    key: str | None
    value: int


Epoch = list[Row]
Value = tuple[int, ...]
"""Count, sum and, if the layout has it, maximum."""

Results = dict[tuple[Window, int], dict[str | None, Value]]
"""By window and start, one value per key."""


@st.composite
def epochs(draw: st.DrawFn) -> list[Epoch]:
    """Epochs that mostly go forward in time, with rows out of order, leaps over many panes, and nothing at all."""
    result: list[Epoch] = []
    now = draw(st.integers(-30, 30))
    for _ in range(draw(st.integers(1, 6))):
        now += draw(st.one_of(st.integers(0, 8), st.integers(0, 60)))
        times = st.one_of(st.integers(now - 4, now + 4), st.integers(now - 30, now + 15))
        rows = st.builds(Row, times, st.sampled_from(list(HASHES)), st.integers(-5, 5))
        result.append(draw(st.lists(rows, max_size=8)))
    return result


def watermarks(stream: Sequence[Epoch], slack: int) -> list[int | None]:
    """The watermark at the end of every epoch: newest event time so far minus the slack."""
    marks: list[int | None] = []
    newest: int | None = None
    for rows in stream:
        newest = max((t for t in (newest, *(r.time for r in rows)) if t is not None), default=None)
        marks.append(None if newest is None else newest - slack)
    return marks


def aggregate(rows: Iterable[Row], layout: WindowLayout) -> dict[str | None, Value]:
    """One value per key, by definition."""
    by_key: dict[str | None, list[int]] = defaultdict(list)
    for row in rows:
        by_key[row.key].append(row.value)
    if layout is EXACT:
        return {key: (len(values), sum(values)) for key, values in by_key.items()}
    return {key: (len(values), sum(values), max(values)) for key, values in by_key.items()}


def expected(stream: Sequence[Epoch], slack: int, windows: Iterable[Window], layout: WindowLayout) -> list[Results]:
    """What every epoch should emit.

    A window instance is emitted in the first epoch whose watermark reaches its end, with the rows that had arrived by
    the end of that epoch; never again, and not at all if there were none.
    """
    marks = watermarks(stream, slack)
    results: list[Results] = [{} for _ in stream]
    for window in windows:
        for start in sorted({s for rows in stream for r in rows for s in containing(window, r.time)}):
            end = start + window.size
            closes = next((e for e, mark in enumerate(marks) if mark is not None and mark >= end), None)
            if closes is None:
                continue
            arrived = [r for rows in stream[: closes + 1] for r in rows if start <= r.time < end]
            if arrived:
                results[closes][window, start] = aggregate(arrived, layout)
    return results


def partials(rows: Epoch, plan: ConsolidationPlan, layout: WindowLayout) -> pl.DataFrame:
    """What Spark makes of an epoch's rows: one partial per pane and key."""
    schema = {START: pl.Int64, HASH: pl.Int64, KEY.name: pl.String, ROWS: pl.Int64, TOTAL.columns[0].name: pl.Int64}
    if layout is MERGED:
        schema[MAXIMUM.columns[0].name] = pl.Int64
    by_pane: dict[int, Epoch] = defaultdict(list)
    for row in rows:
        (pane,) = containing(plan.pane, row.time)
        by_pane[pane].append(row)
    return pl.DataFrame(
        [(pane, HASHES[k], k, *v) for pane, inside in by_pane.items() for k, v in aggregate(inside, layout).items()],
        schema=schema,
        orient="row",
    )


def placed(new: pl.DataFrame, plan: ConsolidationPlan, layout: WindowLayout, before: int | None) -> pl.DataFrame:
    """The partials at all their homes, each key once per home."""
    homes = [(s, g, h) for s in new[START].unique().to_list() for g, h in place(plan, s, before).homes]
    where = pl.DataFrame(homes, schema={START: pl.Int64, GRANULE: pl.Int16, "home": pl.Int64}, orient="row")
    moved = new.join(where, on=START).drop(START).rename({"home": START})
    return layout.merge(moved, within=[GRANULE, START])


@dataclass
class Memory:
    """State as the runtime keeps it, in a dictionary: frames per granule instance, oldest first."""

    plan: ConsolidationPlan
    layout: WindowLayout
    held: dict[tuple[int, int], list[pl.DataFrame]] = field(default_factory=lambda: defaultdict(list))

    def keys(self) -> list[tuple[int, int]]:
        return list(self.held)

    def count(self, granule: int, start: int) -> int:
        return sum(len(f) for f in self.rows(granule, start))

    def rows(self, granule: int, start: int) -> list[pl.DataFrame]:
        return list(self.held.get((granule, start), ()))

    def rows_of(self, granule: int, start: int, hashes: npt.NDArray[np.int64]) -> list[pl.DataFrame]:
        frames = [f.filter(pl.col(HASH).is_in(hashes.tolist())) for f in self.rows(granule, start)]
        return [f for f in frames if len(f)]

    def take_in(self, new: pl.DataFrame, before: int | None) -> None:
        """Add an epoch's partials where they belong."""
        rows = placed(new, self.plan, self.layout, before)
        for (granule, start), part in rows.partition_by(GRANULE, START, as_dict=True).items():
            self.held[granule, start].append(part.drop(GRANULE, START))

    def close(self, before: int | None, after: int) -> Iterator[MergedGranule]:
        """Close windows and store what others will be made from."""
        closed = list(close(self, self.layout, self.plan, before, after))
        for c in closed:
            if self.plan.keeps(c.granule, c.start, after):
                self.held[c.granule, c.start].append(c.frame)
        return iter(closed)

    def expire(self, watermark: int) -> None:
        """Drop what nobody needs any more."""
        for key in [k for k in self.held if self.plan.expiry(*k) <= watermark]:
            del self.held[key]


def results_of(closed: Iterable[MergedGranule], plan: ConsolidationPlan, layout: WindowLayout) -> Results:
    """Emitted windows in the form of the expectation; an instance or a key that comes twice is an error."""
    results: Results = {}
    columns = [c.name for p in layout.partials for c in p.columns]
    for c in closed:
        if plan.granules[c.granule].requested:
            key = plan.granules[c.granule].window, c.start
            values = c.frame.select(KEY.name, *columns).rows()
            assert key not in results
            assert len({v[0] for v in values}) == len(values)
            results[key] = {v[0]: v[1:] for v in values}
    return results
