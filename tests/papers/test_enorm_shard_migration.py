"""Migrations in the middle of a stream: the windows must be those of a stream that nobody disturbed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.enorm.testbed.migration_costs import Strategy
from papers.enorm.testbed.shard_migration import Migration, MigrationOutcome, Rows, run
from rheostat.errors import TopologyError
from rheostat.planning.enorm.splitting import Form
from rheostat.windows.close import close
from rheostat.windows.consolidation import plan_consolidation
from rheostat.windows.partials import ROW_COUNT, ROWS, Column, Total
from rheostat.windows.window import Window
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.windows.builders import containing, window_sets

SHARDS, PLACES = 4, 3
INSTANT, SMOOTH, DISRUPTIVE = Strategy
LAYOUT = WindowLayout((Column("k.key", "bigint"),), (ROW_COUNT, Total("sum(x)", "bigint", "", "")))


@st.composite
def streams(draw: st.DrawFn) -> Rows:
    """Rows that mostly go forward in time."""
    size = draw(st.integers(0, 40))
    steps = draw(st.lists(st.integers(-3, 4), min_size=size, max_size=size))
    keys = draw(st.lists(st.integers(0, 7), min_size=size, max_size=size))
    values = draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size))
    return Rows(*(np.array(c, dtype=np.int64) for c in (np.cumsum(steps, dtype=np.int64), keys, values)))


@st.composite
def moves(draw: st.DrawFn, rows: int, strategies: Sequence[Strategy]) -> list[Migration]:
    """Migrations of any shards; those of one shard follow each other, the next may begin when the last one ends."""
    found = []
    for shard in range(SHARDS):
        times = sorted(draw(st.lists(st.integers(0, rows), max_size=6)))
        for at, until in zip(times[::2], times[1::2], strict=False):
            strategy = draw(st.sampled_from(strategies))
            found.append(Migration(strategy, shard, draw(st.integers(0, PLACES - 1)), at, until))
    return found


def by_definition(rows: Rows, windows: Iterable[Window]) -> list[list[int]]:
    """Every window's counts and totals, row by row."""
    found: dict[tuple[int, int, int], list[int]] = defaultdict(lambda: [0, 0])
    for time, key, value in zip(rows.times.tolist(), rows.keys.tolist(), rows.values.tolist(), strict=True):
        for number, window in enumerate(windows):
            for start in containing(window, time):
                found[number, start, key][0] += 1
                found[number, start, key][1] += value
    return [[*k, *v] for k, v in sorted(found.items())]


def outcome(rows: Rows, migrations: list[Migration], windows: list[Window], form: Form) -> MigrationOutcome:
    return run(rows, migrations, windows, SHARDS, PLACES, form)


@settings(max_examples=100, deadline=None)
@given(streams(), window_sets(largest=8, most=3), st.data())
def test_a_split_component_loses_and_duplicates_nothing(rows: Rows, windows: list[Window], data: st.DataObject) -> None:
    migrations = data.draw(moves(len(rows.keys), list(Strategy)))
    found = outcome(rows, migrations, windows, Form.SPLIT)
    assert found.results.tolist() == by_definition(rows, windows)


@settings(max_examples=100, deadline=None)
@given(streams(), window_sets(largest=8, most=3), st.data())
def test_a_combined_component_has_every_window_whole_in_one_place(
    rows: Rows, windows: list[Window], data: st.DataObject
) -> None:
    migrations = data.draw(moves(len(rows.keys), [SMOOTH, DISRUPTIVE]))
    found = outcome(rows, migrations, windows, Form.COMBINED)
    assert found.results.tolist() == by_definition(rows, windows)
    assert found.expanded == 0


