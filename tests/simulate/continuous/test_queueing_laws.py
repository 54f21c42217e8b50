"""The continuous engine against closed forms, M/M/1 and its relatives; and that no row is lost or overtaken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.elastic.model.queueing import mmk_sojourn
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.continuous.records import FOREVER
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.workloads.arrivals import Constant
from tests.elastic.model.laws import jackson_sojourn, md1_sojourn, mm1_sojourn
from tests.simulate.scripted import UNBOUNDED, Scripted, engine, move, slots_of

WITHIN = 0.02
SECONDS = 100.0
SERVICE = 10_000.0
"""Rows per second of a server, so that a million rows or so pass in a run."""


def run(job: Job, rate: float, slots: dict[str, int], seconds: float = SECONDS, tick: float = 0.1, **more: Any) -> Any:
    """Rows, seconds waited and seconds worked by operator, and the mean seconds from end to end."""
    shards = job.operators[0].shards
    plan = Plan({name: OperatorPlan.even(shards, count) for name, count in slots.items()}, 1)
    engine = Continuous(
        job,
        Cluster(1, 64, bandwidth=np.inf),
        Constant(rate, [1.0] * shards),
        plan,
        timing=Timing(tick, 10.0),
        costs=Costs(queue=10**9),
        **{"room": 8, **more},
    )
    names = list(slots)
    rows, waited, worked = (dict.fromkeys(names, 0.0) for _ in range(3))
    ends = np.zeros(2)
    for _ in range(int(seconds / 10.0)):
        seen = engine.step()
        ends += seen.end_rows, seen.end_waited
        for name in names:
            rows[name] += float(seen.done[name].sum())
            waited[name] += float(seen.waited[name].sum())
            worked[name] += float(seen.observation.operators[name].useful.sum())
    return rows, {name: waited[name] / rows[name] for name in names}, worked, float(ends[1] / ends[0])


def one(variability: float) -> Job:
    return Job((Operator("work", 8, 1 / SERVICE, variability),))


@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_random_costs_are_m_m_1(rho: float) -> None:
    _, latency, _, end = run(one(1.0), rho * SERVICE, {"work": 1}, 2 * SECONDS)
    assert latency["work"] == pytest.approx(mm1_sojourn(rho * SERVICE, SERVICE), rel=WITHIN)
    assert end == pytest.approx(latency["work"])


@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_equal_costs_are_m_d_1(rho: float) -> None:
    _, latency, _, _ = run(one(0.0), rho * SERVICE, {"work": 1})
    assert latency["work"] == pytest.approx(md1_sojourn(rho * SERVICE, SERVICE), rel=WITHIN)


@pytest.mark.parametrize(("servers", "rho"), [(2, 0.6), (4, 0.7), (16, 0.8)])
def test_servers_that_share_a_queue_are_m_m_k(servers: int, rho: float) -> None:
    rate = rho * servers * SERVICE
    _, latency, _, _ = run(one(1.0), rate, {"work": 1}, SECONDS / 2, servers=servers)
    assert latency["work"] == pytest.approx(mmk_sojourn(rate, SERVICE, servers), rel=WITHIN)


def test_slots_with_queues_of_their_own_are_as_many_m_m_1() -> None:
    _, latency, _, _ = run(one(1.0), 2.4 * SERVICE, {"work": 4})
    assert latency["work"] == pytest.approx(mm1_sojourn(0.6 * SERVICE, SERVICE), rel=WITHIN)


@pytest.mark.parametrize(("variability", "slots", "load"), [(0.0, 1, 0.4), (1.0, 1, 0.9), (1.0, 4, 2.0)])
def test_utilisation_is_arrival_over_service_rate(variability: float, slots: int, load: float) -> None:
    rows, _, worked, _ = run(one(variability), load * SERVICE, {"work": slots}, SECONDS / 2)
    assert worked["work"] / (SECONDS / 2) == pytest.approx(load, rel=0.01)
    assert rows["work"] / (SECONDS / 2) == pytest.approx(load * SERVICE, rel=0.01)


def test_a_slow_node_serves_at_its_speed() -> None:
    job, seconds = one(1.0), 50.0
    plan = Plan({"work": OperatorPlan.even(8, 1)}, 1)
    slow = Cluster(1, 1, bandwidth=np.inf, speeds=(0.5,))
    engine = Continuous(
        job, slow, Constant(2500.0, [1.0] * 8), plan, timing=Timing(0.1, seconds), costs=Costs(queue=10**9)
    )
    seen = engine.step()
    assert seen.waited["work"].sum() / seen.done["work"].sum() == pytest.approx(mm1_sojourn(2500.0, 5000.0), rel=WITHIN)


def tandem(weights: Any = None, selectivity: float = 1.0) -> Job:
    first = Operator("first", 8, 1 / SERVICE, 1.0, selectivity=selectivity)
    return Job((first, Operator("second", 8, 0.5 / SERVICE, 1.0, inputs=("first",), weights=weights)))


@pytest.mark.parametrize("tick", [0.1, 0.01])
def test_two_operators_with_a_slot_each_are_a_jackson_network(tick: float) -> None:
    rate = 0.6 * SERVICE
    _, latency, _, end = run(tandem(), rate, {"first": 1, "second": 1}, tick=tick)
    expected = [float(mm1_sojourn(rate, SERVICE)), float(mm1_sojourn(rate, 2 * SERVICE))]
    assert [latency["first"], latency["second"]] == pytest.approx(expected, rel=WITHIN)
    assert end == pytest.approx(jackson_sojourn(rate, [rate, rate], expected), rel=WITHIN)


@pytest.mark.parametrize("tick", [0.01, 0.0001])
def test_operators_with_several_slots_are_a_jackson_network(tick: float) -> None:
    """Whatever the tick: rows that several slots send within one are served in the order in which they arrive."""
    rate = 2.0 * SERVICE
    _, latency, _, _ = run(tandem(np.ones(8)), rate, {"first": 4, "second": 2}, 20.0, tick=tick)
    assert latency["first"] == pytest.approx(mm1_sojourn(rate / 4, SERVICE), rel=WITHIN)
    assert latency["second"] == pytest.approx(mm1_sojourn(rate / 2, 2 * SERVICE), rel=WITHIN)


@pytest.mark.parametrize("selectivity", [0.4, 2.0, 1.5])
def test_every_row_becomes_as_many_as_the_selectivity_says(selectivity: float) -> None:
    rows, _, worked, _ = run(tandem(selectivity=selectivity), 0.4 * SERVICE, {"first": 1, "second": 1}, 50.0)
    assert rows["second"] / rows["first"] == pytest.approx(selectivity, rel=0.01)
    assert worked["second"] == pytest.approx(rows["second"] * 0.5 / SERVICE, rel=0.01)


def test_a_filter_that_keeps_nothing_sends_nothing() -> None:
    job = tandem(selectivity=0.0)
    plan = Plan({"first": OperatorPlan.even(8, 1), "second": OperatorPlan.even(8, 1)}, 1)
    engine = Continuous(job, Cluster(1, 4), Constant(100.0, [1.0] * 8), plan)
    seen = engine.step()
    assert seen.done["first"].sum() > 0
    assert seen.done["second"].sum() == seen.end_rows == 0


def test_weights_say_how_rows_spread_over_shards() -> None:
    weights = np.array([5.0, 0.0, 1.0, 2.0])
    job = Job((Operator("a", 2, 1e-5), Operator("b", 4, 1e-5, inputs=("a",), weights=weights)))
    plan = Plan({"a": OperatorPlan.even(2, 1), "b": OperatorPlan.even(4, 2)}, 1)
    engine = Continuous(job, Cluster(1, 4), Constant(5000.0, [1.0, 1.0]), plan, costs=Costs(queue=10**9))
    done = np.sum([engine.step().done["b"] for _ in range(10)], axis=0)
    assert done / done.sum() == pytest.approx(weights / 8.0, abs=0.01)


def test_a_diamond_sends_every_row_both_ways() -> None:
    parts = (
        Operator("split", 4, 1e-4),
        Operator("left", 4, 1e-4, inputs=("split",)),
        Operator("right", 4, 1e-4, inputs=("split",)),
        Operator("join", 4, 1e-4, inputs=("left", "right")),
    )
    plan = Plan({o.name: OperatorPlan.even(4, 1) for o in parts}, 1)
    engine = Continuous(Job(parts), Cluster(1, 4), Constant(1000.0, [1.0] * 4, seconds=3.0), plan)
    total = {o.name: 0 for o in parts}
    for _ in range(5):
        seen = engine.step()
        for name in total:
            total[name] += int(seen.done[name].sum())
    assert total["split"] == total["left"] == total["right"] > 2000
    assert total["join"] == 2 * total["split"]


# Nothing is lost, nothing is overtaken


MOVING = [Pause.SHARD, Pause.OPERATOR, Pause.PAIR]
QUICK: dict[str, Any] = {"shard_sync": 0.002, "operator_sync": 0.025, "upstream": 1, "pair_sync": 0.05}


def in_use(running: Continuous) -> int:
    """Rows in queues or in service, from the engine's records, without the labels of moving shards."""
    rows = len(running._rows) - int(running._totals[0]["free_rows"])
    labels = int(((running._shards["target"] >= 0) & (running._shards["ready"] >= FOREVER)).sum())
    served = int((running._unfinished["shard"] >= 0).sum())
    return rows + served - labels * (running.pause is Pause.SHARD)


