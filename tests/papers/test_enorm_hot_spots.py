"""The simulated nodes of Enorm's hot spots: against what a fluid must do, and what the strategies differ in."""

from __future__ import annotations

import numpy as np
import pytest

from papers.enorm.testbed.cost_model import EnormNodes
from papers.enorm.testbed.hot_spots import CONFIGURATIONS, Configuration, Skew, simulate_pause, simulate_skew
from papers.enorm.testbed.migration_costs import ShardState, Strategy, migration_cost
from papers.enorm.testbed.node_queues import DRAINING, LIMIT, STEP, Queues
from rheostat.errors import RheostatError

PER_TUPLE = 1e-3
PER_SECOND = round(1 / STEP)


def steady(load: float, seconds: int, shards: int = 2) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The same number of tuples in every step, for one node."""
    return np.full((seconds * PER_SECOND, shards), load * STEP / PER_TUPLE / shards)


def waiting(queues: Queues) -> float:
    """Tuples that are in queues or held."""
    nodes = range(len(queues.ends))
    queued = sum(queues.batches[n, i % LIMIT] for n in nodes for i in range(queues.ends[n, 0], queues.ends[n, 1]))
    return float(queued + queues.held.sum())


def test_below_capacity_nobody_waits_longer_than_the_step() -> None:
    queues = Queues.idle(np.zeros(2, np.int64), 1, seconds=20)
    assert queues.advance(steady(0.9, 20), PER_TUPLE, 0.0)
    found = queues.latencies(moves=0)
    assert found.overall == pytest.approx(STEP / 2)
    assert found.worst == pytest.approx(STEP / 2)
    assert found.mean == pytest.approx(np.full(20, STEP / 2))


def test_an_overloaded_node_falls_behind_as_a_fluid_does() -> None:
    queues = Queues.idle(np.zeros(2, np.int64), 1, seconds=100)
    assert queues.advance(steady(1.25, 100), PER_TUPLE, 0.0)
    # What is done at time t came at t / 1.25.
    assert queues.latencies(0).mean[-1] == pytest.approx(0.2 * 99.5, rel=0.01)
    assert waiting(queues) == pytest.approx(0.25 * 100 / PER_TUPLE, rel=0.01)


def test_every_tuple_is_done_or_waits_while_shards_move() -> None:
    rng = np.random.default_rng(1)
    queues = Queues.idle(np.arange(6) % 3, 3, seconds=30)
    came = 0.0
    for second in range(30):
        if second % 5 == 1:
            shard = int(rng.integers(6))
            queues.leave(shard, int(rng.integers(3)), DRAINING, (0.2, 0.3, 0.4))
        arrivals = rng.poisson(3.0, size=(PER_SECOND, 6)).astype(float)
        came += arrivals.sum()
        assert queues.advance(arrivals, PER_TUPLE, 0.0)
        assert queues.bins.sum() + waiting(queues) == pytest.approx(came)
    assert queues.sums[:, 1].sum() == pytest.approx(queues.bins.sum())


def test_an_idle_shard_pauses_for_exactly_what_its_state_takes() -> None:
    queues = Queues.idle(np.array([0, 1]), 2, seconds=10)
    queues.leave(0, 1, DRAINING, (1.0, 0.5, 2.0))
    queues.leave(0, 0, DRAINING, (9.0, 9.0, 9.0))  # it already is on its way
    assert queues.advance(np.zeros((5 * PER_SECOND, 2)), PER_TUPLE, 0.0)
    assert queues.routing.tolist() == [1, 1]
    assert queues.pause(0) == pytest.approx(3.5, abs=3 * STEP)
    assert queues.pause(1) == 0.0


def test_held_tuples_have_waited_since_they_came() -> None:
    queues = Queues.idle(np.array([0, 1]), 2, seconds=10)
    queues.leave(0, 1, DRAINING, (1.0, 0.0, 1.0))
    arrivals = np.zeros((5 * PER_SECOND, 2))
    arrivals[50, 0] = 1.0  # half a second after it left: a second and a half to go
    assert queues.advance(arrivals, PER_TUPLE, 0.0)
    assert queues.latencies(0).worst == pytest.approx(1.5, abs=4 * STEP)


def test_state_that_moves_takes_half_of_the_core_from_tuples() -> None:
    queues = Queues.idle(np.array([0, 0]), 2, seconds=20)
    queues.leave(0, 1, DRAINING, (5.0, 0.0, 0.0))
    arrivals = np.zeros((10 * PER_SECOND, 2))
    arrivals[:, 1] = 0.9 * STEP / PER_TUPLE
    assert queues.advance(arrivals, PER_TUPLE, 0.0)
    # For ten seconds tuples have half of a core and want 0.9 of one.
    assert waiting(queues) == pytest.approx(0.4 * 10 / PER_TUPLE, rel=0.01)


def test_queues_that_grow_without_end_are_noticed() -> None:
    queues = Queues.idle(np.array([0, 1]), 2, seconds=LIMIT)
    queues.leave(0, 1, DRAINING, (1e9, 0.0, 0.0))
    assert not queues.advance(np.ones((LIMIT // 10 + 2, 2)), 1e-6, 0.0)
    with pytest.raises(RheostatError, match="took longer than"):
        simulate_pause(Strategy.DISRUPTIVE, 1e8, EnormNodes(), seed=1)


def test_the_simulated_pause_is_the_cost_models_stretched_by_the_load() -> None:
    engine = EnormNodes()
    model = migration_cost(Strategy.DISRUPTIVE, ShardState(50_000), engine.key_costs).pause
    idle, busy = (simulate_pause(Strategy.DISRUPTIVE, 50_000, engine, seed=2, load=load) for load in (0.01, 0.7))
    assert idle == pytest.approx(model, rel=0.1)
    assert model < busy < 2.5 * model
    assert simulate_pause(Strategy.INSTANT, 50_000, engine, seed=2) == pytest.approx(engine.switch)


def test_hot_spots_are_relieved_by_moves_and_best_by_instant_ones() -> None:
    skew = Skew(calm=60.0, nodes=1)
    never = simulate_skew(Configuration("never", Strategy.INSTANT, None), skew, EnormNodes(), seed=1)
    disruptive, instant = (simulate_skew(c, skew, EnormNodes(), seed=1) for c in CONFIGURATIONS[1::2])
    assert never.moves == 0
    assert min(disruptive.moves, instant.moves) > 0
    assert never.overall > disruptive.overall > instant.overall
    assert never.p99 > disruptive.p99 > instant.p99
    again = simulate_skew(CONFIGURATIONS[1], skew, EnormNodes(), seed=1)
    assert np.array_equal(again.mean, disruptive.mean)
