"""The continuous engine: exact times worked out by hand, full queues, the network, and plans that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.model.plan import OperatorPlan, Plan, Subspaces
from rheostat.errors import ConfigurationError, RheostatError
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.workloads.arrivals import Constant
from tests.simulate.scripted import Scripted, done, engine, exact, slots_of, steps, waited

# Worked out by hand


def test_three_rows_and_one_slot() -> None:
    """Rows at 0, 4 and 30 ms cost 10 ms each: done at 10, 20 and 40 ms, after 10, 16 and 10 ms."""
    running = engine([(0.0, 0), (0.004, 0), (0.03, 0)], slots_of(0))
    seen = running.step()
    assert done([seen]) == [3]
    assert waited([seen]) == exact([0.036])
    assert seen.observation.operators["work"].useful == exact([0.03])
    assert seen.observation.operators["work"].latency == exact([0.012])


def test_two_shards_share_a_slot_and_a_third_has_its_own() -> None:
    """Slot 0: shard 0 at 1 ms, done at 11; shard 1 at 2 ms, done at 21; shard 0 at 3 ms, done at 31. Slot 1: 4, 14."""
    running = engine([(0.001, 0), (0.002, 1), (0.003, 0), (0.004, 2)], slots_of(0, 0, 1))
    assert waited([running.step()]) == exact([0.01 + 0.028, 0.019, 0.01])


def test_two_servers_take_rows_in_turn() -> None:
    """Rows at 0, 1, 2 and 3 ms: the servers are free at 10, 11, 20 and 21 ms."""
    running = engine([(0.001 * i, 0) for i in range(4)], slots_of(0), servers=2)
    assert waited([running.step()]) == exact([0.01 + 0.01 + 0.018 + 0.018])


def test_a_row_goes_through_two_operators_within_a_tick() -> None:
    """10 ms in the first, done at 11 and 21 ms; 4 ms in the second, done at 15 and 25 ms."""
    job = Job((Operator("a", 1, 0.01), Operator("b", 1, 0.004, inputs=("a",))))
    plan = Plan({"a": slots_of(0), "b": slots_of(0)}, 1)
    running = Continuous(
        job, Cluster(1, 2, np.inf), Scripted([(0.001, 0), (0.002, 0)], 1), plan, timing=Timing(0.1, 0.1)
    )
    seen = running.step()
    assert waited([seen], "a") == exact([0.01 + 0.019])
    assert waited([seen], "b") == exact([0.004 + 0.004])
    assert seen.end_rows == 2
    assert seen.end_waited == exact(0.014 + 0.023)


def test_rows_of_two_senders_are_served_as_they_arrive() -> None:
    """Slot 0 sends at 8 ms, slot 1 at 2 ms; both rows find the next operator idle, and take 1 ms there."""
    job = Job((Operator("a", 2, 0.001), Operator("b", 2, 0.001, inputs=("a",))))
    plan = Plan({"a": slots_of(0, 1), "b": slots_of(0, 0)}, 1)
    running = Continuous(job, Cluster(1, 4, np.inf), Scripted([(0.007, 0), (0.001, 1)], 2), plan)
    assert waited([running.step()], "b") == exact([0.001, 0.001])


def test_the_length_of_a_tick_changes_nothing_for_one_operator() -> None:
    rows = [(0.0137 * i % 0.9, i % 3) for i in range(60)]
    found = [
        waited(steps(engine(rows, slots_of(0, 1, 1), tick=tick, interval=0.5), 3)) for tick in (0.5, 0.1, 0.01, 0.0005)
    ]
    for other in found[1:]:
        assert other == exact(found[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), min_size=1, max_size=40))
def test_waiting_times_are_those_of_lindleys_recursion(given_rows: list[tuple[int, int]]) -> None:
    """Every slot by itself: a row is done one cost after it is there and the row before it is done."""
    rows = sorted((time / 1000, shard) for time, shard in given_rows)
    slot_of = [0, 0, 1, 2]
    free, expected = [0.0] * 3, [0.0] * 4
    for time, shard in rows:
        free[slot_of[shard]] = max(free[slot_of[shard]], time) + 0.01
        expected[shard] += free[slot_of[shard]] - time
    assert waited(steps(engine(rows, slots_of(*slot_of)), 10)) == exact(expected)


# Counters


def test_counters_go_on_and_what_is_done_is_of_the_interval() -> None:
    running = engine([(0.05, 0), (0.15, 0), (0.16, 1)], slots_of(0, 0))
    first, second = steps(running, 2)
    assert first.observation.operators["work"].arrived.tolist() == [1.0, 0.0]
    assert second.observation.operators["work"].arrived.tolist() == [2.0, 1.0]
    assert second.observation.operators["work"].completed.tolist() == [2.0, 1.0]
    assert second.done["work"].tolist() == [1, 1]
    assert (first.offered, second.offered, second.admitted) == (1, 2, 2)
    assert (first.observation.time, second.observation.time) == pytest.approx((0.1, 0.2))
    assert (first.observation.epoch, second.observation.epoch) == (1, 2)
    assert second.bins.sum() == 2


def test_an_observation_stays_as_it_was_when_the_engine_goes_on() -> None:
    running = engine([(0.01 * i, 0) for i in range(40)], slots_of(0))
    first = running.step()
    before = first.observation.operators["work"].arrived.copy(), first.done["work"].copy(), first.bins.copy()
    steps(running, 3)
    assert (first.observation.operators["work"].arrived == before[0]).all()
    assert (first.done["work"] == before[1]).all()
    assert (first.bins == before[2]).all()


def test_no_slot_works_longer_than_the_interval() -> None:
    """A row of one second in intervals of a tenth: a tenth of useful time in each of ten."""
    running = engine([(0.0, 0)], slots_of(0), cost=1.0)
    assert [float(i.observation.operators["work"].useful[0]) for i in steps(running, 4)] == pytest.approx([0.1] * 4)


def test_a_row_is_completed_when_it_is_done() -> None:
    """A row of one second that arrives at once is not completed before a second is over."""
    running = engine([(0.0, 0)], slots_of(0), cost=1.0, interval=0.5)
    assert [done([seen]) for seen in steps(running, 3)] == [[0], [1], [0]]


def test_the_same_seed_is_the_same_run() -> None:
    def run(seed: int) -> list[float]:
        job = Job((Operator("a", 4, 0.002, 1.0, selectivity=1.5), Operator("b", 4, 0.001, 1.0, inputs=("a",))))
        plan = Plan({"a": OperatorPlan.even(4, 2), "b": OperatorPlan.even(4, 2)}, 1)
        running = Continuous(job, Cluster(1, 4), Constant(400.0, [1.0] * 4), plan, seed=seed)
        return [x for seen in steps(running, 5) for x in (*seen.waited["a"], *seen.waited["b"], seen.end_waited)]

    assert run(1) == run(1)
    assert run(1) != run(2)


# Time


@pytest.mark.parametrize("patience", [np.inf, 0.0])
def test_an_interval_that_is_no_multiple_of_the_tick_is_simulated_whole(patience: float) -> None:
    """95 rows a second of 10 ms each are 95 % of what a slot can do. Or else such a timing is to be refused."""
    work = Constant(95.0, [1.0], poisson=False)
    plan = Plan({"work": slots_of(0)}, 1)
    job, timing = Job((Operator("work", 1, 0.01),)), Timing(0.03, 0.1)
    running = Continuous(job, Cluster(1, 1, np.inf), work, plan, timing=timing, patience=patience)
    seen = steps(running, 300)
    assert sum(done(seen)) == pytest.approx(95 * 30, rel=0.01)


def test_a_slot_that_is_half_busy_holds_nobody_back() -> None:
    """50,000 rows a second of 10 microseconds each: 500 in a tick of 10 ms, though at no time more than a few wait."""
    plan = Plan({"work": OperatorPlan.even(8, 1)}, 1)
    running = Continuous(Job((Operator("work", 8, 1e-5),)), Cluster(1, 1), Constant(50_000.0, [1.0] * 8), plan)
    seen = steps(running, 3)[-1]
    assert seen.admitted == pytest.approx(seen.offered, rel=0.01)


# Full queues


def test_a_full_queue_stops_the_source_and_nothing_is_lost() -> None:
    """400 rows a second for one second, at 100 rows a second: after four seconds all are done, after 10 ms to 3 s."""
    rows = [(i / 400, 0) for i in range(400)]
    running = engine(rows, slots_of(0), interval=1.0, queue=10)
    seen = steps(running, 5)
    assert [interval.offered for interval in seen] == [400, 0, 0, 0, 0]
    assert seen[0].admitted <= 100 + 12
    assert done(seen) == [400]
    # As without any bound: the i-th row is done at (i + 1) / 100 seconds.
    assert waited(seen) == pytest.approx([sum((i + 1) / 100 - i / 400 for i in range(400))], rel=0.02)
    assert seen[0].observation.wanted > seen[0].observation.external


def test_a_source_without_patience_sends_only_what_it_is_let() -> None:
    rows = [(i / 400, 0) for i in range(1200)]
    running = engine(rows, slots_of(0), interval=1.0, queue=10, patience=0.0)
    seen = steps(running, 5)
    assert sum(done(seen)) == sum(i.admitted for i in seen) == pytest.approx(300, abs=15)
    assert max(w / d for w, d in zip(waited(seen), done(seen), strict=True)) < 0.15


def test_rows_that_wait_longer_than_the_patience_are_never_sent() -> None:
    rows = [(i / 400, 0) for i in range(1200)]
    running = engine(rows, slots_of(0), interval=1.0, queue=10, patience=1.0)
    seen = steps(running, 8)
    assert sum(done(seen)) == pytest.approx(400, abs=20)  # three seconds, and what is left for one more
    assert seen[-1].done["work"].sum() == 0


def test_one_hot_slot_stops_everybody() -> None:
    """Shard 0 has a slot that cannot keep up; the source stops for it, and so shard 1 gets no more than half of all."""
    rows = [(i / 400, i % 2) for i in range(1600)]
    running = engine(rows, slots_of(0, 1), interval=1.0, queue=20)
    seen = steps(running, 3)
    counts = done(seen)
    assert counts[0] == pytest.approx(300, abs=25)
    assert abs(counts[0] - counts[1]) <= 25


def test_a_full_queue_downstream_stops_the_operator_before_it() -> None:
    job = Job((Operator("a", 1, 0.001), Operator("b", 1, 0.01, inputs=("a",))))
    plan = Plan({"a": slots_of(0), "b": slots_of(0)}, 1)
    rows = [(i / 1000, 0) for i in range(1000)]
    running = Continuous(job, Cluster(1, 2, np.inf), Scripted(rows, 1), plan, costs=Costs(queue=10))
    seen = steps(running, 2)
    arrived = seen[-1].observation.operators["b"].arrived[0]
    completed = seen[-1].observation.operators["b"].completed[0]
    assert completed == pytest.approx(200, abs=2)
    assert arrived - completed <= 10 + 10 + 1  # the bound, and what a tick may bring before it is felt
    seen += steps(running, 10)
    assert done(seen, "a") == done(seen, "b") == [1000]


# Room for rows


def many(slots: int = 32) -> Continuous:
    """Every slot of ``a`` works on a row when the first interval ends, and on another one in the second.

    Each becomes a thousand rows of ``b``, which is in no hurry.
    """
    parts = (Operator("a", slots, 0.06, selectivity=1000.0), Operator("b", slots, 0.001, inputs=("a",)))
    plan = Plan({o.name: OperatorPlan.even(slots, slots) for o in parts}, 1)
    rows = [(time, shard) for time in (0.05, 0.1) for shard in range(slots)]
    costs, timing = Costs(queue=10**9), Timing(0.01, 0.1)
    return Continuous(Job(parts), Cluster(1, 64), Scripted(rows, slots), plan, costs=costs, timing=timing)


def test_rows_in_service_find_room_for_all_that_they_send() -> None:
    seen = steps(many(), 25)
    assert seen[1].observation.operators["b"].arrived.sum() == 64_000
    assert sum(done(seen, "b")) == 64_000


def test_rows_without_room_are_no_silent_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    running = many()
    running.step()
    monkeypatch.setattr(Continuous, "_make_room", lambda *_: None)
    with pytest.raises(RheostatError, match=r"lost \d+ rows because its pool of rows was full"):
        running.step()


# The network


def remote(row_bytes: float = 1000.0, bandwidth: float = 125e6, **more: Any) -> Continuous:
    """An executor that lives on node 0 and has its only slot on node 1."""
    plan = OperatorPlan(
        np.zeros(2, dtype=np.int64),
        np.array([1]),
        Subspaces(np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)),
    )
    rows = [(i / 300, i % 2) for i in range(900)]
    return engine(rows, plan, 0.001, 2, 1.0, bandwidth=bandwidth, row_bytes=row_bytes, **more)


def test_bytes_to_remote_slots_are_rows_times_their_size() -> None:
    seen = steps(remote(), 4)
    assert sum(i.remote for i in seen) == sum(done(seen)) * 1000.0 == 900_000.0


def test_slots_at_home_send_nothing() -> None:
    local = engine([(i / 300, 0) for i in range(300)], slots_of(0), 0.001, 2, bandwidth=1e6, row_bytes=1000.0)
    assert sum(i.remote for i in steps(local, 20)) == 0.0


def test_what_a_remote_slot_sends_on_goes_home_first() -> None:
    """Two rows of 300 bytes for each of 1000: 1600 bytes between home and slot."""
    owned = Subspaces(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    job = Job(
        (
            Operator("a", 1, 0.001, row_bytes=1000.0, out_bytes=300.0, selectivity=2.0),
            Operator("b", 1, 0.0001, inputs=("a",)),
        )
    )
    plan = Plan({"a": OperatorPlan(np.zeros(1, dtype=np.int64), np.array([1]), owned), "b": slots_of(0)}, 2)
    running = Continuous(job, Cluster(2, 2), Scripted([(i / 100, 0) for i in range(50)], 1), plan)
    assert sum(i.remote for i in steps(running, 2)) == 50 * 1600.0


def test_no_node_sends_more_than_its_bandwidth() -> None:
    """300 rows a second of 1000 bytes, at 100,000 bytes a second: 100 rows a second get through, none is lost."""
    running = remote(bandwidth=1e5)
    seen = steps(running, 12)
    by_second = [sum(done([interval])) for interval in seen]
    total = np.cumsum(by_second)
    assert (total <= 100.0 * np.arange(1, 13) + 1).all()
    assert by_second[1:8] == pytest.approx([100] * 7, abs=2)
    assert total[-1] == 900


def test_rows_wait_for_the_network_before_they_are_served() -> None:
    """One row of 1000 bytes at 100,000 bytes a second: from node 0, where it enters, 10 ms to node 1; then 1 ms."""
    row = remote(bandwidth=1e5)
    row.workload = Scripted([(0.5, 0)], 2)
    assert waited(steps(row, 1)) == exact([0.011, 0.0])


# Plans


def bad(plan: OperatorPlan, **more: Any) -> Any:
    return lambda: engine([], plan, nodes=2, **more)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(bad(slots_of(0, 1, nodes=[0, 7])), id="a node that is not there"),
        pytest.param(bad(slots_of(0, 1, nodes=[0, -1])), id="a slot that is not there"),
        pytest.param(bad(slots_of(*range(8)), room=4), id="more slots than there is room for"),
    ],
)
def test_a_plan_to_begin_with_is_checked(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


@pytest.mark.parametrize(
    "plan", [slots_of(0, 1, nodes=[0, 7]), slots_of(0, 1, nodes=[0, -1]), slots_of(0), slots_of(0, 8)]
)
def test_a_plan_that_cannot_be_is_refused(plan: OperatorPlan) -> None:
    running = engine([], slots_of(0, 0), nodes=2)
    running.step()
    with pytest.raises(ConfigurationError):
        running.apply(Plan({"work": plan}, 2))


def test_a_workload_with_other_shards_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="2 shards, but the workload has 3"):
        Continuous(Job((Operator("work", 2, 0.01),)), Cluster(1, 1), Scripted([], 3), Plan({"work": slots_of(0, 0)}, 1))


@pytest.mark.parametrize("timing", [(0.0, 1.0), (2.0, 1.0), (0.1, np.inf), (-1.0, 1.0)])
def test_a_timing_that_makes_no_sense_is_refused(timing: tuple[float, float]) -> None:
    with pytest.raises(ConfigurationError):
        Timing(*timing)
