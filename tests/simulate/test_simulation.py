"""A policy on an engine: when it decides, what the trace holds, and how success is measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.policies import Drs, Static, StreamSwitch
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.epochs import Epochs
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import LatencyBound, Simulation
from rheostat.workloads.arrivals import Constant
from tests.simulate.scripted import Scripted, engine, slots_of


@dataclass
class Watching:
    """Records its observations, and wants a plan from a given observation on."""

    wants: OperatorPlan | None = None
    since: int = 3
    name: str = "watching"
    pause: Pause = Pause.SHARD
    waits: Waits = Waits(rest=0.0, calm=0.0)
    on_spark: bool = False
    ahead: bool = False
    seen: list[Observation] = field(default_factory=list)

    def begin(self, plan: Plan) -> int:
        return 0

    def learn(self, history: int, observation: Observation) -> int:
        self.seen.append(observation)
        return history + 1

    def decide(self, history: int, plan: Plan) -> Proposal:
        if self.wants is None or history < self.since or plan.operators["work"].same(self.wants):
            return Proposal()
        return Proposal((Revision("work", self.wants, Action.SCALE_OUT, ("it is time",)),))


def constant(rate: float = 200.0, slots: int = 2, interval: float = 0.5, cost: float = 0.002) -> Continuous:
    job = Job((Operator("work", 8, cost),))
    plan = Plan({"work": OperatorPlan.even(8, slots)}, 1)
    return Continuous(job, Cluster(1, 8), Constant(rate, [1.0] * 8), plan, timing=Timing(0.01, interval))


def test_every_interval_is_seen_and_logged() -> None:
    policy, watched = Watching(), list[Interval]()
    trace = Simulation(constant(), policy).run(5.0, watched.append)
    assert len(watched) == len(policy.seen) == len(trace.time) == len(trace.decision_seconds) == 10
    assert trace.time == pytest.approx(0.5 * np.arange(1, 11))
    assert trace.offered == pytest.approx([i.offered / 0.5 for i in watched])
    assert trace.throughput == pytest.approx([i.end_rows / 0.5 for i in watched])
    assert trace.policy == "watching"
    assert trace.slots["work"].tolist() == [2.0] * 10
    assert trace.bins.sum() == sum(i.end_rows for i in watched)


def test_latency_is_that_of_rows() -> None:
    rows = [(0.01, 0), (0.012, 0), (0.71, 0)]
    trace = Simulation(engine(rows, slots_of(0), interval=0.5), Static()).run(1.5)
    assert trace.latency[:2] == pytest.approx([(0.01 + 0.018) / 2, 0.01])
    assert np.isnan(trace.latency[2])
    assert trace.operator_latency["work"][:2] == pytest.approx([0.014, 0.01])


def test_a_decision_is_logged_and_carried_out() -> None:
    policy = Watching(OperatorPlan.even(8, 4))
    trace = Simulation(constant(), policy).run(5.0)
    (decision,) = trace.decisions
    assert (decision.time, decision.operator, decision.action) == (1.5, "work", "scale out")
    assert (decision.slots, decision.moved, decision.reasons) == ((2, 4), 6, ("it is time",))
    assert trace.slots["work"].tolist() == [2.0] * 3 + [4.0] * 7


def test_decisions_may_be_rarer_than_intervals() -> None:
    policy = Watching()
    trace = Simulation(constant(), policy, every=4).run(10.0)
    assert [o.epoch for o in policy.seen] == [4, 8, 12, 16, 20]
    assert len(trace.time) == 20


def test_rarer_decisions_see_the_whole_time_between_them() -> None:
    """Rows by the counters, over the seconds of the observation, are the rate; so are useful seconds the load."""
    policy = Watching()
    Simulation(constant(200.0), policy, every=4).run(40.0)
    one, other = policy.seen[-2], policy.seen[-1]
    rows = (other.operators["work"].arrived - one.operators["work"].arrived).sum()
    assert rows / other.seconds == pytest.approx(200.0, rel=0.2)
    assert other.operators["work"].useful.sum() == pytest.approx(rows * 0.002, rel=0.1)


@pytest.mark.parametrize("policy", [StreamSwitch(), Drs()])
def test_overload_is_answered_by_those_who_decide_rarely(policy: StreamSwitch | Drs) -> None:
    running = constant(900.0, slots=1, interval=1.0)
    running.pause = policy.pause
    trace = Simulation(running, policy, every=5).run(60.0)
    assert trace.slots["work"][-1] >= 2


def test_a_run_may_go_on() -> None:
    running = constant()
    first = Simulation(running, Static()).run(2.0)
    second = Simulation(running, Static()).run(4.0)
    assert first.time[-1] == pytest.approx(2.0)
    assert second.time[[0, -1]] == pytest.approx([2.5, 4.0])


def test_a_run_of_no_time_has_an_empty_trace() -> None:
    assert len(Simulation(constant(), Static()).run(0.0).time) == 0


def test_success_counts_windows_by_shard() -> None:
    """Shard 0 waits for nothing; the rows of shard 1 come faster than they go, and after a while take half a second."""
    rows = [(i / 20, 0) for i in range(200)] + [(i / 120 + 0.0001, 1) for i in range(1200)]
    running = engine(rows, slots_of(0, 1), interval=0.1)
    trace = Simulation(running, Static(), bound=LatencyBound(0.5, 1.0)).run(10.0)
    alone, busy = trace.success["work"]
    assert alone == 1.0
    # The i-th row waits i * (1/100 - 1/120) seconds: half a second at i = 300, which is served at about 3 s. The mean
    # of the last second is half a second then, plus half of what the wait grows in a second.
    assert busy == pytest.approx(0.35, abs=0.05)


def test_what_happens_in_the_warm_up_does_not_count() -> None:
    """A hundred rows at once in the beginning take up to a second each; later ones none."""
    rows = [(0.0, 0)] * 100 + [(5.0 + i / 20, 0) for i in range(100)]
    late = Simulation(engine(rows, slots_of(0), interval=0.1), Static(), bound=LatencyBound(0.1), warm_up=3.0).run(10.0)
    early = Simulation(engine(rows, slots_of(0), interval=0.1), Static(), bound=LatencyBound(0.1)).run(10.0)
    assert late.mean_success() == 1.0
    assert early.mean_success() < 1.0
    assert (late.bins.sum(), early.bins.sum()) == (100, 200)


def test_operators_may_have_bounds_of_their_own_and_the_job_one() -> None:
    job = Job((Operator("a", 2, 0.001), Operator("b", 2, 0.004, inputs=("a",))))
    plan = Plan({"a": slots_of(0, 0), "b": slots_of(0, 0)}, 1)
    rows = [(i / 10, i % 2) for i in range(50)]

    def run(bound: LatencyBound) -> tuple[float, float, float]:
        running = Continuous(
            job, Cluster(1, 4, np.inf), Scripted(rows, 2), plan, costs=Costs(), timing=Timing(0.01, 0.5)
        )
        trace = Simulation(running, Static(), bound=bound).run(5.0)
        return trace.mean_success("a"), trace.mean_success("b"), trace.end_to_end

    assert run(LatencyBound(0.002, end_to_end=0.0051)) == (1.0, 0.0, 1.0)
    assert run(LatencyBound(0.002, operators={"b": 0.0041}, end_to_end=0.0049)) == (1.0, 1.0, 0.0)
    assert np.isnan(run(LatencyBound(0.002))[2])


def test_without_a_bound_there_is_no_success() -> None:
    trace = Simulation(constant(), Static()).run(2.0)
    assert trace.success == {}
    assert "success" not in trace.summary()


def test_windows_of_epochs_are_as_long_as_the_bound_says() -> None:
    """Epochs last 1.2 s once there are rows, so that each is a window of a second by itself.

    A burst makes some of them late. The first one, without rows, is a third as long: three make a window here.
    """
    burst = [(20.0 + i / 20_000, 0) for i in range(3000)]
    usual = [(0.5 + i / 1000, 0) for i in range(99_000)]
    plan = Plan({"work": slots_of(0)}, 1)
    job, load = Job((Operator("work", 1, 0.00075),)), Scripted(usual + burst, 1)
    late: list[bool] = []
    seconds: list[float] = []

    def watch(seen: Interval) -> None:
        rows = int(seen.done["work"].sum())
        late.append(rows > 0 and float(seen.waited["work"].sum()) / rows > 3.0)
        seconds.append(seen.observation.seconds)

    running = Epochs(job, Cluster(1, 1), load, plan, overhead=0.3, task=0.0)
    trace = Simulation(running, Static(), bound=LatencyBound(3.0, 1.0)).run(99.0, watch)
    assert np.diff(trace.time)[20:].min() > 1.0
    assert trace.mean_success() == pytest.approx(1 - np.average(late, weights=seconds))


def test_remote_and_migrated_bytes_are_by_the_second() -> None:
    policy = Watching(slots_of(1, 0, nodes=[0, 1]))
    running = engine([], slots_of(0, 0, nodes=[0, 1]), nodes=2, interval=0.5, state=1000.0)
    trace = Simulation(running, policy).run(5.0)
    assert trace.migrated.sum() * 0.5 == pytest.approx(1000.0)
    assert trace.nodes.tolist() == [2.0] * 10
    assert trace.moved["far_moves"] == 1
