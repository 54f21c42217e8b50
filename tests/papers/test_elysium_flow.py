"""The simulated cluster: rows are neither lost nor invented; rates, CPU, restarts and full nodes by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.elysium.testbed.cluster import ClusterBehaviour, StormCluster
from papers.elysium.testbed.topologies import BASE, BEND, NODE, SHARE, Model, rolling_top_words, sentiment
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.plans import plan_of

T1, T2 = rolling_top_words(), sentiment()


def alone(
    model: Model, slots: int, nodes: int, behaviour: ClusterBehaviour | None = None, seed: int = 1
) -> StormCluster:
    name = model.dataflow.name
    config = Config({name: {o.name: slots for o in model.dataflow.operators}}, nodes)
    return StormCluster({name: model}, config, behaviour or ClusterBehaviour(), np.random.default_rng(seed))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0, 1500), min_size=2, max_size=6),
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_every_row_that_arrived_is_processed_or_waits(
    loads: list[float], slots: int, nodes: int, restarts: list[bool]
) -> None:
    cluster = alone(T1, slots, nodes)
    arrived = through = 0.0
    for load, restart in zip(loads, restarts, strict=False):
        if restart:
            cluster.restart("T1")
        found = cluster.run(np.full((40, 1), load))
        arrived, through = arrived + 40 * load, through + float(found.acked.sum())
        waiting = float(found.waiting[-1, 0] + found.flying[-1, 0])
        assert through + waiting == pytest.approx(arrived, rel=1e-9, abs=1e-6)
        assert found.waiting.min() >= -1e-9
        assert found.slot_cpu.max() <= 1 + 1e-9
        assert found.node_cpu.max() <= 1 + 1e-9


def test_a_light_load_is_processed_at_once_and_costs_what_the_model_says() -> None:
    cluster = alone(T1, 1, 2)
    found = cluster.run(np.full((30, 1), 100.0))
    np.testing.assert_allclose(found.acked, 100.0)
    np.testing.assert_allclose(found.waiting + found.flying, 0.0, atol=1e-9)
    used = dict(zip([p.operator for p in cluster.places], found.slot_cpu[-1] * NODE.hertz, strict=True))
    rate = np.array([100.0 * 17.86])
    assert used["StopWordFilter"] == pytest.approx(T1.costs["StopWordFilter"].at(rate)[0])
    # The periodic stream of Counter does not depend on the load.
    sent = np.array([T1.ticks["Counter", "IntermediateRanker"]])
    assert used["IntermediateRanker"] == pytest.approx(T1.costs["IntermediateRanker"].at(sent)[0])
    for node in range(2):
        slots = sum(u for u, p in zip(used.values(), cluster.places, strict=True) if p.node == node)
        expected = (BASE + SHARE * slots + BEND * slots**2) / NODE.capacity
        assert found.node_cpu[-1, node] == pytest.approx(expected)


def test_an_overloaded_slot_decides_throughput_until_rows_fail() -> None:
    cluster = alone(T1, 1, 2)
    found = cluster.run(np.full((400, 1), 330.0))
    cost, high = T1.costs["StopWordFilter"], 1e6
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost.at(np.array([middle]))[0] < NODE.hertz else (low, middle)
    np.testing.assert_allclose(found.acked[:60, 0], low / 17.86, rtol=1e-6)
    assert found.acked[-1, 0] < 0.7 * found.acked[0, 0]  # rows in flight for more than 30 seconds fail
    assert found.latency[-1, 0] > 30


def test_without_a_time_limit_throughput_stays() -> None:
    found = alone(T1, 1, 2, ClusterBehaviour(time_limit=1e9)).run(np.full((400, 1), 330.0))
    assert found.acked[-1, 0] == pytest.approx(found.acked[0, 0])


def test_a_full_node_slows_what_is_on_it() -> None:
    one, four = (alone(T1, 4, nodes).run(np.full((20, 1), 500.0)) for nodes in (1, 4))
    np.testing.assert_allclose(four.acked, 500.0)
    assert one.acked.max() < 350.0
    assert one.node_cpu[-1, 0] == pytest.approx(1.0, abs=1e-6)
    less = alone(T1, 4, 1, ClusterBehaviour(usable=0.8)).run(np.full((20, 1), 500.0))
    assert less.node_cpu[-1, 0] == pytest.approx(0.8, abs=1e-6)
    assert less.acked[-1, 0] < 0.85 * one.acked[-1, 0]


def test_a_restart_stops_everything_for_its_time_and_the_queue_is_caught_up_with() -> None:
    cluster = alone(T1, 4, 4, ClusterBehaviour(restart=(5.0, 5.0), settle=7.0))
    cluster.run(np.full((10, 1), 200.0))
    cluster.restart("T1")
    found = cluster.run(np.full((60, 1), 200.0))
    assert np.flatnonzero(found.acked[:, 0] > 0)[0] == 12
    assert found.waiting[11, 0] == pytest.approx(12 * 200.0)
    assert np.isnan(found.latency[:12]).all()
    assert found.acked[12:, 0].max() > 400.0
    assert found.acked[-1, 0] == pytest.approx(200.0)


def test_only_topologies_whose_slots_come_go_or_move_restart() -> None:
    parallelism = {m.dataflow.name: {o.name: 1 for o in m.dataflow.operators} for m in (T1, T2)}
    apart = Config(parallelism, 3, own={"T1": 1, "T2": 2})
    cluster = StormCluster({"T1": T1, "T2": T2}, apart, ClusterBehaviour(), np.random.default_rng(1))
    more = {"T1": parallelism["T1"], "T2": {**parallelism["T2"], "PosTagger": 2}}
    restarts = []
    for config in (apart, Config(more, 3, own={"T1": 1, "T2": 2}), Config(more, 2)):
        cluster.apply(plan_of(config, {"T1": T1.dataflow, "T2": T2.dataflow}))
        restarts.append(cluster.restarts)
    assert restarts == [0, 1, 3]


def test_topologies_on_the_same_full_node_slow_down_and_those_apart_do_not() -> None:
    parallelism = {m.dataflow.name: {o.name: 4 for o in m.dataflow.operators} for m in (T1, T2)}
    load = np.tile([500.0, 50.0], (10, 1))
    found = {}
    for name, own in (("shared", None), ("apart", {"T1": 1, "T2": 1})):
        config = Config(parallelism, 1 if own is None else 2, own)
        found[name] = (
            StormCluster({"T1": T1, "T2": T2}, config, ClusterBehaviour(), np.random.default_rng(1)).run(load).acked[-1]
        )
    assert found["apart"][1] == pytest.approx(50.0)
    assert found["shared"][1] < 50.0
    assert found["shared"][0] < found["apart"][0]