@settings(max_examples=50, deadline=None)
@given(streams(), window_sets(largest=8, most=3), st.data())
def test_the_real_consolidation_gives_the_same_windows(rows: Rows, windows: list[Window], data: st.DataObject) -> None:
    """Partials of instant migrations, one per row at worst, closed by the code that closes windows on Spark."""
    windows = sorted(set(windows))
    plan = plan_consolidation(windows)
    panes: dict[int, list[pl.DataFrame]] = defaultdict(list)
    for time, key, value in zip(rows.times.tolist(), rows.keys.tolist(), rows.values.tolist(), strict=True):
        row = {HASH: [key], "k.key": [key], ROWS: [1], "p.sum(x)": [value]}
        panes[plan.pane.latest_start(time)].append(pl.DataFrame(row))

    class State:
        def keys(self) -> Iterable[tuple[int, int]]:
            return [(0, start) for start in panes]

        def count(self, granule: int, start: int) -> int:
            return len(panes.get(start, [])) if granule == 0 else 0

        def rows(self, granule: int, start: int) -> list[pl.DataFrame]:
            return panes.get(start, []) if granule == 0 else []

    closed = []
    for result in close(State(), LAYOUT, plan, None, 10**6):
        granule = plan.granules[result.granule]
        if granule.requested:
            number = windows.index(granule.window)
            merged = LAYOUT.merge(result.frame)
            closed += [[number, result.start, *row] for row in merged.select("k.key", ROWS, "p.sum(x)").rows()]
    migrations = data.draw(moves(len(rows.keys), [INSTANT]))
    assert outcome(rows, migrations, windows, Form.SPLIT).results.tolist() == sorted(closed)


def example() -> Rows:
    """One key, one row a second for ten seconds."""
    return Rows(np.arange(10), np.full(10, 4), np.ones(10, np.int64))


def test_what_each_strategy_does_on_the_way() -> None:
    tens = [Window(10, 10)]
    instant = outcome(example(), [Migration(INSTANT, 0, 1, at=4)], [*tens, Window(5, 5)], Form.SPLIT)
    assert (instant.expanded, instant.waited, instant.duplicated, instant.moved) == (1, 0, 0, 0)
    smooth = outcome(example(), [Migration(SMOOTH, 0, 1, at=4)], [*tens, Window(5, 5)], Form.SPLIT)
    assert (smooth.expanded, smooth.waited, smooth.duplicated, smooth.moved) == (0, 0, 0, 0)
    disruptive = outcome(example(), [Migration(DISRUPTIVE, 0, 1, at=4, until=7)], tens, Form.SPLIT)
    assert (disruptive.expanded, disruptive.waited, disruptive.duplicated, disruptive.moved) == (0, 3, 0, 1)


def test_smooth_migration_processes_rows_twice_only_where_windows_overlap() -> None:
    overlapping = outcome(example(), [Migration(SMOOTH, 0, 1, at=4)], [Window(4, 2)], Form.COMBINED)
    # Windows from 0, 2 on stay; 4 and later go. Rows of seconds 4 and 5 belong to both.
    assert overlapping.duplicated == 2
    apart = outcome(example(), [Migration(SMOOTH, 0, 1, at=4)], [Window(2, 2)], Form.COMBINED)
    assert apart.duplicated == 0


def test_a_combined_component_would_lose_windows_without_its_state() -> None:
    with pytest.raises(TopologyError, match="instant migration leaves partials behind"):
        outcome(example(), [Migration(INSTANT, 0, 1, at=4)], [Window(5, 5)], Form.COMBINED)


def test_nonsense_is_refused() -> None:
    both = [Migration(DISRUPTIVE, 0, 1, at=2, until=8), Migration(SMOOTH, 0, 2, at=4)]
    with pytest.raises(TopologyError, match="still being moved"):
        outcome(example(), both, [Window(5, 5)], Form.SPLIT)
    for wrong in (Migration(INSTANT, 9, 0, at=1), Migration(INSTANT, 0, 9, at=1), Migration(INSTANT, 0, 0, at=11)):
        with pytest.raises(TopologyError, match="there are 4 shards, 3 places and 10 rows"):
            outcome(example(), [wrong], [Window(5, 5)], Form.SPLIT)