@st.composite
def changes(draw: st.DrawFn, shards: int, slots: int) -> list[tuple[int, OperatorPlan]]:
    """Plans and the intervals after which they are applied; slots are added and removed, always on the same node."""
    found, number = [], 0
    for _ in range(draw(st.integers(1, 5))):
        number += draw(st.integers(1, 6))
        routing = draw(st.lists(st.integers(0, slots - 1), min_size=shards, max_size=shards))
        nodes = [slot % 2 if slot in routing or draw(st.booleans()) else -1 for slot in range(slots)]
        found.append((number, slots_of(*routing, nodes=nodes)))
    return found


@settings(max_examples=40, deadline=None)
@given(
    changes(5, 4),
    st.sampled_from(MOVING),
    st.sampled_from([UNBOUNDED, 20, 3]),
    st.sampled_from([0.0, 20e3]),
    st.integers(0, 99),
)
def test_rows_that_arrived_are_completed_or_wait(
    plans: list[tuple[int, OperatorPlan]], pause: Pause, queue: int, state: float, seed: int
) -> None:
    """Two operators, random rows and costs, random plans for both, whether or not the change before is done."""
    rng = np.random.default_rng(seed)
    rows = [(t, int(s)) for t, s in zip(np.sort(rng.random(400)) * 2, rng.integers(0, 5, 400), strict=True)]
    job = Job(
        (
            Operator("a", 5, 0.008, 1.0, state_bytes=state),
            Operator("b", 5, 0.004, 1.0, inputs=("a",), weights=np.ones(5), state_bytes=state),
        )
    )
    plan = Plan({name: slots_of(0, 1, 2, 3, 0, nodes=[0, 1, 0, 1]) for name in "ab"}, 2)
    costs = Costs(queue=queue, hold=30, **{**QUICK, "pair_sync": 0.02})
    running = Continuous(
        job, Cluster(2, 4, 1e6), Scripted(rows, 5), plan, pause=pause, costs=costs, timing=Timing(0.01, 0.05), room=6
    )
    offered = admitted = 0
    asked = dict(plans)
    for number in range(1, 400):
        seen = running.step()
        if number in asked:
            running.apply(Plan({"a": asked[number], "b": asked[number]}, 2))
        offered, admitted = offered + seen.offered, admitted + seen.admitted
        a, b = seen.observation.operators["a"], seen.observation.operators["b"]
        assert a.arrived.sum() == admitted <= offered
        assert b.arrived.sum() == a.completed.sum()
        assert (a.completed <= a.arrived).all()
        assert (b.completed <= b.arrived).all()
        waiting = (a.arrived - a.completed).sum() + (b.arrived - b.completed).sum()
        assert in_use(running) == waiting
        if number > 50 and b.completed.sum() == 400:
            break
    assert b.completed.sum() == admitted == offered == 400
    assert not running.busy("a")
    assert not running.busy("b")
    for name in "ab":
        assert running.observed.operators[name].same(running.plan.operators[name])


