"""Executors without shards are dropped, and executors are merged if there are too few cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.subspaces import drop_empty_executors, merge_to_fit, subspaces_of
from rheostat.elastic.model.plan import OperatorPlan, Subspaces


@st.composite
def owned(draw: st.DrawFn) -> tuple[Subspaces, Any]:
    """Some executors, not all of them with shards or slots, and how busy every shard is."""
    count = draw(st.integers(1, 6))
    executors = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=12))
    owners = draw(st.lists(st.integers(-1, count - 1), min_size=1, max_size=8))
    homes = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    work = draw(st.lists(st.integers(0, 9).map(float), min_size=len(executors), max_size=len(executors)))
    return Subspaces(np.array(executors), np.array(owners), np.array(homes)), np.array(work)


@settings(max_examples=200, deadline=None)
@given(owned())
def test_executors_with_shards_keep_shards_slots_and_home(case: tuple[Subspaces, Any]) -> None:
    before, _ = case
    after = drop_empty_executors(before)
    assert sorted(set(after.executors.tolist())) == list(range(len(after.homes)))
    assert (after.homes[after.executors] == before.homes[before.executors]).all()
    for old, new in zip(before.executors.tolist(), after.executors.tolist(), strict=True):
        assert ((before.owners == old) == (after.owners == new)).all()
    gone = ~np.isin(before.owners, before.executors)
    assert (after.owners[gone] == -1).all()


@settings(max_examples=200, deadline=None)
@given(st.lists(owned(), min_size=1, max_size=3), st.integers(0, 6))
def test_executors_are_merged_until_there_is_a_core_for_each(cases: list[tuple[Subspaces, Any]], more: int) -> None:
    subspaces = {str(i): drop_empty_executors(case[0]) for i, case in enumerate(cases)}
    work = {str(i): case[1] for i, case in enumerate(cases)}
    cores = len(cases) + more
    found, reasons = merge_to_fit(subspaces, work, cores)
    sizes = {name: len(s.homes) for name, s in found.items()}
    assert sum(sizes.values()) == min(cores, sum(len(s.homes) for s in subspaces.values()))
    for name, after in found.items():
        before = subspaces[name]
        assert sorted(set(after.executors.tolist())) == list(range(sizes[name]))
        # Shards of one executor stay together, and slots go with them.
        joint = np.c_[before.executors, after.executors]
        assert len(np.unique(joint, axis=0)) == len(before.homes)
        into = dict(joint.tolist())
        assert after.owners.tolist() == [into.get(owner, -1) for owner in before.owners.tolist()]
        # Only operators with most executors lose any.
        if sizes[name] < len(before.homes):
            assert sizes[name] >= max(sizes.values()) - 1
            assert any(reason.startswith(f"{name}: ") for reason in reasons)
        else:
            assert after is before


def test_without_executors_in_the_plan_every_slot_is_one() -> None:
    found = drop_empty_executors(subspaces_of(OperatorPlan(np.array([0, 2, 2]), np.array([1, -1, 0, 1]))))
    assert found.executors.tolist() == [0, 1, 1]
    assert found.owners.tolist() == [0, -1, 1, -1]  # slot 3 has no shard
    assert found.homes.tolist() == [1, 0]
