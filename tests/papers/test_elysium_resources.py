"""Memory and bandwidth in the metric store: by hand on small clusters, and profiles that find them again."""

from __future__ import annotations

import numpy as np
import pytest

from papers.elysium.testbed.cluster import ClusterBehaviour, StormCluster
from papers.elysium.testbed.metric_store import BANDWIDTH, CPU, MEMORY, MetricStore
from papers.elysium.testbed.monitor import monitor_run
from papers.elysium.testbed.profiling_phase import learn_estimator, record_profiling_runs
from papers.elysium.testbed.resource_monitor import bandwidth, memory
from papers.elysium.testbed.topologies import T2_PEAK, sentiment
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.profiles.profile import Line
from rheostat.elastic.elysium.profiles.samples import INPUT

T2 = sentiment()
NAMES = [operator.name for operator in T2.dataflow.operators]


def cluster(nodes: int, **slots: int) -> StormCluster:
    config = Config({"T2": {name: slots.get(name, 1) for name in NAMES}}, nodes)
    return StormCluster({"T2": T2}, config, ClusterBehaviour(), np.random.default_rng(1))


def rates(load: float, readings: int = 2) -> dict[str, dict[tuple[str, str], np.ndarray]]:
    return {"T2": {stream: np.full(readings, load) for stream in ((INPUT, "Reader"), *T2.dataflow.streams)}}


def test_memory_of_a_node_is_that_of_its_slots() -> None:
    found = memory(cluster(2, PosTagger=2), rates(100.0), 2, np.random.default_rng(1), noise=0.0)
    # Round robin: Reader, Preprocessor, a PosTagger and Classifier on node 0, the others on node 1.
    assert (found.slots[0] / 2**20).tolist() == [120, 150, 150, 1200, 1200, 350, 500]
    assert (found.nodes[0] / 2**20).tolist() == [120 + 150 + 1200 + 500, 150 + 1200 + 350]


def test_bandwidth_counts_rows_from_outside_and_between_nodes_only() -> None:
    everything = bandwidth(cluster(1, PosTagger=2), rates(100.0), 2, np.random.default_rng(1), noise=0.0)
    assert everything.nodes[0].tolist() == [100 * 2500.0]  # nothing but what comes from outside
    assert everything.slots[0].tolist() == [100 * size for size in (2500, 400, 900, 400, 400, 1600, 300)]
    apart = bandwidth(cluster(2), rates(100.0), 2, np.random.default_rng(1), noise=0.0)
    # One slot each, in turn on two nodes: every stream crosses. Node 0 has Reader, Preprocessor and FeatureGenerator.
    sent_by_0, sent_by_1 = 400 + 800 + 300, 900 + 1600
    assert apart.nodes[0].tolist() == [100.0 * (2500 + sent_by_1), 100.0 * max(sent_by_1, sent_by_0)]


def test_the_metric_store_has_all_three_and_profiles_find_sizes_again() -> None:
    with MetricStore() as store:
        record_profiling_runs({"T2": T2}, {"T2": T2_PEAK}, store, seed=1)
        known = learn_estimator({"T2": T2}, store, seed=1, folds=2).topologies["T2"]
        readings = {len(store.node_uses(resource)) for resource in (CPU, MEMORY, BANDWIDTH)}
    assert len(readings) == 1
    assert set(known.row_bytes) == {(INPUT, "Reader"), *T2.dataflow.streams}
    for stream, size in T2.row_bytes.items():
        assert known.row_bytes[stream] == pytest.approx(size, rel=0.01)
    for name, kept in T2.memory.items():
        profile = known.memory[name]
        assert isinstance(profile, Line)
        at = np.array([50.0])
        assert profile(at)[0] == pytest.approx(kept.at(at)[0], rel=0.01)


def test_readings_of_cpu_do_not_depend_on_the_others() -> None:
    first, again = (np.random.default_rng(5) for _ in range(2))
    running = cluster(2)
    flow = running.run(np.full((120, 1), 50.0))
    found = monitor_run(running, flow, 0.0, first, 0.01)
    bare = StormCluster(
        {"T2": type(T2)(T2.dataflow, T2.selectivity, T2.costs)}, running.config, ClusterBehaviour(), again
    )
    without = monitor_run(bare, flow, 0.0, again, 0.01)
    assert [r for r in found.slots if r[5] == CPU] == [r for r in without.slots if r[5] == CPU]
    assert first.random() == again.random()
