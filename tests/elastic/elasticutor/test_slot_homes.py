"""Homes of slots: few bytes move, no host has more slots than room, and what need not move stays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.slot_homes import choose_homes


@st.composite
def situations(draw: st.DrawFn) -> tuple[Floats, Ints, Ints]:
    """Bytes that hosts lack, cores of hosts and present homes."""
    slots, hosts = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    sizes = st.lists(st.integers(0, 20), min_size=hosts, max_size=hosts)
    lacking = np.array(draw(st.lists(sizes, min_size=slots, max_size=slots)), dtype=np.float64)
    cores = np.array(draw(st.lists(st.integers(1, 3), min_size=hosts, max_size=hosts)))
    homes = np.array(draw(st.lists(st.integers(-1, hosts - 1), min_size=slots, max_size=slots)))
    return lacking, cores, homes


def rooms(slots: int, cores: Ints) -> Ints:
    room: Ints = cores * math.ceil(slots / cores.sum())
    return room


@given(situations())
def test_every_slot_has_a_host_with_room(situation: tuple[Floats, Ints, Ints]) -> None:
    lacking, cores, homes = situation
    chosen = choose_homes(lacking, cores, homes)
    assert ((chosen >= 0) & (chosen < len(cores))).all()
    assert (np.bincount(chosen, minlength=len(cores)) <= rooms(len(homes), cores)).all()


@given(situations())
def test_no_slot_would_rather_have_a_host_with_room_left(situation: tuple[Floats, Ints, Ints]) -> None:
    lacking, cores, homes = situation
    chosen = choose_homes(lacking, cores, homes)
    left = rooms(len(homes), cores) - np.bincount(chosen, minlength=len(cores))
    for slot, host in enumerate(chosen):
        assert (lacking[slot, left > 0] >= lacking[slot, host]).all()


@given(situations())
def test_homes_that_have_everything_stay(situation: tuple[Floats, Ints, Ints]) -> None:
    lacking, cores, homes = situation
    chosen = choose_homes(lacking, cores, homes)
    kept = np.where(np.arange(len(cores)) == chosen[:, None], 0.0, lacking + 1)  # after an epoch that ran there
    assert choose_homes(kept, cores, chosen).tolist() == chosen.tolist()


def test_slots_without_state_are_spread_by_cores() -> None:
    nothing, nowhere = np.zeros((7, 3)), np.full(7, -1)
    assert np.bincount(choose_homes(nothing, np.array([1, 1, 1]), nowhere)).tolist() == [3, 2, 2]
    assert np.bincount(choose_homes(np.zeros((8, 2)), np.array([1, 3]), np.full(8, -1))).tolist() == [2, 6]


def test_slots_of_a_lost_host_go_where_least_is_lacking_and_others_stay() -> None:
    sizes = np.array([[0.0, 8, 8, 8], [8, 0, 8, 8], [8, 8, 0, 3], [8, 8, 8, 0]])
    homes = np.array([0, 1, 2, 3])
    cores = np.array([1, 1, 0, 1])
    assert choose_homes(sizes, cores, np.where(homes == 2, -1, homes)).tolist() == [0, 1, 3, 3]


def test_a_new_host_takes_slots_only_if_that_saves_turns() -> None:
    at = np.array([0, 0, 1, 1])
    sizes = np.where(np.arange(3) == at[:, None], 0.0, np.array([[5.0], [1.0], [4.0], [2.0]]))
    assert choose_homes(sizes, np.array([1, 1, 1]), at).tolist() == at.tolist(), "two turns with three cores, too"
    assert choose_homes(sizes, np.array([1, 1, 2]), at).tolist() == [0, 2, 1, 2], "one turn; the cheapest move"


@pytest.mark.parametrize("cores", [[], [0, 0]])
def test_without_cores_there_are_no_homes(cores: list[int]) -> None:
    assert choose_homes(np.zeros((2, len(cores))), np.array(cores, dtype=np.int64), np.array([0, -1])).tolist() == [
        -1,
        -1,
    ]
