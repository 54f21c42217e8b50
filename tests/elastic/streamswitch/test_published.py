"""StreamSwitch, DRS and DRS-LB as they were published: where they differ from ours, and where they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.baselines.drs import Drs, DrsLb, drs, drs_lb, fewest_slots
from rheostat.elastic.loop.hysteresis import WORTHWHILE
from rheostat.elastic.model.plan import Action
from rheostat.elastic.streamswitch.diagnose import diagnose
from rheostat.elastic.streamswitch.diagnosis import OURS, PUBLISHED, Limits, Rules
from rheostat.elastic.streamswitch.examine import Examination, advance, readings
from rheostat.elastic.streamswitch.health import slot_strains
from rheostat.elastic.streamswitch.readings import Metrics, Readings
from rheostat.elastic.streamswitch.streamswitch import StreamSwitch

ROUTINGS = st.lists(st.integers(0, 4), min_size=2, max_size=10).map(tuple)


@pytest.mark.parametrize("kind", [StreamSwitch, Drs, DrsLb])
def test_a_published_policy_has_none_of_our_rules(kind: type[StreamSwitch]) -> None:
    published, ours = kind.published(Limits(margin=0.3), window=5.0), kind()
    assert type(published) is kind
    assert (published.rules, ours.rules) == (PUBLISHED, OURS)
    assert (published.waits.rest, published.waits.calm) == (0.0, 0.0)
    assert (published.limits.margin, published.window, published.name) == (0.3, 5.0, f"{ours.name}-published")


def test_every_rule_of_ours_is_off_as_published() -> None:
    assert Rules(True, WORTHWHILE, True, True, True) == OURS
    assert Rules(False, 0.0, False, False, False) == PUBLISHED


@settings(max_examples=100, deadline=None)
@given(
    ROUTINGS, st.lists(st.floats(1, 300), min_size=10, max_size=10), st.lists(st.floats(0, 2), min_size=5, max_size=5)
)
def test_without_overload_and_with_any_improvement_enough_both_decide_the_same(
    routing: tuple[int, ...], arrival: list[float], latency: list[float]
) -> None:
    slots = sorted(set(routing))
    now = Readings.of(routing, arrival[: len(routing)], [4000.0] * len(slots), latency[: len(slots)])
    assert diagnose(now, Limits(), PUBLISHED) == diagnose(now, Limits(), replace(OURS, worthwhile=0.0))


def test_overloaded_slots_are_all_alike() -> None:
    now = Readings.of((0, 1, 2), (100, 2000, 5000), (1000,) * 3, (0.0, 9.0, 9.0))
    calm, one, other = slot_strains(now, Limits(), PUBLISHED)
    assert calm < one == other
    assert len(set(slot_strains(now, Limits()))) == 3


def test_of_overloaded_slots_the_first_is_helped_that_can_be() -> None:
    # Slot 0 has one shard, which cannot be divided. Ours helps slot 2, the worst of the others.
    now = Readings.of((0, 1, 1, 2, 2), (9000, 900, 900, 2000, 2000), (1000,) * 3, (9.0,) * 3)
    published, ours = diagnose(now, Limits(), PUBLISHED), diagnose(now, Limits())
    assert (published.action, published.source) == (Action.SCALE_OUT, 1)
    assert (ours.action, ours.source) == (Action.SCALE_OUT, 2)


def test_a_new_slot_takes_half_of_an_overloaded_one() -> None:
    """The paper's figure 7: about half of the workload moves, though both may stay overloaded."""
    now = Readings.of((0,) * 6, (900,) * 6, (1000,), (9.0,), shard_latency=(5, 4, 3, 2, 1, 0))
    found = diagnose(now, Limits(), PUBLISHED)
    assert (found.action, found.moves) == (Action.SCALE_OUT, ((5, 1), (4, 1), (3, 1)))


