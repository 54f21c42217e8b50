"""Numbers of nodes: kept as long as a node is there, without gaps below the number wanted after a release."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.model.roster import ClusterNode, Roster, choose_released

STEPS = st.lists(st.sets(st.integers(0, 9)), max_size=8)


def nodes(numbers: set[int]) -> list[ClusterNode]:
    return [ClusterNode(str(n), f"host-{n}", 1 + n % 3) for n in sorted(numbers)]


@given(STEPS)
def test_every_node_there_has_one_number_and_keeps_it(steps: list[set[int]]) -> None:
    roster = Roster()
    for there in steps:
        before, roster = roster, roster.updated(nodes(there))
        assert sorted(node.name for node in roster.there) == sorted(str(n) for n in there)
        assert roster.names[-1:] != ("",)
        for number, name in enumerate(before.names):
            if name and int(name) in there:
                assert roster.names[number] == name
        assert roster.cores.tolist() == [1 + int(name) % 3 if name else 0 for name in roster.names]
        assert np.count_nonzero(roster.cores) == len(there)


@given(STEPS, st.integers(1, 6), st.dictionaries(st.integers(0, 9).map(str), st.floats(0, 1e9)))
def test_after_a_release_the_numbers_are_below_the_number_wanted(
    steps: list[set[int]], wanted: int, worth: dict[str, float]
) -> None:
    roster = Roster()
    for there in steps:
        roster = roster.updated(nodes(there))
    released = choose_released(roster, len(roster.there) - wanted, worth)
    left = roster.without([node.name for node in released], wanted)
    assert len(left.numbers) <= wanted
    assert set(left.there) == set(roster.there) - set(released)
    if released:
        assert len(left.there) == wanted
        most = max(worth.get(node.name, 0.0) for node in released)
        assert all(worth.get(node.name, 0.0) >= most for node in left.there)
    kept = [n for n, name in enumerate(roster.names) if n < wanted and name and name in left.names]
    assert all(left.names[n] == roster.names[n] for n in kept)


def test_of_nodes_with_equal_caches_the_slowest_goes_first() -> None:
    roster = Roster().updated(nodes({0, 1, 2}))
    assert [node.name for node in choose_released(roster, 2, {}, {"0": 1.2, "1": 0.5, "2": 1.2})] == ["1", "2"]
