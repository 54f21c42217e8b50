"""Cost sketches: the bounds of the paper's section IV-B, and that merging loses nothing."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg import CostSketch, shape_for
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)

Executions = list[tuple[int, float]]

ITEMS = st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1)
EXECUTIONS = st.lists(st.tuples(ITEMS, st.integers(0, 64).map(float)), min_size=1, max_size=60)
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 20), st.integers(0, 5))


def sketch_of(executions: Executions, shape: tuple[int, int, int]) -> CostSketch:
    items, costs = zip(*executions, strict=True) if executions else ((), ())
    return CostSketch.empty(*shape).updated(np.array(items, dtype=np.int64), np.array(costs, dtype=np.float64))


@QUICK
@given(EXECUTIONS, SHAPES)
def test_counts_are_never_too_small(executions: Executions, shape: tuple[int, int, int]) -> None:
    sketch, true = sketch_of(executions, shape), Counter(item for item, _ in executions)
    for item, count in zip(true, sketch.counts(list(true)).tolist(), strict=True):
        assert true[item] <= count <= len(executions)
    assert sketch.executions == len(executions)
    assert sketch.seconds == sum(cost for _, cost in executions)


@QUICK
@given(EXECUTIONS, SHAPES, st.lists(ITEMS, max_size=10))
def test_estimates_lie_between_the_shortest_and_the_longest_execution(
    executions: Executions, shape: tuple[int, int, int], unseen: list[int]
) -> None:
    sketch = sketch_of(executions, shape)
    costs = [cost for _, cost in executions]
    for estimate in sketch.costs([item for item, _ in executions] + unseen).tolist():
        assert min(costs) - 1e-9 <= estimate <= max(costs) + 1e-9


@QUICK
@given(EXECUTIONS)
def test_estimates_are_exact_means_where_no_items_share_a_cell(executions: Executions) -> None:
    sketch = sketch_of(executions, (4, 2_000, 3))
    by_item = defaultdict(list)
    for item, cost in executions:
        by_item[item].append(cost)
    assert sketch.counts(list(by_item)).tolist() == [len(costs) for costs in by_item.values()]
    assert sketch.costs(list(by_item)) == pytest.approx([np.mean(costs) for costs in by_item.values()])


@QUICK
@given(st.lists(EXECUTIONS, min_size=1, max_size=4), SHAPES)
def test_merging_equals_one_sketch_of_everything(parts: list[Executions], shape: tuple[int, int, int]) -> None:
    sketches = [sketch_of(part, shape) for part in parts]
    merged, whole = sketches[0].merged(sketches[1:]), sketch_of([e for part in parts for e in part], shape)
    assert (merged.frequencies == whole.frequencies).all()
    assert (merged.times == whole.times).all()  # whole numbers: sums are exact in any order
    assert sketches[0].executions == len(parts[0])


@QUICK
@given(EXECUTIONS, EXECUTIONS, SHAPES)
def test_a_sketch_is_a_value(first: Executions, second: Executions, shape: tuple[int, int, int]) -> None:
    sketch = sketch_of(first, shape)
    before = sketch.frequencies.copy()
    items, costs = zip(*second, strict=True)
    assert sketch.updated(items, costs).executions == len(first) + len(second)
    assert (sketch.frequencies == before).all()
    assert sketch.cleared().executions == 0


def test_the_row_with_the_smallest_count_decides() -> None:
    """By brute force over the matrices, as Listing III.2 has it."""
    rng = np.random.default_rng(5)
    items, costs = rng.integers(0, 500, 3_000), rng.random(3_000)
    sketch = CostSketch.empty(rows=3, columns=10, seed=9).updated(items, costs)
    for item in range(500):
        alone = CostSketch.empty(rows=3, columns=10, seed=9).updated([item], [1.0])
        cells = [int(row.argmax()) for row in alone.frequencies]
        counts = [int(sketch.frequencies[row, cell]) for row, cell in enumerate(cells)]
        row = int(np.argmin(counts))
        assert sketch.counts([item])[0] == counts[row]
        assert sketch.costs([item])[0] == pytest.approx(sketch.times[row, cells[row]] / counts[row])


@pytest.mark.parametrize("precision", [(0.2, 0.25), (0.1, 0.1), (0.05, 0.1)])
def test_counts_are_as_precise_as_promised(precision: tuple[float, float]) -> None:
    epsilon, delta = precision
    rng = np.random.default_rng(1)
    items = (rng.pareto(1.0, 5_000) * 10).astype(np.int64)
    true = Counter(items.tolist())
    rows, columns = shape_for(epsilon, delta)
    wrong = checked = 0
    for seed in range(40):
        counts = CostSketch.empty(rows, columns, seed).updated(items, np.ones(len(items))).counts(list(true)).tolist()
        wrong += sum(c - f >= epsilon * (len(items) - f) for c, f in zip(counts, true.values(), strict=True))
        checked += len(true)
    assert wrong <= delta * checked


def test_shapes_of_the_paper() -> None:
    assert CostSketch.empty().shape == (4, 54)
    assert shape_for(0.05, 0.1) == (4, 55)
    assert shape_for(0.70, 0.25) == (2, 4)
    assert shape_for(0.001, 0.1) == (4, 2719)


@pytest.mark.parametrize("precision", [(0.0, 0.1), (0.1, 0.0), (0.1, 1.0), (float("nan"), 0.1), (float("inf"), 0.1)])
def test_invalid_precisions_are_refused(precision: tuple[float, float]) -> None:
    with pytest.raises(ConfigurationError, match="epsilon"):
        shape_for(*precision)


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf")])
def test_invalid_times_are_refused(cost: float) -> None:
    with pytest.raises(ConfigurationError, match="finite and not negative"):
        CostSketch.empty().updated([1, 2], [1.0, cost])


def test_mismatched_shapes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="as many execution times"):
        CostSketch.empty().updated([1, 2], [1.0])
    with pytest.raises(ConfigurationError, match="at least one row"):
        CostSketch.empty(rows=0)
    for other in (CostSketch.empty(seed=1), CostSketch.empty(columns=55), CostSketch.empty(rows=3)):
        with pytest.raises(ConfigurationError, match="cannot be merged"):
            CostSketch.empty().merged([other])


def test_an_empty_sketch_estimates_zero() -> None:
    assert CostSketch.empty().costs([1, 2]).tolist() == [0.0, 0.0]
    assert CostSketch.empty().mean == 0.0
    assert len(CostSketch.empty().updated([], []).costs([])) == 0