def test_without_a_free_slot_nothing_is_done_about_overload() -> None:
    now = Readings.of((0, 0, 0, 1), (900, 900, 900, 900), (1000, 1000), (9.0, 9.0))
    limits = Limits(max_slots=2)
    assert diagnose(now, limits, PUBLISHED).action == Action.NOTHING
    assert diagnose(now, limits).action == Action.BALANCE


def test_a_small_improvement_is_enough_as_published() -> None:
    # Without a tenth of a row per second, the latency of slot 0 is 2 % lower. It stays severe, hence a new slot.
    now = Readings.of((0, 0, 1), (795.5, 0.1, 750.0), (1000, 1000), (0.5, 0.01), shard_latency=(0.5, 0.1, 0.01))
    limits = Limits(bound=0.2)
    assert diagnose(now, limits).action == Action.NOTHING
    found = diagnose(now, limits, PUBLISHED)
    assert (found.action, found.moves) == (Action.SCALE_OUT, ((1, 2),))


def test_rows_that_wait_in_vain_say_nothing_as_published() -> None:
    """Shard 1 completes nothing: as published it has the load that arrived and no latency."""
    found = []
    for stalls in (True, False):
        state = Examination.start(shards=2, stalls=stalls)
        for second in range(1, 6):
            arrived, completed = [100.0 * second, 10.0 * second], [100.0 * second, 0.0]
            state = advance(state, Metrics(second, arrived, completed, {0: 0.5, 1: 0.0}, (0, 1)))
        found.append(readings(state))
    ours, published = found
    assert ours.arrival.tolist() == [100.0, 50.0]
    assert published.arrival.tolist() == [100.0, 10.0]
    assert ours.shard_latency[1] > 1.0
    assert published.shard_latency[1] == published.latency[1] == 0.0
    assert ours.service[1] < 1.0 < published.service[1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1, 2000), min_size=4, max_size=12),
    st.integers(1, 4),
    st.floats(0.0, 5.0),
    st.sampled_from([2, 8, 64]),
)
def test_published_drs_scales_as_mmk_asks_and_has_no_plan_under_overload(
    arrivals: list[float], slots: int, latency: float, most: int
) -> None:
    routing = [i % slots for i in range(len(arrivals))]
    seen = Readings.of(routing, arrivals, [1000.0] * slots, [latency] * slots)
    limits = Limits(max_slots=most)
    found, ours = drs(seen, limits, PUBLISHED), drs(seen, limits, Rules(patient=False))
    if fewest_slots(sum(arrivals), 1000.0, limits).feasible:
        assert found.action == ours.action
        assert len(set(found.routing)) == len(set(ours.routing))
    else:
        assert found.action == Action.NOTHING
        assert drs_lb(seen, limits, PUBLISHED).action in (Action.NOTHING, Action.BALANCE)


@pytest.mark.parametrize("rule", [drs, drs_lb])
def test_ours_asks_for_slots_under_overload_and_keeps_them_while_rows_are_late(rule: type) -> None:
    flooded = Readings.of((0, 0, 1, 1), (900, 900, 900, 900), (1000, 1000), (9.0, 9.0))
    behind = Readings.of((0, 0, 1, 1), (10, 10, 10, 10), (1000, 1000), (9.0, 9.0))
    limits = Limits(max_slots=4)
    for seen, action, wanted in ((flooded, Action.SCALE_OUT, [True, False]), (behind, Action.SCALE_IN, [False, True])):
        assert [rule(seen, limits, rules).action == action for rules in (OURS, PUBLISHED)] == wanted


def test_published_balancing_has_to_lower_the_higher_latency() -> None:
    cured = Readings.of((0, 0, 0, 1), (400, 300, 300, 50), (1000, 1000), (5.0, 0.001))
    limits = Limits(bound=0.01)
    assert drs_lb(cured, limits, PUBLISHED).action == Action.BALANCE
    stuck = replace(cured, arrival=np.array([900.0, 300.0, 100.0, 700.0]))
    assert drs_lb(stuck, Limits(max_slots=2), PUBLISHED).action == Action.NOTHING
