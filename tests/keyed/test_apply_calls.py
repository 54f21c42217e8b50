"""Functions without state: what calls return, what rows cost by item, and errors that say what to change."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import OperatorError
from rheostat.keyed.apply_calls import OWN_CALLS, SHARED_CALLS, _groups, call_function
from rheostat.topology.nodes import Apply
from rheostat.windows.partials import Column

ROWS = pa.table({"entity": ["a", "b", "a"], "n": [1, 2, 3]})
ITEMS = np.array([7, 8, 7])


def operator(function: Callable[..., Any], **changes: Any) -> Apply:
    inputs = (Column("entity", "string"), Column("n", "bigint"))
    schema = (Column("entity", "string"), Column("double", "bigint"))
    return replace(
        Apply(name="enrich", upstream="s", inputs=inputs, schema=schema, function=function, cost_by=("entity",)),
        **changes,
    )


def doubled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select("entity", double=pl.col("n") * 2)


DOUBLED = [("a", 2), ("b", 4), ("a", 6)]


def rows_of(table: pa.Table | None) -> list[tuple[Any, ...]]:
    return [] if table is None else [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("function", "expected", "origin"),
    [
        (lambda r: (r.entity, r.n * 2), DOUBLED, [0, 1, 2]),
        (lambda r: {"entity": r.entity, "double": r.n * 2}, DOUBLED, [0, 1, 2]),
        (lambda r: None if r.n == 2 else (r.entity, r.n), [("a", 1), ("a", 3)], [0, 2]),
        (lambda r: [(r.entity, i) for i in range(r.n - 1)], [("b", 0), ("a", 0), ("a", 1)], [1, 2, 2]),
        (lambda r: ((r.entity, i) for i in range(r.n == 1)), [("a", 0)], [0]),
        (lambda r: None, [], []),
    ],
)
def test_row_by_row(function: Callable[..., Any], expected: list[tuple[Any, ...]], origin: list[int]) -> None:
    applied = call_function(operator(function, ordered=True), ROWS, ITEMS)
    assert rows_of(applied.output) == expected
    assert applied.origin is not None
    assert applied.origin.tolist() == origin
    assert applied.costs is not None
    assert applied.costs[0].tolist() == ITEMS.tolist()


@pytest.mark.parametrize("over", ["polars", "arrow"])
@pytest.mark.parametrize("items", [ITEMS, None])
def test_over_frames(over: Any, items: Any) -> None:
    function = doubled if over == "polars" else lambda t: doubled(pl.from_arrow(t)).to_arrow()  # type: ignore[arg-type]
    applied = call_function(operator(function, over=over, ordered=True), ROWS, items)
    assert applied.origin is not None
    assert applied.output is not None
    assert rows_of(applied.output.take(pa.array(np.argsort(applied.origin)))) == DOUBLED
    assert (applied.costs is None) == (items is None)


def test_what_an_item_costs_is_measured() -> None:
    def slow(row: Any) -> tuple[str, int]:
        time.sleep(0.02 if row.entity == "a" else 0.0)
        return row.entity, row.n

    costs = call_function(operator(slow), ROWS, ITEMS).costs
    assert costs is not None
    assert min(costs[1][0], costs[1][2]) > 0.019 > costs[1][1]

    def slow_frames(frame: pl.DataFrame) -> pl.DataFrame:
        time.sleep(0.002 * len(frame.filter(entity="a")))
        return doubled(frame)

    many = pa.table({"entity": ["a", "b"] * 20, "n": range(40)})
    found = call_function(operator(slow_frames, over="polars"), many, np.tile([7, 8], 20)).costs
    assert found is not None
    items, seconds = found
    assert seconds[items == 7].min() > 0.0019 > seconds[items == 8].max()
    assert len(items) == 40


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-50, 50) | st.integers(-(2**63), 2**63 - 1), max_size=300), st.integers(0, 5))
def test_every_row_is_in_one_call_and_calls_are_few(items: list[int], seed: int) -> None:
    groups = list(_groups(np.array(items, dtype=np.int64), seed))
    assert sorted(int(p) for group in groups for p in group) == list(range(len(items)))
    assert len(groups) <= OWN_CALLS + SHARED_CALLS
    for group in groups:
        assert group.tolist() == sorted(group.tolist()), "rows of a call are in order"


def test_rare_items_share_calls_with_others_in_the_next_epoch() -> None:
    items = np.arange(200)
    partners = []
    for seed in range(6):
        (mine,) = (group for group in _groups(items, seed) if 0 in group)
        partners.append({int(items[p]) for p in mine})
    assert len(set.intersection(*partners)) == 1


@pytest.mark.parametrize(
    ("function", "changes", "message"),
    [
        (lambda r: 1 / 0, {}, r"row Row\(entity='a', n=1\): ZeroDivisionError: division by zero"),
        (lambda r: (r.entity,), {}, r"an output row \('a',\) does not fit the declared columns entity, double"),
        (lambda r: (r.entity, "many"), {}, "column 'double' is not bigint"),
        (lambda r: {"other": 1}, {}, "an output row has an undeclared column 'other'"),
        (lambda r: 7, {}, "TypeError"),
        (lambda f: f, {"over": "polars"}, "column 'double' is missing from the output; declared columns: entity, doub"),
        (lambda f: [1], {"over": "polars"}, "returned list, not a Polars frame or an Arrow table"),
        (
            lambda f: doubled(f.head(1)),
            {"over": "polars", "ordered": True},
            "returned 1 rows for 3: with order=True return one row for each, or let it take one row at a time",
        ),
    ],
)
def test_errors_name_the_operator(function: Callable[..., Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OperatorError, match=message) as caught:
        call_function(operator(function, **changes), ROWS, None)
    assert caught.value.operator == "enrich"
