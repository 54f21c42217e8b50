"""Shards that move: exact times worked out by hand, what has to stop, and what is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.errors import ConfigurationError
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from tests.simulate.scripted import Scripted, done, engine, exact, move, slots_of, steps, waited

MOVING = [Pause.SHARD, Pause.OPERATOR, Pause.PAIR]
BEFORE = slots_of(0, 1, 1)
"""Shard 0 alone in slot 0; it moves to slot 1."""

QUICK: dict[str, Any] = {"shard_sync": 0.002, "operator_sync": 0.025, "upstream": 1, "pair_sync": 0.05}


def begun(rows: list[tuple[float, int]], pause: Pause, **more: Any) -> Continuous:
    """After 100 ms shard 0 is told to move from slot 0 to slot 1."""
    running = engine(rows, BEFORE, pause=pause, costs=QUICK, **more)
    running.step()
    move(running, slots_of(1, 1, 1, nodes=[-1, 0]))
    return running


# Worked out by hand


ROWS = [(0.0955, 0), (0.1015, 0), (0.104, 0), (0.1035, 1)]
"""Shard 0 at 95.5 ms, done at 105.5 ms by slot 0, and two more; shard 1 at 103.5 ms, done at 113.5 ms by slot 1."""


def test_only_the_shard_that_moves_waits() -> None:
    """The label is reached at 105.5 ms, and 2 ms later the shard is at slot 1, which takes its rows after 113.5 ms.

    They are done at 123.5 and 133.5 ms, after 22 and 29.5 ms; the one before them after 10 ms.
    """
    running = begun(ROWS, Pause.SHARD)
    seen = steps(running, 1)
    assert done(seen) == [3, 1, 0]
    assert waited(seen) == exact([0.01 + 0.022 + 0.0295, 0.01, 0.0])
    assert running.moved()["moves"] == 1
    assert running.moved()["move_seconds"] == pytest.approx(0.0075)
    assert running.moved()["sync_seconds"] == pytest.approx(0.0075)


def test_both_slots_stand_still() -> None:
    """Slot 0 is done at 105.5 ms; 50 ms later, at 155.5 ms, slot 1 takes rows in the order in which they arrived.

    Shard 0 of 101.5 ms is done at 165.5, shard 1 of 103.5 ms at 175.5, shard 0 of 104 ms at 185.5 ms.
    """
    running = begun(ROWS, Pause.PAIR)
    seen = steps(running, 1)
    assert waited(seen) == exact([0.01 + 0.064 + 0.0815, 0.072, 0.0])
    assert running.switches == pytest.approx([0.0555])


def test_rows_that_wait_go_along_and_are_merged_by_their_arrival() -> None:
    """Slot 0 has served the row of 90.5 ms until 100.5 ms; 91.5 and 93.5 ms of shard 0 and 92.5 ms of shard 1 wait.

    Slot 1 serves a row of 90.6 ms until 100.6 ms. From 150.6 ms on it takes the three: done at 160.6, 170.6, 180.6 ms.
    """
    rows = [(0.0905, 0), (0.0915, 0), (0.0935, 0), (0.0906, 1), (0.0925, 1)]
    seen = steps(begun(rows, Pause.PAIR), 1)
    assert done(seen) == [3, 2, 0]
    assert waited(seen) == exact([0.01 + 0.0691 + 0.0871, 0.01 + 0.0781, 0.0])


def test_the_whole_operator_stops() -> None:
    """Slot 0 is done at 105.5 ms, seen at 110 ms; 25 ms later, at 135 ms, all know the new routing, seen at 140 ms.

    Then the rows enter: 101.5, 103.5 and 104 ms, all to slot 1, done at 150, 160 and 170 ms.
    """
    running = begun(ROWS, Pause.OPERATOR)
    seen = steps(running, 1)
    assert waited(seen) == exact([0.01 + 0.0485 + 0.066, 0.0565, 0.0])
    assert running.moved()["move_seconds"] == pytest.approx(0.035)


def test_state_that_changes_its_node_takes_its_time() -> None:
    """Work until 105.5 ms, then 2 ms, and 1 MB at 100 MB/s: the shard is there at 117.5 ms; done at 127.5, 137.5 ms."""
    rows = [(0.0955, 0), (0.1015, 0), (0.104, 0)]
    running = engine(
        rows, slots_of(0, 1, 1, nodes=[0, 1]), nodes=2, bandwidth=1e8, state=1e6, costs=QUICK, pause=Pause.SHARD
    )
    running.step()
    move(running, slots_of(1, 1, 1, nodes=[-1, 1]))
    seen = steps(running, 1)
    assert waited(seen) == exact([0.01 + 0.026 + 0.0335, 0.0, 0.0])
    assert seen[0].migrated == 1e6
    assert running.moved()["far_moves"] == 1
    assert running.moved()["far_seconds"] == pytest.approx(0.0175)
    assert running.moved()["far_sync_seconds"] == pytest.approx(0.0075)


# Who stops


def steady(pause: Pause, bandwidth: float = np.inf, sync: float = 0.5) -> Continuous:
    """Three slots on two nodes, 50 rows a second and shard of 1 ms each; shard 0 is to go from node 0 to node 1."""
    rows = [(i / 50 + 0.001 * shard, shard) for i in range(300) for shard in range(3)]
    costs = {"shard_sync": sync, "operator_sync": sync, "pair_sync": sync, "upstream": 1}
    plan = slots_of(0, 1, 2, nodes=[0, 1, 0])
    return engine(rows, plan, 0.001, 2, bandwidth=bandwidth, state=5e5, costs=costs, pause=pause)


def stopped(running: Continuous) -> list[bool]:
    """Which shards complete nothing between 0.2 s and 0.5 s, while shard 0 is on its way since 0.1 s."""
    running.step()
    move(running, slots_of(1, 1, 2, nodes=[-1, 1, 0]))
    running.step()
    counts = done(steps(running, 3))
    return [count == 0 for count in counts]


def test_who_stops() -> None:
    assert stopped(steady(Pause.SHARD)) == [True, False, False]
    assert stopped(steady(Pause.PAIR)) == [True, True, False]
    assert stopped(steady(Pause.OPERATOR)) == [True, True, True]


@pytest.mark.parametrize(("pause", "who"), [(Pause.SHARD, [True, False, False]), (Pause.PAIR, [True, True, False])])
def test_state_that_is_sent_for_half_a_second_stops_nobody_else(pause: Pause, who: list[bool]) -> None:
    """500,000 bytes at a million a second, and hardly any rows: there is room for them between packets of state."""
    assert stopped(steady(pause, bandwidth=1e6, sync=0.001)) == who


@pytest.mark.parametrize("pause", MOVING)
def test_after_a_change_all_go_on(pause: Pause) -> None:
    running = steady(pause)
    running.step()
    move(running, slots_of(1, 1, 2, nodes=[-1, 1, 0]))
    seen = steps(running, 20)
    assert done(seen[-5:]) == [25, 25, 25]
    # One row may be in service when it ends.
    assert 0 <= sum(i.offered for i in seen) - sum(sum(done([i])) for i in seen) <= 1
    assert not running.busy("work")


def test_the_operator_before_stops_with_the_one_that_is_changed() -> None:
    job = Job((Operator("a", 2, 0.001), Operator("b", 2, 0.001, inputs=("a",), state_bytes=5e5)))
    plan = Plan({"a": slots_of(0, 1), "b": slots_of(0, 1, nodes=[0, 1])}, 2)
    rows = [(i / 100, i % 2) for i in range(200)]
    costs = Costs(**QUICK)
    timing = Timing(0.01, 0.1)
    running = Continuous(
        job, Cluster(2, 4, 1e6), Scripted(rows, 2), plan, pause=Pause.OPERATOR, costs=costs, timing=timing
    )
    running.step()
    move(running, slots_of(1, 1, nodes=[-1, 1]), "b")
    running.step()
    during = steps(running, 3)
    assert done(during, "a") == done(during, "b") == [0, 0]
    after = steps(running, 30)
    assert sum(done(after, "b")) + sum(done(during, "b")) >= 180


# What is observed and what is counted


def test_a_shard_that_moves_alone_is_where_it_is_to_be_at_once() -> None:
    running = steady(Pause.SHARD)
    running.step()
    wanted = slots_of(1, 1, 2, nodes=[-1, 1, 0])
    move(running, wanted)
    assert running.observed.operators["work"].same(wanted)
    assert running.busy("work")


@pytest.mark.parametrize("pause", [Pause.OPERATOR, Pause.PAIR])
def test_slots_that_stand_still_are_observed_where_they_were(pause: Pause) -> None:
    running = steady(pause)
    running.step()
    old, wanted = running.plan.operators["work"], slots_of(1, 1, 2, nodes=[-1, 1, 0])
    move(running, wanted)
    during = running.step()
    assert running.observed.operators["work"].same(old)
    assert during.observation.operators["work"].plan.same(old)
    steps(running, 12)
    assert running.observed.operators["work"].same(wanted)


def test_a_change_waits_until_the_one_before_is_done() -> None:
    running = steady(Pause.SHARD)
    running.step()
    move(running, slots_of(1, 1, 2, nodes=[-1, 1, 0]))
    move(running, slots_of(2, 2, 2, nodes=[-1, -1, 0]))
    assert running.plan.operators["work"].routing.tolist() == [1, 1, 2]
    steps(running, 10)
    move(running, slots_of(2, 2, 2, nodes=[-1, -1, 0]))
    assert running.plan.operators["work"].routing.tolist() == [2, 2, 2]


def test_a_new_slot_may_take_a_while_to_start() -> None:
    """0.25 s until the slot is there, then 50 ms of standing still; until then all is as it was."""
    running = engine(
        [(i / 50, i % 2) for i in range(100)], slots_of(0, 0), 0.001, costs={**QUICK, "start": 0.25}, pause=Pause.PAIR
    )
    running.step()
    old, wanted = running.plan.operators["work"], slots_of(0, 1)
    move(running, wanted)
    assert running.busy("work")
    steps(running, 3)
    assert running.observed.operators["work"].same(old)
    steps(running, 2)
    assert running.observed.operators["work"].same(wanted)
    assert done(steps(running, 4)) == [10, 10]


SPREAD = slots_of(0, 0, 0, 1, 1, 2, nodes=[0, 1, 0])
"""Shards 0, 1, 2 in slot 0 of node 0, 3 and 4 in slot 1 of node 1, 5 in slot 2 of node 0."""


def migrated(pause: Pause, wanted: OperatorPlan) -> float:
    running = engine([(i / 100, i % 6) for i in range(50)], SPREAD, nodes=2, state=1000.0, costs=QUICK, pause=pause)
    running.step()
    move(running, wanted)
    return sum(i.migrated for i in steps(running, 10))


@pytest.mark.parametrize("pause", MOVING)
def test_state_is_counted_once_for_each_shard_that_changes_its_node(pause: Pause) -> None:
    """Shards 0 and 1 go to node 1, 3 to node 0; 2 changes its slot but not its node, and the others stay."""
    assert migrated(pause, slots_of(1, 1, 2, 0, 1, 2, nodes=[0, 1, 0])) == 3000.0


@pytest.mark.parametrize("pause", MOVING)
def test_within_a_node_no_state_is_sent(pause: Pause) -> None:
    assert migrated(pause, slots_of(2, 2, 0, 1, 1, 0, nodes=[0, 1, 0])) == 0.0


@pytest.mark.parametrize("pause", MOVING)
def test_a_slot_keeps_its_node(pause: Pause) -> None:
    """Slot 2 of node 0 cannot go to node 1, with or without its shards: there it is another slot."""
    for wanted in (slots_of(0, 0, 0, 1, 1, 2, nodes=[0, 1, 1]), slots_of(0, 0, 0, 1, 2, 0, nodes=[0, 1, 1])):
        with pytest.raises(ConfigurationError, match="slot 2 cannot move to another node"):
            migrated(pause, wanted)


def test_a_change_before_the_first_interval_is_a_change() -> None:
    running = engine([], SPREAD, nodes=2, state=1000.0, costs=QUICK)
    move(running, slots_of(1, 0, 0, 1, 1, 2, nodes=[0, 1, 0]))
    assert sum(i.migrated for i in steps(running, 5)) == 1000.0


@pytest.mark.parametrize("pause", MOVING)
def test_moves_are_counted_by_whether_they_change_the_node(pause: Pause) -> None:
    running = engine([], SPREAD, nodes=2, costs=QUICK, pause=pause)
    running.step()
    move(running, slots_of(1, 1, 2, 0, 1, 2, nodes=[0, 1, 0]))
    steps(running, 10)
    assert (running.moved()["moves"], running.moved()["far_moves"]) == (1, 3)


def test_intervals_say_how_long_slots_stood_still() -> None:
    running = engine([], SPREAD, nodes=2, costs=QUICK, pause=Pause.PAIR)
    running.step()
    move(running, slots_of(0, 0, 2, 1, 1, 2, nodes=[0, 1, 0]))
    assert sum(i.switching for i in steps(running, 3)) == pytest.approx(2 * 0.05)


def test_a_plan_that_hands_a_core_over_never_has_it_in_two_hands() -> None:
    """Both nodes are full. While shards of ``a`` are on their way, a plan gives one of its cores to ``b``."""
    job = Job((Operator("a", 4, 0.001, state_bytes=6e7), Operator("b", 4, 0.001, inputs=("a",))))
    a, b = slots_of(0, 0, 1, 2, nodes=[0, 1, 1]), slots_of(0, 0, 0, 0)
    running = Continuous(job, Cluster(2, 2), Scripted([], 4), Plan({"a": a, "b": b}, 2))
    running.step()
    move(running, slots_of(1, 0, 1, 2, nodes=[0, 1, 1]), "a")
    running.apply(Plan({"a": slots_of(1, 0, 1, 1, nodes=[0, 1, -1]), "b": slots_of(0, 0, 1, 1, nodes=[0, 1])}, 2))
    assert (running.observed.cores(2) <= 2).all()


def test_the_core_of_a_slot_that_goes_is_free_when_its_rows_are_done() -> None:
    """Slot 0 has a second of work left when it goes; the slot that takes its core begins after that, not at once.

    Shard 0 stays in slot 1 of another node, so only shard 1 of slot 2, which is new on node 0, has to wait.
    """
    rows = [(0.001 * i, 0) for i in range(100)] + [(0.15, 1)]
    running = engine(rows, slots_of(0, 1, nodes=[0, 1]), nodes=2, costs=QUICK, pause=Pause.SHARD)
    running.step()
    move(running, slots_of(1, 2, nodes=[-1, 1, 0]))
    seen = steps(running, 15)
    assert waited(seen)[1] == pytest.approx(1.0 - 0.15 + 0.01, abs=0.02)
