"""Changes of routing: what a request leads to, told in numbers and words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.routing.balance import imbalance, slot_loads
from rheostat.elastic.routing.requests import Change, Rebalance, Request, Rescale, apply
from rheostat.elastic.routing.table import even_routing

REQUESTS: st.SearchStrategy[Request] = st.one_of(
    st.integers(1, 12).map(Rescale), st.sampled_from([1.0, 1.2, 3.0]).map(Rebalance)
)
LOADS = st.lists(st.integers(0, 50).map(float), min_size=12, max_size=12).map(np.array)


@settings(max_examples=150, deadline=None)
@given(REQUESTS, st.integers(1, 12), LOADS)
def test_a_change_tells_what_happened_to_the_routing(request_: Request, slots: int, loads: np.ndarray) -> None:
    before = even_routing(12, slots)
    after, change = apply(request_, "by a", before, loads, 7)
    wanted = request_.slots if isinstance(request_, Rescale) else slots
    assert (change.epoch, change.component, change.slots) == (7, "by a", (slots, wanted))
    assert change.kind == type(request_).__name__.lower()
    assert change.moves == tuple((s, before[s], after[s]) for s in range(12) if before[s] != after[s])
    assert change.moved == len(change.moves)
    assert change.reason == "asked for"
    if isinstance(request_, Rebalance):
        measured = imbalance(slot_loads(after, loads, wanted))
        assert change.imbalance[1] == pytest.approx(measured, abs=1e-3)
        assert change.imbalance[1] <= change.imbalance[0]


@settings(max_examples=100, deadline=None)
@given(REQUESTS, st.integers(1, 12), LOADS)
def test_a_change_survives_a_way_through_json(request_: Request, slots: int, loads: np.ndarray) -> None:
    _, change = apply(request_, "by a", even_routing(12, slots), loads, 7)
    assert Change.from_json(json.loads(json.dumps(change.to_json()))) == change


def test_only_the_first_moves_are_listed() -> None:
    after, change = apply(Rescale(2), "by a", (0,) * 256, np.zeros(256), 0)
    assert change.moved == sum(after) > 64
    assert len(change.moves) == 64


def test_a_shard_that_no_placement_helps_is_named_with_its_key() -> None:
    loads = np.array([9.0, 1.0, 1.0, 1.0])
    _, change = apply(Rebalance(), "by a", (0, 0, 1, 1), loads, 3, hottest="area='ny'")
    assert change.hot == "shard 0 (area='ny') alone carries 75% of the work: no placement is balanced"
    assert change.reason == "asked for"
    _, nameless = apply(Rebalance(reason="uneven"), "by a", (0, 0, 1, 1), loads, 3)
    assert nameless.hot == "shard 0 alone carries 75% of the work: no placement is balanced"
    _, quiet = apply(Rebalance(), "by a", (0, 0, 1, 1), np.ones(4), 3, hottest="area='ny'")
    assert quiet.hot == ""
