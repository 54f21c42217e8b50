"""Sketches of whole arrays: the same cells and estimates as tuple by tuple."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg import CostSketch
from rheostat.elastic.posg.array_sketch import estimated_costs, sketch_of
from rheostat.elastic.posg.compiled_hash import column
from rheostat.elastic.posg.hashing import columns_of, items_of, multipliers
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)
ITEMS = st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1)
EXECUTIONS = st.lists(st.tuples(ITEMS, st.integers(0, 64).map(float)), max_size=60)


@QUICK
@given(EXECUTIONS, st.integers(1, 5), st.integers(1, 80), st.integers(0, 9), st.lists(ITEMS, max_size=10))
def test_arrays_give_what_single_tuples_give(
    executions: list[tuple[int, float]], rows: int, columns: int, seed: int, others: list[int]
) -> None:
    items = np.array([item for item, _ in executions], dtype=np.int64)
    costs = np.array([cost for _, cost in executions])
    one_by_one = CostSketch.empty(rows, columns, seed).updated(items, costs)
    together = sketch_of(items, costs, rows, columns, seed)
    assert (together.frequencies == one_by_one.frequencies).all()
    assert together.times == pytest.approx(one_by_one.times)
    asked = np.concatenate([items, np.array(others, dtype=np.int64)])
    assert estimated_costs(together, asked) == pytest.approx(one_by_one.costs(asked))


@QUICK
@given(st.lists(ITEMS, min_size=1, max_size=20), st.integers(1, 5000), st.integers(0, 2**64 - 1))
def test_columns_are_those_of_the_compiled_hash(items: list[int], columns: int, seed: int) -> None:
    numbers, which = multipliers(seed, 3), items_of(np.array(items, dtype=np.int64))
    expected = [[column(numbers, row, item, columns) for item in which] for row in range(3)]
    assert columns_of(numbers, which, columns).tolist() == expected


@pytest.mark.parametrize("seconds", [[1.0], [1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_execution_times_are_checked(seconds: list[float]) -> None:
    with pytest.raises(ConfigurationError, match="2 items need as many execution times, finite and not negative"):
        sketch_of([1, 2], seconds, 4, 54)
