"""Diagnose: health, the paper's algorithms against trying everything, and what no decision may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.loop.hysteresis import WORTHWHILE
from rheostat.elastic.model.plan import Action
from rheostat.elastic.streamswitch.diagnose import diagnose
from rheostat.elastic.streamswitch.diagnosis import Diagnosis, Health, Limits
from rheostat.elastic.streamswitch.examine import Examination, advance, readings
from rheostat.elastic.streamswitch.health import health, projected_latency, slot_arrivals, strain
from rheostat.elastic.streamswitch.readings import Metrics, Readings
from rheostat.elastic.streamswitch.unit_strategies import best_merge, best_move, best_prefix, lowest
from rheostat.errors import ConfigurationError
from tests.elastic.model.laws import mm1_sojourn


def reading(
    routing: Sequence[int],
    arrival: Sequence[float],
    service: float | Sequence[float] = 1000.0,
    latency: Sequence[float] | None = None,
    shard_latency: Sequence[float] | None = None,
) -> Readings:
    """Readings of slots as they are named in the routing; latency as M/M/1 has it, or very long under overload."""
    slots = tuple(sorted(set(routing)))
    speeds = np.broadcast_to(np.asarray(service, dtype=np.float64), (len(slots),)).copy()
    loads = np.array([sum(a for a, s in zip(arrival, routing, strict=True) if s == slot) for slot in slots])
    found = np.minimum(projected_latency(loads, speeds), 10.0) if latency is None else np.array(latency)
    each = np.zeros(len(routing)) if shard_latency is None else np.array(shard_latency)
    return Readings.of(routing, arrival, speeds.tolist(), found.tolist(), each.tolist())


def carried_out(now: Readings, found: Diagnosis, rates: Sequence[float]) -> Readings:
    """The readings once a decision has come true and the load is the same; slots have their rate by number."""
    slots = sorted(set(found.routing))
    return reading(found.routing, now.arrival.tolist(), [rates[s] for s in slots], None, now.shard_latency.tolist())


def test_the_model_is_the_papers() -> None:
    assert float(projected_latency(1799.0, 2000.0, 0.1)) == pytest.approx(1.0)
    loads = np.array([0.0, 100.0, 799.0, 800.0, 5000.0])
    assert projected_latency(loads, 1000.0, 0.2) == pytest.approx([mm1_sojourn(load, 800.0) for load in loads])


@pytest.mark.parametrize(
    ("latency", "projected", "expected"),
    [
        (0.1, 1.0, Health.GOOD),  # at the thresholds, not above
        (0.2, 1.0, Health.MODERATE),
        (0.1, 1.1, Health.MODERATE),
        (0.2, 1.1, Health.SEVERE),
        (0.2, np.inf, Health.SEVERE),
    ],
)
def test_health(latency: float, projected: float, expected: Health) -> None:
    assert Health(int(health(latency, projected, Limits()))) == expected


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20), st.floats(0, 1e5), st.floats(0, 0.99))
def test_strain_grows_with_load_and_agrees_with_latency(loads: list[float], service: float, margin: float) -> None:
    ordered = np.sort(loads)
    found = strain(ordered, service, margin)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    latency = projected_latency(ordered, service, margin)
    assert (found[latency < 1e9] == latency[latency < 1e9]).all()


VALUES = st.sampled_from([0.1, 0.2, 0.5, 1.0, 2.0, 3.0])


@settings(deadline=None)
@given(
    st.lists(VALUES, min_size=4, max_size=7),
    st.lists(st.tuples(st.tuples(VALUES, VALUES), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8),
)
def test_the_lexicographic_order_is_that_of_whole_vectors(
    whole: list[float], changes: list[tuple[tuple[float, float], int, int]]
) -> None:
    changes = [(added, i, j if i != j else (i + 1) % 4) for added, i, j in changes]
    vectors = [
        sorted([v for n, v in enumerate(whole) if n not in (i, j)] + list(added), reverse=True)
        for added, i, j in changes
    ]
    gone = np.array([[whole[i], whole[j]] for _, i, j in changes])
    assert vectors[lowest(np.array([added for added, _, _ in changes]), gone)] == min(vectors)


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 400).map(float), min_size=2, max_size=12),
    st.integers(1, 800).map(float),
    st.lists(st.tuples(st.integers(0, 1200).map(float), st.integers(1, 800).map(float)), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.2, 0.5]),
)
def test_binary_search_finds_what_trying_all_finds(
    loads: list[float], speed: float, targets: list[tuple[float, float]], margin: float
) -> None:
    prefix = np.concatenate([[0.0], np.cumsum(loads)[:-1]])
    taken, speeds = np.array([t for t, _ in targets]), np.array([s for _, s in targets])
    counts, left, received = best_prefix(prefix, (sum(loads), speed), taken, speeds, margin)
    for d in range(len(targets)):
        worst = [
            max(float(strain(sum(loads) - p, speed, margin)), float(strain(taken[d] + p, speeds[d], margin)))
            for p in prefix
        ]
        assert max(left[d], received[d]) == pytest.approx(min(worst))
        assert worst[counts[d]] == pytest.approx(min(worst))


CASES = st.integers(2, 5).flatmap(
    lambda slots: st.tuples(
        st.lists(st.integers(0, slots - 1), min_size=slots, max_size=10).map(
            lambda r: tuple(sorted(set(r)).index(s) for s in r)
        ),
        st.lists(st.integers(0, 500).map(float), min_size=10, max_size=10),
        st.lists(st.sampled_from([250.0, 500.0, 1000.0]), min_size=5, max_size=5),
        st.lists(st.integers(0, 9).map(float), min_size=10, max_size=10),
    )
)
Case = tuple[tuple[int, ...], list[float], list[float], list[float]]


def of(case: Case) -> Readings:
    routing, arrival, rates, latencies = case
    shards, slots = len(routing), max(routing) + 1
    return reading(routing, arrival[:shards], rates[:slots], None, latencies[:shards])


def vector(loads: Sequence[float], rates: Sequence[float], margin: float) -> list[float]:
    return sorted((float(strain(a, s, margin)) for a, s in zip(loads, rates, strict=True)), reverse=True)


@settings(max_examples=150, deadline=None)
@given(CASES)
def test_the_best_merge_is_the_best_of_all_pairs(case: Case) -> None:
    now, limits = of(case), Limits()
    loads, rates = slot_arrivals(now).tolist(), now.service.tolist()
    step = best_merge(now, limits)
    if len(loads) < 2:
        assert step is None
        return
    vectors = {}
    for s, d in product(range(len(loads)), repeat=2):
        if s != d:
            kept = [(loads[i] + (loads[s] if i == d else 0.0), rates[i]) for i in range(len(loads)) if i != s]
            vectors[s, d] = vector([a for a, _ in kept], [r for _, r in kept], limits.margin)
    assert step is not None
    assert vectors[step.source, step.target] == min(vectors.values())
    assert set(step.shards) == {k for k, slot in enumerate(now.routing) if slot == step.source}


@settings(max_examples=150, deadline=None)
@given(CASES)
def test_the_best_move_is_the_best_of_all_prefixes_and_targets(case: Case) -> None:
    now, limits = of(case), Limits()
    loads, rates = slot_arrivals(now), now.service
    source = int(strain(loads, rates, limits.margin).argmax())
    mine = [k for k, slot in enumerate(now.routing) if slot == source and now.arrival[k] > 0]
    mine.sort(key=lambda k: now.shard_latency[k])
    before = vector(loads.tolist(), rates.tolist(), limits.margin)
    worst, pair = {}, {}
    for d, count in product(range(len(loads)), range(1, len(mine))):
        if d != source:
            after, amount = loads.copy(), now.arrival[mine[:count]].sum()
            after[source] -= amount
            after[d] += amount
            worst[d, count] = vector(after.tolist(), rates.tolist(), limits.margin)
            pair[d, count] = strain(after, rates, limits.margin)[[source, d]].max()
    step = best_move(now, limits, source)
    if step is None:
        assert not pair or min(pair.values()) > (1 - WORTHWHILE) * before[0]
    else:
        found = worst[step.target, len(step.shards)]
        assert list(step.shards) == mine[: len(step.shards)]
        assert found < before
        assert found[0] == pytest.approx(min(w[0] for w in worst.values()))


def test_scale_in_counts_the_targets_rows_once() -> None:
    # 300 + 300 of 800: fine. With the target's 300 counted twice it would be 900, and never happen.
    found = diagnose(reading((0, 1), (300, 300)), Limits())
    assert (found.action, found.routing) == (Action.SCALE_IN, (1, 1))
    assert found.projected == Health.GOOD
    assert diagnose(reading((0, 1), (400, 400)), Limits()).action == Action.NOTHING


def test_scale_in_gives_up_the_slow_slot() -> None:
    found = diagnose(reading((0, 1, 2), (100, 100, 100), (1000, 250, 1000)), Limits())
    assert found.action == Action.SCALE_IN
    assert found.source == 1


def test_the_two_level_logic() -> None:
    # Severe, and the other slot has room: balance. Lowest latency moves first.
    hot = reading((0, 0, 0, 1), (300, 300, 300, 100), 1000, (0.5, 0.01), (0.3, 0.1, 0.2, 0.0))
    found = diagnose(hot, Limits())
    assert (found.action, found.moves, found.source, found.target) == (Action.BALANCE, ((1, 1),), 0, 1)
    # Severe, and the other slot is full as well: scale out.
    full = reading((0, 0, 0, 1), (300, 300, 300, 790), 1000, (0.5, 0.01), (0.3, 0.1, 0.2, 0.0))
    found = diagnose(full, Limits())
    assert (found.action, found.moves, found.target) == (Action.SCALE_OUT, ((1, 2),), 2)
    # Only one of both signs: nothing.
    for latency, load in ((0.01, 300), (0.5, 100)):
        calm = reading((0, 0, 0, 1), (load, load, load, 100), 1000, (latency, 0.01))
        assert diagnose(calm, Limits()).action == Action.NOTHING


def test_a_new_slot_takes_the_lowest_number_that_is_free() -> None:
    found = diagnose(reading((0, 0, 2, 2), (500, 500, 500, 500)), Limits())
    assert (found.action, found.target) == (Action.SCALE_OUT, 1)


def test_everything_overloaded_is_acted_upon() -> None:
    routing, arrival = (0, 0, 0, 1, 1, 1), (900, 900, 900, 800, 800, 800)
    found = diagnose(reading(routing, arrival), Limits())
    assert (found.action, found.source) == (Action.SCALE_OUT, 0)
    # No slot may be added: still the best there is, and it says that this is not enough.
    stuck = diagnose(reading(routing, (900, 900, 900, 200, 200, 200)), Limits(max_slots=2))
    assert (stuck.action, stuck.feasible) == (Action.BALANCE, False)
    assert any("cannot be kept" in reason for reason in stuck.reasons)
    even = diagnose(reading((0, 0, 1, 1), (900, 900, 900, 900)), Limits(max_slots=2))
    assert (even.action, even.feasible) == (Action.NOTHING, False)


def test_a_shard_too_heavy_for_a_slot_does_not_keep_others_from_help() -> None:
    alone = diagnose(reading((0,), (1500,)), Limits())
    assert (alone.action, alone.feasible) == (Action.NOTHING, False)
    assert "shard 0 receives 1500 rows/s of its 1500 rows/s" in alone.reasons[-1]
    found = diagnose(reading((0, 1, 1), (1500, 500, 600)), Limits())
    assert (found.action, found.source, found.feasible) == (Action.SCALE_OUT, 1, False)


def test_what_would_only_change_places_is_left_alone() -> None:
    # Five shards here and six there, and no slot to add: a move would only make it six and five.
    even = reading((0,) * 6 + (1,) * 5, (250.0,) * 6 + (250.0 - 1e-10,) * 5)
    assert diagnose(even, Limits(max_slots=2)).action == Action.NOTHING
    noisy = reading((0,) * 6 + (1,) * 5, (252.0,) * 6 + (248.0,) * 5)
    assert diagnose(noisy, Limits(max_slots=2)).action == Action.NOTHING


def test_more_slots_than_allowed_are_given_up_even_under_load() -> None:
    found = diagnose(reading((0, 1, 2), (700, 700, 700)), Limits(max_slots=2))
    assert found.action == Action.SCALE_IN
    assert len(set(found.routing)) == 2


def test_shards_of_a_stalled_slot_move() -> None:
    # Slot 0 completes nothing any more and reports no useful time; slot 1 is fine.
    state = Examination.start(4, window=1.0)
    for t in range(1, 5):
        arrived = [100.0 * t] * 4
        completed = [100.0, 100.0, 100.0 * t, 100.0 * t]
        state = advance(state, Metrics(t, arrived, completed, {0: 0.2 if t == 1 else 0.0, 1: 0.2}, (0, 0, 1, 1)))
    found = diagnose(readings(state), Limits())
    assert found.health == Health.SEVERE
    assert found.source == 0
    assert found.action in (Action.BALANCE, Action.SCALE_OUT)


def test_a_new_slot_is_as_fast_as_a_stalled_one_usually_is() -> None:
    stalled = replace(reading((0, 0, 0, 0), (100,) * 4, 0.5, (5.0,)), usual=np.array([500.0]))
    found = diagnose(stalled, Limits())
    # All but one shard go: were the new slot as slow as the old one is now, it would be half of them.
    assert (found.action, len(found.moves), found.projected) == (Action.SCALE_OUT, 3, Health.SEVERE)


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf])
@pytest.mark.parametrize("where", ["arrival", "latency", "service", "usual", "shard_latency"])
def test_absurd_readings_change_nothing(bad: float, where: str) -> None:
    fine = reading((0, 1), (900, 900), 900, (900, 900), (900, 900))
    absurd: dict[str, Any] = {where: np.array([900.0, bad])}
    found = diagnose(replace(fine, **absurd), Limits())
    assert (found.action, found.routing) == (Action.NOTHING, (0, 1))
    assert "cannot be trusted" in found.reasons[0]


def test_invalid_readings_change_nothing() -> None:
    found = diagnose(readings(Examination.start(3)), Limits())
    assert found.action == Action.NOTHING
    assert "nothing has been measured" in found.reasons[0]


def test_no_service_and_no_load_are_survived() -> None:
    assert diagnose(reading((0, 1), (0, 0)), Limits()).action == Action.SCALE_IN
    dead = reading((0, 0, 1), (10, 10, 10), (0, 1000), (5, 0))
    assert diagnose(dead, Limits()).source == 0


@pytest.mark.parametrize(
    "wrong", [{"bound": 0.0}, {"alert": -1.0}, {"margin": 1.0}, {"max_slots": 0}, {"min_slots": 9, "max_slots": 8}]
)
def test_limits_that_cannot_be_met_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        Limits(**wrong)  # type: ignore[arg-type]


def fewest(loads: Sequence[float], room: float) -> int:
    """The fewest slots that hold the loads, by trying all."""
    for count in range(1, len(loads) + 1):
        for places in product(range(count), repeat=len(loads)):
            if np.bincount(places, weights=loads, minlength=count).max() <= room:
                return count
    raise AssertionError("a shard is heavier than a slot")


LOOPS = st.tuples(
    st.lists(st.integers(0, 5), min_size=2, max_size=7).map(lambda r: tuple(sorted(set(r)).index(s) for s in r)),
    st.lists(st.integers(1, 700).map(float), min_size=7, max_size=7),
    st.lists(st.integers(0, 9).map(float), min_size=7, max_size=7),
)


def followed(now: Readings, limits: Limits, rates: Sequence[float]) -> tuple[Readings, list[Diagnosis]]:
    """Every decision carried out under the same load until nothing is left to do."""
    story: list[Diagnosis] = []
    for _ in range(100):
        found = diagnose(now, limits)
        assert found == diagnose(now, limits)
        story.append(found)
        if found.action == Action.NOTHING:
            return now, story
        assert len(found.routing) == len(now.routing)
        assert {k for k, _ in found.moves} == {
            k for k, (a, b) in enumerate(zip(now.routing, found.routing, strict=True)) if a != b
        }
        assert len(set(found.routing)) <= max(limits.max_slots, len(now.slots))
        now = carried_out(now, found, rates)
    raise AssertionError("decisions do not come to rest under constant load")


@settings(max_examples=150, deadline=None)
@given(LOOPS)
def test_constant_load_comes_to_rest_with_few_slots_and_no_swings(
    case: tuple[tuple[int, ...], list[float], list[float]],
) -> None:
    routing, arrival, latencies = case
    shards = len(routing)
    limits = Limits(max_slots=8)
    now = reading(routing, arrival[:shards], 1000.0, None, latencies[:shards])
    end, story = followed(now, limits, [1000.0] * 20)
    # Nothing is added once something was taken away.
    grown = [found.action for found in story]
    assert not any(a == Action.SCALE_IN and b in (Action.SCALE_OUT, Action.BALANCE) for a, b in pairwise(grown))
    assert story[-1].health != Health.SEVERE
    if story[-1].health == Health.GOOD:
        # No two slots fit into one, so there are fewer than twice as many as needed, and one.
        room = 800 - 1 / limits.bound
        loads = slot_arrivals(end)
        assert all(loads[i] + loads[j] > room for i, j in product(range(len(loads)), repeat=2) if i < j)
        assert fewest(arrival[:shards], room) <= len(loads) < 2 * fewest(arrival[:shards], room) + 1


@settings(max_examples=150, deadline=None)
@given(
    LOOPS,
    st.lists(st.sampled_from([100.0, 300.0, 1000.0]), min_size=20, max_size=20),
    st.integers(1, 5),
    st.sampled_from([1.0, 5.0]),
)
def test_any_load_and_any_slots_come_to_rest_within_the_limit(
    case: tuple[tuple[int, ...], list[float], list[float]], rates: list[float], most: int, scale: float
) -> None:
    routing, arrival, latencies = case
    shards, slots = len(routing), max(routing) + 1
    now = reading(routing, [scale * a for a in arrival[:shards]], rates[:slots], None, latencies[:shards])
    end, story = followed(now, Limits(max_slots=most), rates)
    assert len(end.slots) <= most
    if story[-1].health == Health.SEVERE:
        assert not story[-1].feasible
