"""Merging tables of partials: which rows belong together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.windows.partials import ROW_COUNT, ROWS, Column, Extreme, Total
from rheostat.windows.window_layout import HASH, WindowLayout

KEYS = (Column("k.area", "string"), Column("k.grade", "bigint"))
TOTAL = Total("sum(x)", "bigint", "", "")
LAYOUT = WindowLayout(KEYS, (ROW_COUNT, TOTAL))
SUM = TOTAL.columns[0].name
SCHEMA = {"start": pl.Int64, HASH: pl.Int64, "k.area": pl.String, "k.grade": pl.Int64, ROWS: pl.Int64, SUM: pl.Int64}

Row = tuple[int, str | None, int | None, int, int]
ROWS_OF = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([None, "", "a", "Å", "A\u030a", "北京", "a|b", "None", "null"]),
        st.sampled_from([None, 0, 1]),
        st.integers(1, 9),
        st.integers(-9, 9),
    ),
    min_size=1,
    max_size=25,
)


def hash_of(*key: Any) -> int:
    """A routing hash; two keys may well share it."""
    return len(repr(key)) % 3 - 1


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame([(start, hash_of(a, g), a, g, n, x) for start, a, g, n, x in rows], schema=SCHEMA, orient="row")


@settings(max_examples=100, deadline=None)
@given(ROWS_OF)
def test_rows_are_merged_by_all_keys_nulls_included(rows: list[Row]) -> None:
    counts: Counter[tuple[Any, ...]] = Counter()
    sums: Counter[tuple[Any, ...]] = Counter()
    for _, area, grade, n, x in rows:
        counts[area, grade] += n
        sums[area, grade] += x
    merged = LAYOUT.merge(frame(rows))
    assert merged.columns == [HASH, "k.area", "k.grade", ROWS, SUM]
    assert {(a, g): (h, n, x) for h, a, g, n, x in merged.rows()} == {
        key: (hash_of(*key), counts[key], sums[key]) for key in counts
    }
    assert len(merged) == len(counts)


@settings(max_examples=100, deadline=None)
@given(ROWS_OF, st.lists(st.integers(10, 60), max_size=40, unique=True))
def test_keys_that_hardly_repeat_are_merged_as_all_others(rows: list[Row], unique: list[int]) -> None:
    """Rows with a hash of their own are left alone, whether they are few or most."""
    alone = pl.DataFrame([(0, 100 + g, "z", g, 1, g) for g in unique], schema=SCHEMA, orient="row")
    both = pl.concat([frame(rows), alone])
    merged, expected = LAYOUT.merge_repeated(both, within=["start"]), LAYOUT.merge(both, within=["start"])
    assert merged.schema == expected.schema
    assert sorted(merged.rows(), key=repr) == sorted(expected.rows(), key=repr)


@settings(max_examples=100, deadline=None)
@given(ROWS_OF)
def test_within_keeps_groups_apart(rows: list[Row]) -> None:
    counts: Counter[tuple[Any, ...]] = Counter()
    for start, area, grade, n, _ in rows:
        counts[start, area, grade] += n
    merged = LAYOUT.merge(frame(rows), within=["start"])
    assert merged.columns[0] == "start"
    assert Counter({(s, a, g): n for s, _, a, g, n, _ in merged.rows()}) == counts
    assert len(merged) == len(counts)


def test_a_table_without_keys_merges_to_one_row() -> None:
    layout = WindowLayout((), (ROW_COUNT,))
    parts = pl.DataFrame({HASH: [0, 0], ROWS: [2, 3]})
    assert layout.merge(parts).rows() == [(0, 5)]


@settings(max_examples=50, deadline=None)
@given(ROWS_OF, ROWS_OF)
def test_what_was_added_can_be_subtracted(kept: list[Row], gone: list[Row]) -> None:
    both = [frame(kept), frame(gone), LAYOUT.negate(frame(gone).drop("start"))]
    left = LAYOUT.drop_empty(LAYOUT.merge(LAYOUT.concat(both)))
    assert left.sort("k.area", "k.grade").rows() == LAYOUT.merge(frame(kept)).sort("k.area", "k.grade").rows()


def test_concat_takes_the_tables_columns_only_and_in_order() -> None:
    one = frame([(0, "a", 1, 2, 3)])
    assert LAYOUT.concat([one, one.select(reversed(one.columns))]).columns == [c.name for c in LAYOUT.columns]


def test_columns_are_hash_keys_and_partials() -> None:
    layout = WindowLayout(KEYS, (ROW_COUNT, Extreme("max", "x", "double")))
    assert [(c.name, c.type) for c in layout.columns] == [
        (HASH, "bigint"),
        ("k.area", "string"),
        ("k.grade", "bigint"),
        (ROWS, "bigint"),
        ("p.max(x)", "double"),
    ]


def test_a_table_that_does_not_count_its_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="must include ROW_COUNT"):
        WindowLayout(KEYS, (TOTAL,))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([2**63 - 1, -(2**63), 2**62, -(2**62), 1, -1]), min_size=1, max_size=6))
def test_a_sum_is_exact_or_an_error(values: list[int]) -> None:
    parts = frame([(0, "a", 1, 1, x) for x in values])
    if -(2**63) <= sum(values) < 2**63:
        assert LAYOUT.merge(parts)[SUM].to_list() == [sum(values)]
    else:
        with pytest.raises(OverflowError, match="a sum does not fit into a bigint"):
            LAYOUT.merge(parts)
