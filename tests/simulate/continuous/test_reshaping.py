"""Elastic executors that are split and merged: shards that change their executor stop the whole operator."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rheostat.elastic.model.plan import OperatorPlan, Plan, Subspaces
from rheostat.elastic.model.policy import Pause
from rheostat.elastic.policies import Elasticutor
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.continuous.shard_moves import changes_executors
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import Simulation
from rheostat.simulate.trace import Trace
from rheostat.workloads.arrivals import RateCurve
from tests.simulate.scripted import done, engine, move, steps

QUICK: dict[str, Any] = {"shard_sync": 0.002, "operator_sync": 0.15, "upstream": 2}
"""300 ms to tell all upstream executors the new routing."""


def owned(routing: list[int], executors: list[int], owners: list[int]) -> OperatorPlan:
    """Slots of executors that all live on node 0."""
    homes = np.zeros(max(executors) + 1, dtype=np.int64)
    subspaces = Subspaces(np.array(executors), np.array(owners), homes)
    return OperatorPlan(np.array(routing), np.zeros(len(owners), dtype=np.int64), subspaces)


BEFORE = owned([0, 1, 2], [0, 0, 1], [0, 0, 1])
"""Shards 0 and 1 in slots of executor 0, shard 2 in the slot of executor 1."""


def stopped(before: OperatorPlan, after: OperatorPlan) -> list[bool]:
    """Which shards complete nothing from 10 to 210 ms after a plan was asked for, at 50 rows a second each."""
    rows = [(i / 50 + 0.001 * shard, shard) for i in range(100) for shard in range(3)]
    running = engine(rows, before, 0.001, costs=QUICK, pause=Pause.SHARD, interval=0.01)
    steps(running, 10)
    move(running, after)
    running.step()
    during = [count == 0 for count in done(steps(running, 20))]
    assert running.busy("work") == all(during)
    steps(running, 60)
    assert not running.busy("work")
    assert running.observed.operators["work"].same(after)
    assert done(steps(running, 20)) == [10, 10, 10]
    return during


def test_inside_an_executor_nobody_stops_for_long() -> None:
    assert stopped(BEFORE, owned([1, 1, 2], [0, 0, 1], [0, 0, 1])) == [False, False, False]


def test_a_shard_that_changes_its_executor_stops_the_operator() -> None:
    assert stopped(BEFORE, owned([0, 2, 2], [0, 1, 1], [0, 0, 1])) == [True, True, True]


def test_a_split_stops_the_operator() -> None:
    assert stopped(BEFORE, owned([0, 3, 2], [0, 2, 1], [0, 0, 1, 2])) == [True, True, True]


def test_a_slot_that_changes_its_executor_with_its_shards_stops_the_operator() -> None:
    """Slot 1 and its shard go from executor 0 to executor 1; a slot without shards makes it another plan."""
    assert stopped(BEFORE, owned([0, 1, 2], [0, 1, 1], [0, 1, 1, 1])) == [True, True, True]


def test_executors_that_get_other_numbers_are_the_same() -> None:
    renumbered = owned([1, 1, 2], [1, 1, 0], [1, 1, 0])
    assert not changes_executors(BEFORE, renumbered)
    assert stopped(BEFORE, renumbered) == [False, False, False]


@pytest.mark.parametrize(
    ("executors", "changes"),
    [([0, 0, 1], False), ([5, 5, 2], False), ([0, 0, 0], True), ([0, 1, 2], True), ([0, 1, 1], True)],
)
def test_a_change_is_seen_by_who_shares_an_executor(executors: list[int], changes: bool) -> None:
    assert changes_executors(BEFORE, owned([0, 1, 2], executors, [0, 0, 1])) == changes


def test_slots_without_executors_are_executors_by_themselves_to_begin_with() -> None:
    plain = OperatorPlan(np.array([0, 0, 1]), np.zeros(2, dtype=np.int64))
    assert not changes_executors(plain, owned([0, 2, 1], [0, 0, 1], [0, 1, 0]))
    assert changes_executors(plain, owned([0, 1, 1], [0, 1, 1], [0, 1, 0]))
    assert not changes_executors(BEFORE, plain)


# The hybrid: a load that outgrows a node


def growing(policy: Elasticutor) -> tuple[Trace, list[tuple[float, int, int]], Continuous]:
    """From two cores of work to seven, on nodes of four; time, executors and rows done of every interval."""
    load = RateCurve(np.r_[np.linspace(1000.0, 3600.0, 20), np.full(40, 3600.0)], weights=[1.0] * 64)
    job = Job((Operator("work", 64, 0.002, row_bytes=1000.0),))
    plan = Plan({"work": OperatorPlan.elastic(64, 1, 4, 16)}, 4)
    running = Continuous(
        job, Cluster(4, 4), load, plan, costs=Costs(), timing=Timing(0.01, 0.5), pause=policy.pause, room=24
    )
    seen: list[tuple[float, int, int]] = []

    def watch(interval: Interval) -> None:
        subspaces = running.plan.operators["work"].subspaces
        assert subspaces is not None
        seen.append((running.time, len(np.unique(subspaces.executors)), int(interval.done["work"].sum())))

    return Simulation(running, policy).run(60.0, watch), seen, running


def test_an_executor_that_outgrows_its_node_is_split_once_and_all_stop_for_it() -> None:
    trace, seen, running = growing(Elasticutor.hybrid(every=30.0))
    counts = [executors for _, executors, _ in seen]
    assert counts[0] == 1
    assert counts[-1] >= 2
    assert sum(a != b for a, b in pairwise(counts)) == 1
    at = next(time for time, executors, _ in seen if executors > 1)
    assert at == pytest.approx(30.5)
    # 30 ms for each of 32 upstream executors, in which next to no row is done; later all that waited.
    standing = [rows for time, _, rows in seen if at <= time <= at + 0.5]
    assert sum(standing) < 0.2 * 3600
    assert seen[-1][2] == pytest.approx(1800, rel=0.1)
    assert trace.throughput.sum() == pytest.approx(trace.offered.sum(), rel=0.01)
    # Every part fits its node, so that no row goes to another one any more.
    plan = running.plan.operators["work"]
    assert plan.subspaces is not None
    assert (plan.nodes[plan.used] == plan.subspaces.homes[plan.subspaces.owners[plan.used]]).all()
    assert trace.remote[-10:].sum() == 0.0


def test_without_reshaping_it_sends_rows_to_other_nodes_for_ever() -> None:
    trace, seen, _ = growing(Elasticutor())
    assert {executors for _, executors, _ in seen} == {1}
    assert trace.remote[-10:].min() > 500_000.0
    assert min(rows for time, _, rows in seen if time > 30.0) > 1500
