"""Routers: POSG's rule in order of arrival, LPT's bound, and many routers that are even together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg import Estimates, Greedy
from rheostat.elastic.posg.array_sketch import estimated_costs, sketch_of
from rheostat.elastic.posg.cost_router import CostRouter
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)
COSTS = np.array([25.0, 5.0, 1.0, 2.0, 3.0])
KNOWN = sketch_of(np.arange(5), COSTS, 4, 512)
BATCHES = st.lists(st.lists(st.integers(0, 4), max_size=40), min_size=1, max_size=4)


@QUICK
@given(BATCHES, st.integers(1, 6))
def test_in_order_of_arrival_it_is_the_papers_greedy_rule(batches: list[list[int]], slots: int) -> None:
    router = CostRouter.start(KNOWN, (1.0,) * slots, longest_first=False)
    greedy = Greedy.start(Estimates.of([KNOWN] * slots))
    for batch in batches:
        items = np.array(batch, dtype=np.int64)
        dealt, router = router.deal(items)
        expected, greedy = greedy.assign(items)
        assert dealt.tolist() == expected.tolist()
    assert router.loads == pytest.approx(greedy.loads)


@QUICK
@given(BATCHES, st.integers(1, 6), st.booleans(), st.integers(0, 99))
def test_every_row_has_a_slot_and_loads_add_up(
    batches: list[list[int]], slots: int, longest_first: bool, number: int
) -> None:
    router, loads = CostRouter.start(KNOWN, (1.0,) * slots, longest_first, number), np.zeros(slots)
    for batch in batches:
        items = np.array(batch, dtype=np.int64)
        dealt, router = router.deal(items)
        assert len(dealt) == len(items)
        assert ((dealt >= 0) & (dealt < slots)).all()
        loads += np.bincount(dealt, weights=estimated_costs(KNOWN, items), minlength=slots)
    assert router.loads == pytest.approx(loads)


@QUICK
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 6), st.integers(0, 9))
def test_longest_first_keeps_grahams_bound(items: list[int], slots: int, number: int) -> None:
    costs = COSTS[items]
    dealt, after = CostRouter.start(KNOWN, (1.0,) * slots, True, number).deal(items)
    lower = max(costs.sum() / slots, costs.max())
    optimal_at_most = lower + costs.max()  # of any list schedule
    assert after.loads.max() <= max(4 / 3 * lower, optimal_at_most) + 1e-9
    # The last row that the busiest slot got found it the least loaded.
    least_of_busiest = costs[dealt == int(after.loads.argmax())].min()
    assert after.loads.max() - after.loads.min() <= least_of_busiest + 1e-9


def test_a_slow_slot_gets_less() -> None:
    slots, after = CostRouter.start(KNOWN, (1.0, 2.0), longest_first=True).deal([2] * 300)
    counts = np.bincount(slots)
    assert counts.tolist() == [200, 100]
    assert after.loads.tolist() == [200.0, 200.0]


@pytest.mark.parametrize("routers", [4, 16, 40])
@pytest.mark.parametrize("longest_first", [True, False])
def test_routers_with_few_rows_each_are_even_together(routers: int, longest_first: bool) -> None:
    """No slot is the first of all routers."""
    counts = np.zeros(8)
    for number in range(routers):
        slots, _ = CostRouter.start(KNOWN, (1.0,) * 8, longest_first, number).deal([0, 0, 0])
        counts += np.bincount(slots, minlength=8)
    assert counts.max() <= 2 * np.ceil(3 * routers / 8)


def test_factors_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="a router needs a factor above 0 for every slot"):
        CostRouter.start(KNOWN, (1.0, 0.0), longest_first=True)
