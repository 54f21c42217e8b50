"""The micro-batch engine: its law, the rows and reports of epochs, and the cost of changing the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheostat.elastic.elasticutor.shard_rates import ShardRates
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.queueing import epoch_latency, epoch_seconds
from rheostat.elastic.policies import Static
from rheostat.errors import ConfigurationError
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.epochs import Epochs
from rheostat.simulate.job import Cluster, Job, Operator
from rheostat.simulate.simulation import Simulation
from rheostat.workloads.arrivals import Constant, RateCurve
from tests.simulate.scripted import slots_of

WITHIN = 0.02


def epochs(
    rate: float = 1e6,
    cost: float = 1e-6,
    plan: OperatorPlan | None = None,
    nodes: int = 1,
    cores: int = 16,
    weights: Any = (1.0,) * 8,
    overhead: float = 0.2,
    task: float = 0.0,
    bandwidth: float = 125e6,
    **more: Any,
) -> Epochs:
    shards = len(weights)
    work = Operator("work", shards, cost, state_bytes=1e6)
    where = Plan({"work": plan or OperatorPlan.even(shards, 2, nodes)}, nodes)
    cluster, load = Cluster(nodes, cores, bandwidth), Constant(rate, weights)
    return Epochs(Job((work,)), cluster, load, where, overhead=overhead, task=task, **more)


def lengths(running: Epochs, count: int, after: int = 0) -> float:
    """The mean length of epochs."""
    times = [running.time]
    for _ in range(count):
        running.step()
        times.append(running.time)
    return float(np.diff(times)[after:].mean())


# The law D = o / (1 - rho)


@pytest.mark.parametrize("rho", [0.0, 0.25, 0.5, 0.8])
def test_an_epoch_lasts_overhead_over_one_minus_rho(rho: float) -> None:
    """Two slots with half of the rows each."""
    running = epochs(rate=2 * rho * 1e6)
    assert lengths(running, 150, 100) == pytest.approx(float(epoch_seconds(0.2, rho)), rel=WITHIN)


def test_the_busiest_slot_decides() -> None:
    """Three quarters of the rows in slot 0: 0.6 seconds of work per second."""
    running = epochs(8e5, plan=slots_of(0, 0, 0, 0, 0, 0, 1, 1))
    assert lengths(running, 150, 100) == pytest.approx(float(epoch_seconds(0.2, 0.6)), rel=WITHIN)


def test_stages_follow_each_other() -> None:
    """0.3 in two slots of the first operator; 0.3 in four of the second, half as many rows of four times the cost."""
    job = Job((Operator("a", 4, 1e-6, selectivity=0.5), Operator("b", 4, 4e-6, inputs=("a",))))
    plan = Plan({"a": OperatorPlan.even(4, 2), "b": OperatorPlan.even(4, 4)}, 1)
    running = Epochs(job, Cluster(1, 16), Constant(6e5, [1.0] * 4), plan, overhead=0.2, task=0.0)
    assert lengths(running, 150, 100) == pytest.approx(float(epoch_seconds(0.2, 0.3 + 0.3)), rel=WITHIN)


def test_a_task_costs_a_core_even_without_rows() -> None:
    running = epochs(rate=0.0, task=0.05)
    assert lengths(running, 10) == pytest.approx(0.25)


def test_slots_that_share_cores_take_turns() -> None:
    """Four slots of 0.2 on two cores are 0.4 per core."""
    running = epochs(8e5, plan=OperatorPlan.even(8, 4), cores=2)
    assert lengths(running, 150, 100) == pytest.approx(float(epoch_seconds(0.2, 0.4)), rel=WITHIN)


def test_a_slow_node_takes_longer() -> None:
    running = epochs(4e5, plan=OperatorPlan.even(8, 2, 2), nodes=2)
    slow = Epochs(
        running.job, Cluster(2, 16, speeds=(1.0, 0.5)), running.workload, running.plan, overhead=0.2, task=0.0
    )
    assert lengths(slow, 150, 100) == pytest.approx(float(epoch_seconds(0.2, 0.4)), rel=WITHIN)


def test_latency_is_one_and_a_half_epochs() -> None:
    running = epochs(1e6)
    for _ in range(50):
        running.step()
    seen = [running.step() for _ in range(50)]
    rows = sum(int(i.done["work"].sum()) for i in seen)
    mean = sum(float(i.waited["work"].sum()) for i in seen) / rows
    assert mean == pytest.approx(float(epoch_latency(0.2, 0.5)), rel=WITHIN)
    assert sum(i.end_waited for i in seen) / sum(i.end_rows for i in seen) == pytest.approx(mean)


def test_under_overload_epochs_grow_without_end() -> None:
    running = epochs(3e6)
    assert lengths(running, 3) < lengths(running, 3) < lengths(running, 3)


# What an epoch takes


def test_every_row_is_taken_once_and_the_first_epoch_takes_none() -> None:
    running = epochs(1000.0, 1e-4, overhead=0.25)
    seen = [running.step() for _ in range(40)]
    assert seen[0].admitted == 0
    assert all(a.admitted == b.offered for a, b in zip(seen[1:], seen[:-1], strict=True))
    counters = seen[-1].observation.operators["work"]
    assert counters.completed.sum() == sum(i.admitted for i in seen) == sum(int(i.done["work"].sum()) for i in seen)
    assert counters.arrived.sum() == sum(i.offered for i in seen) == pytest.approx(1000.0 * running.time, rel=0.05)


def test_epochs_begin_when_the_trigger_says() -> None:
    running = epochs(rate=100.0, trigger=1.0)
    times, seconds = [0.0], []
    for _ in range(5):
        seconds.append(running.step().observation.seconds)
        times.append(running.time)
    assert np.diff(times) == pytest.approx(seconds)
    assert seconds == pytest.approx([1.2, 1.0, 1.0, 1.0, 1.0], abs=0.01)


def test_rows_that_stop_are_no_longer_taken() -> None:
    load = RateCurve([1000.0, 0.0], step=2.0, weights=[1.0] * 8)
    plan = Plan({"work": OperatorPlan.even(8, 2)}, 1)
    running = Epochs(Job((Operator("work", 8, 1e-4),)), Cluster(1, 4), load, plan, overhead=0.2, task=0.0)
    seen = [running.step() for _ in range(40)]
    assert sum(i.offered for i in seen) == pytest.approx(2000, rel=0.1)
    assert all(i.offered == 0 for i in seen[-10:])


def test_useful_seconds_are_rows_times_cost_by_slot() -> None:
    running = epochs(8000.0, 1e-4, plan=slots_of(0, 0, 0, 0, 0, 0, 1, 1))
    for _ in range(5):
        seen = running.step()
        by_slot = np.bincount(running.plan.operators["work"].routing, weights=seen.done["work"])
        assert seen.observation.operators["work"].useful == pytest.approx(by_slot * 1e-4)


def test_the_same_seed_is_the_same_run() -> None:
    def run(seed: int) -> list[float]:
        running = epochs(seed=seed)
        return [float(running.step().waited["work"].sum()) for _ in range(10)]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_rows_that_have_arrived_and_wait_are_counted_as_arrived() -> None:
    """At the end of an epoch of 0.4 s at 10,000 rows a second about 4000 rows wait for the next."""
    running = epochs(10_000.0, 1e-4)
    for _ in range(20):
        seen = running.step().observation.operators["work"]
    assert (seen.arrived - seen.completed).sum() == pytest.approx(4000, rel=0.2)


def test_rows_that_spread_over_many_shards_are_still_rows() -> None:
    """250 rows an epoch over 1000 shards downstream: a quarter of a row each, every one after half a second or so."""
    weights = np.ones(1000)
    job = Job((Operator("a", 4, 1e-5), Operator("b", 1000, 1e-5, inputs=("a",), weights=weights)))
    plan = Plan({"a": OperatorPlan.even(4, 1), "b": OperatorPlan.even(1000, 1)}, 1)
    running = Epochs(job, Cluster(1, 4), Constant(1000.0, [1.0] * 4), plan, overhead=0.25, task=0.0)
    seen = [running.step() for _ in range(20)]
    rows = sum(int(i.done["b"].sum()) for i in seen)
    assert rows == pytest.approx(sum(int(i.done["a"].sum()) for i in seen), rel=0.01)


# What is measured


def pipeline(load: RateCurve | Constant, selectivity: float = 2.0) -> Epochs:
    """Rows of ``a`` become rows of ``b``, evenly spread."""
    first = Operator("a", 4, 1e-5, selectivity=selectivity)
    job = Job((first, Operator("b", 8, 1e-6, inputs=("a",), weights=np.ones(8))))
    plan = Plan({"a": OperatorPlan.even(4, 1), "b": OperatorPlan.even(8, 1)}, 1)
    return Epochs(job, Cluster(1, 4), load, plan, overhead=0.2, task=0.0)


@pytest.mark.parametrize(("operator", "factor"), [("a", 1.0), ("b", 2.0)])
def test_a_constant_rate_after_an_overload_is_measured_as_constant(operator: str, factor: float) -> None:
    """Ten seconds of three times what a slot can do, and then half of it: epochs become shorter one after the other."""
    load = RateCurve([300_000.0] * 10 + [50_000.0] * 190, weights=[1.0] * 4)
    running = pipeline(load)
    before, known, lengths_seen = None, ShardRates.nothing(len(running.plan.operators[operator].routing)), []
    while running.time < 180.0:
        start, seen = running.time, running.step().observation
        counters = seen.operators[operator]
        known = known.after(counters, seen.seconds, seen.stretch)
        if before is not None and start - seen.span > 10.0:
            rate = (counters.arrived - before).sum() / seen.seconds
            assert rate == pytest.approx(50_000.0 * factor, rel=0.05)
            assert seen.external * seen.seconds / seen.span == pytest.approx(50_000.0, rel=0.05)
            lengths_seen.append(seen.seconds)
        before = counters.arrived
    assert known.arrival.sum() == pytest.approx(50_000.0 * factor, rel=0.05)
    assert lengths_seen[0] > 4 * lengths_seen[-1]


def test_observations_have_the_law_as_spark_calibrates_it() -> None:
    """Costs by shard on a slow and a fast node, and lengths that the law foresees after a few epochs."""
    running = epochs(2000.0, 1e-3, plan=OperatorPlan.even(8, 2, 2), nodes=2, task=0.0)
    running = Epochs(
        running.job, Cluster(2, 8, speeds=(1.0, 0.5)), running.workload, running.plan, overhead=0.2, task=0
    )
    for _ in range(40):
        seen = running.step().observation
    count = seen.operators["work"]
    assert count.cost == pytest.approx([1e-3] * 4 + [2e-3] * 4)
    assert np.bincount(count.plan.routing, weights=count.work) == pytest.approx(count.useful)
    assert (seen.external * seen.seconds, seen.latency.rows) == pytest.approx((count.rows.sum(), count.rows.sum()))
    assert seen.law is not None
    assert seen.law.epochs > 30
    assert seen.error < 0.05
    assert seen.latency.mean == pytest.approx(seen.span / 2 + seen.busy)
    assert seen.expected_latency == pytest.approx(seen.latency.mean, rel=0.05)


def test_a_trace_of_epochs_shows_what_the_workload_offers() -> None:
    load = RateCurve([300_000.0] * 10 + [50_000.0] * 190, weights=[1.0] * 4)
    trace = Simulation(pipeline(load), Static()).run(180.0)
    steady = trace.time - trace.seconds > 10.0
    assert trace.offered[steady] == pytest.approx(50_000.0, rel=0.05)


def test_rows_of_all_last_operators_reach_the_end() -> None:
    """One row of ``split`` becomes two for ``left`` and two for ``right``, which both are the end of the job."""
    parts = (
        Operator("split", 4, 1e-5, selectivity=2.0, row_bytes=100.0, out_bytes=10.0),
        Operator("left", 4, 1e-5, inputs=("split",), row_bytes=10.0, out_bytes=1000.0),
        Operator("right", 4, 1e-5, inputs=("split",), row_bytes=10.0, out_bytes=1000.0),
    )
    plan = Plan({o.name: OperatorPlan.even(4, 1) for o in parts}, 1)
    load = Constant(1000.0, [1.0] * 4)
    engines: list[Epochs | Continuous] = [
        Epochs(Job(parts), Cluster(1, 4), load, plan, overhead=0.25, task=0.0),
        Continuous(Job(parts), Cluster(1, 4), load, plan),
    ]
    for running in engines:
        seen = [running.step() for _ in range(20)][-1]
        rows = {name: int(counts.sum()) for name, counts in seen.done.items()}
        assert seen.end_rows == rows["left"] + rows["right"] > 3 * rows["split"]
        assert seen.end_waited / seen.end_rows < 1.0
        # Nothing goes on from the end of a job, so that nothing of it goes over the network.
        seconds = seen.observation.seconds
        sizes = {n: float(o.traffic.sum()) * seconds / rows[n] for n, o in seen.observation.operators.items()}
        assert sizes == pytest.approx({"split": 120.0, "left": 10.0, "right": 10.0})


# Changes of plan


def test_a_change_within_a_node_costs_nothing() -> None:
    running = epochs(rate=0.0)
    running.step()
    running.apply(Plan({"work": OperatorPlan.even(8, 4)}, 1))
    before = running.time
    seen = running.step()
    assert running.time - before == pytest.approx(0.2)
    assert seen.migrated == 0.0
    assert running.moved()["moves"] == 6  # shards 0 and 1 stay in slot 0


def test_state_that_changes_its_node_is_sent_before_the_next_epoch() -> None:
    """Of eight shards on node 0, four with a million bytes each go to node 1: 4 MB at 10 MB/s."""
    running = epochs(0.0, plan=slots_of(*[0] * 8), nodes=2, bandwidth=1e7)
    running.step()
    running.apply(Plan({"work": slots_of(0, 0, 0, 0, 1, 1, 1, 1, nodes=[0, 1])}, 2))
    before = running.time
    seen = running.step()
    assert running.time - before == pytest.approx(0.2 + 0.4)
    assert seen.migrated == 4e6
    assert running.switches == pytest.approx([0.4])
    assert running.step().migrated == 0.0
    assert running.time - before == pytest.approx(0.2 + 0.4 + 0.2)


def test_the_busiest_node_decides_how_long_state_is_sent() -> None:
    """Shards are exchanged: each node sends three and takes three, at the same time."""
    running = epochs(0.0, plan=slots_of(0, 0, 0, 1, 1, 1, nodes=[0, 1]), nodes=2, bandwidth=1e7, weights=(1.0,) * 6)
    running.step()
    running.apply(Plan({"work": slots_of(1, 1, 1, 0, 0, 0, nodes=[0, 1])}, 2))
    assert running.switches == pytest.approx([0.3])


def test_a_slot_that_changes_its_node_takes_its_state_along() -> None:
    running = epochs(0.0, plan=slots_of(0, 0, 0, 0, 1, 1, 1, 1, nodes=[0, 0]), nodes=2)
    running.step()
    running.apply(Plan({"work": slots_of(0, 0, 0, 0, 1, 1, 1, 1, nodes=[0, 1])}, 2))
    assert running.step().migrated == 4e6


def test_the_plan_is_that_of_the_next_epoch() -> None:
    running = epochs()
    wanted = OperatorPlan.even(8, 4)
    running.apply(Plan({"work": wanted}, 1))
    assert running.observed.operators["work"] is wanted
    assert running.step().observation.operators["work"].plan is wanted


def test_a_plan_that_cannot_be_is_refused() -> None:
    running = epochs()
    for plan in (slots_of(0), slots_of(*[0] * 7, 1, nodes=[0, -1]), slots_of(*[0] * 8, nodes=[3])):
        with pytest.raises(ConfigurationError):
            running.apply(Plan({"work": plan}, 1))
    assert running.plan.operators["work"].slots == 2


def test_a_plan_to_begin_with_is_checked() -> None:
    with pytest.raises(ConfigurationError):
        epochs(plan=slots_of(*[0] * 7, 1, nodes=[0, -1]))


def test_operators_that_a_plan_does_not_name_stay_as_they_are() -> None:
    """As in the continuous engine."""
    job = Job((Operator("a", 4, 1e-4), Operator("b", 4, 1e-4, inputs=("a",))))
    plan = Plan({"a": OperatorPlan.even(4, 2), "b": OperatorPlan.even(4, 2)}, 1)
    running = Epochs(job, Cluster(1, 4), Constant(100.0, [1.0] * 4), plan)
    running.apply(Plan({"b": OperatorPlan.even(4, 1)}, 1))
    running.step()


@pytest.mark.parametrize("given", [{"overhead": 0.0}, {"overhead": -1.0}, {"task": -0.1}, {"overhead": float("nan")}])
def test_an_epoch_that_takes_no_time_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="an epoch must take some time"):
        epochs(**given)  # type: ignore[arg-type]


def test_a_workload_with_other_shards_is_refused() -> None:
    plan = Plan({"work": OperatorPlan.even(4, 2)}, 1)
    with pytest.raises(ConfigurationError, match="4 shards, but the workload has 3"):
        Epochs(Job((Operator("work", 4, 1e-4),)), Cluster(1, 4), Constant(1.0, [1.0] * 3), plan)