@settings(max_examples=40, deadline=None)
@given(
    changes(3, 3),
    st.sampled_from(MOVING),
    st.lists(st.tuples(st.integers(0, 150), st.integers(0, 2)), min_size=5, max_size=60, unique=True),
)
def test_rows_of_a_shard_are_completed_in_the_order_they_arrived(
    plans: list[tuple[int, OperatorPlan]], pause: Pause, given_rows: list[tuple[int, int]]
) -> None:
    """Intervals of 1 ms, rows of 5 ms: a shard completes one row at most in each, which has to be its oldest.

    So the time it arrived plus the time it waited is when it was done, one row of a shard after the other.
    """
    rows = sorted((time / 1000 + 1e-4 * shard, shard) for time, shard in given_rows)
    arrivals = [[time for time, shard in rows if shard == s] for s in range(3)]
    running = engine(
        rows,
        slots_of(0, 1, 2, nodes=[0, 1, 0]),
        0.005,
        2,
        interval=0.001,
        tick=0.001,
        bandwidth=1e6,
        costs={**QUICK, "operator_sync": 0.004, "pair_sync": 0.006},
        pause=pause,
    )
    asked = {7 * number: plan for number, plan in plans}
    last, count = [0.0] * 3, [0] * 3
    for number in range(1, 1200):
        seen = running.step()
        if number in asked:
            move(running, asked[number])
        for shard in range(3):
            rows_done = int(seen.done["work"][shard])
            assert rows_done <= 1
            if rows_done:
                arrived = arrivals[shard][count[shard]]
                end = arrived + float(seen.waited["work"][shard])
                assert end >= max(arrived, last[shard]) + 0.005 - 1e-9
                assert end - 0.005 <= seen.observation.time + 1e-9
                last[shard], count[shard] = end, count[shard] + 1
        if sum(count) == len(rows):
            break
    assert sum(count) == len(rows)
