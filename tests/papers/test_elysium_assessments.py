"""Runs of policies: learned profiles choose as the truth would, and ELYSIUM compares with the baselines as claimed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from papers.elysium.testbed import curves
from papers.elysium.testbed.assessments import ScalingOutcome, ScalingSetting, run_policy
from papers.elysium.testbed.cluster import ClusterBehaviour, StormCluster
from papers.elysium.testbed.flow import RowFlow
from papers.elysium.testbed.metric_store import MetricStore
from papers.elysium.testbed.profiling_phase import learn_estimator, record_profiling_runs, with_forecasts
from papers.elysium.testbed.topologies import NODE, T1_PEAK, overhead, rolling_top_words
from rheostat.arrays import Floats
from rheostat.elastic.baselines.static import Static
from rheostat.elastic.elysium.config_search import compute_config
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.elysium import Elysium, OnlyNodes
from rheostat.elastic.elysium.estimator import Estimator, Profiles
from rheostat.elastic.elysium.forecasts.paper_network import PaperNetwork
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.joint_scaling import JointScaling
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.elysium.profiles.profile import LearnedProfile
from rheostat.elastic.model.plan import Plan, Proposal
from rheostat.elastic.model.policy import Policy
from rheostat.errors import ConfigurationError

T1 = rolling_top_words()


@cache
def oracle() -> Estimator:
    """An estimator that knows the truth."""
    selectivity = {**T1.selectivity, ("Counter", "IntermediateRanker"): 0.3}
    return Estimator({"T1": Profiles(T1.dataflow, selectivity, {n: c.at for n, c in T1.costs.items()})}, overhead, NODE)


def paper() -> Elysium:
    """Reactive ELYSIUM that ignores queues, as published."""
    return Elysium(oracle(), catch_up=np.inf)


def run_t1(
    load: Floats, policy: Policy, first: Config | None = None, setting: ScalingSetting | None = None
) -> ScalingOutcome:
    begin = first or compute_config(oracle(), {"T1": float(load[0])}).config
    return run_policy({"T1": T1}, {"T1": load}, policy, begin, setting or ScalingSetting())


def run_alone(config: Config, load: float) -> RowFlow:
    """A minute of T1 alone under a constant load."""
    cluster = StormCluster({"T1": T1}, config, ClusterBehaviour(), np.random.default_rng(0))
    return cluster.run(np.full((60, 1), load))


def test_learned_profiles_choose_as_the_truth_would(tmp_path: Path) -> None:
    with MetricStore(tmp_path / "metrics.sqlite") as store:
        record_profiling_runs({"T1": T1}, {"T1": T1_PEAK}, store, seed=1)
    with MetricStore(tmp_path / "metrics.sqlite") as store:
        known = learn_estimator({"T1": T1}, store, seed=1, folds=3)
    assert all(isinstance(p, LearnedProfile) and p.error < 0.03 for p in known.topologies["T1"].cpu.values())
    assert known.topologies["T1"].selectivity["WordGenerator", "StopWordFilter"] == pytest.approx(17.86, rel=0.02)
    for load in (60.0, 150.0, 260.0, 330.0, 450.0, 550.0, 680.0):
        found, true = (compute_config(e, {"T1": load}).config for e in (known, oracle()))
        assert abs(found.nodes - true.nodes) <= 1
        assert abs(found.slots - true.slots) <= 2
    # What the estimator says of a configuration is what the cluster then uses.
    config = compute_config(known, {"T1": 400.0}).config
    used = run_alone(config, 400.0).slot_cpu[-1]
    slots = [n for operators in config.parallelism.values() for n in operators.values()]
    estimated = np.repeat(list(known.slot_cpus(config.parallelism, {"T1": 400.0})["T1"].values()), slots)
    busy = used > 0.1
    np.testing.assert_allclose(estimated[busy], used[busy], rtol=0.05)


def test_one_reconfiguration_is_enough_for_a_step_and_joint_scaling_needs_more_nodes() -> None:
    load = curves.step(900, 120.0, 500.0, 180, 420)
    ours, joint = run_t1(load, paper()), run_t1(load, JointScaling({"T1": T1.dataflow}))
    assert [t for t in ours.reconfigured if t < 420] == [240]
    assert len(joint.reconfigured) > len(ours.reconfigured)
    assert ours.saved() > joint.saved()
    assert ours.degradation() < joint.degradation()


def test_a_forecast_of_the_square_wave_degrades_throughput_less() -> None:
    square = curves.square(600 * 40, 200.0, 620.0, 600)
    past, load = square[: 600 * 38].reshape(-1, 60).mean(axis=1), square[600 * 38 :]
    forecast = PaperNetwork(folds=2, tolerance=1e-3).fitted(Series(past), 1)
    proactive = Elysium(with_forecasts(oracle(), {"T1": forecast}), proactive=True, catch_up=np.inf)
    setting = ScalingSetting(start=60.0 * len(past), past={"T1": past})
    ahead, after = run_t1(load, proactive, setting=setting), run_t1(load, paper())
    assert ahead.degradation() < 0.8 * after.degradation()
    assert abs(ahead.saved() - after.saved()) <= 0.06


def test_through_the_metric_store_a_policy_sees_the_same_load() -> None:
    seen: dict[bool, list[Series]] = {False: [], True: []}

    @dataclass(frozen=True, eq=False)
    class Spy(Elysium):
        stored: bool = False

        def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
            seen[self.stored].append(history.loads["T1"])
            return super().decide(history, plan)

    load = curves.sine(300, 100.0, 500.0, 150)
    past, begin = np.array([7.0, 8.0, 9.0]), 1_234_567.5
    outcomes = [
        run_t1(
            load,
            Spy(oracle(), stored=stored),
            setting=ScalingSetting(start=begin, step=3600.0, past={"T1": past}, stored=stored),
        )
        for stored in seen
    ]
    np.testing.assert_array_equal(outcomes[0].acked, outcomes[1].acked)
    for plain, stored in zip(seen[False], seen[True], strict=True):
        np.testing.assert_array_equal(plain.values, stored.values)
        assert (plain.start, plain.step) == (stored.start, stored.step) == (begin - 3 * 3600.0, 3600.0)


def test_figures_of_a_run_by_hand() -> None:
    config = Config({"T1": {"a": 1}}, 2)
    arrivals, acked = np.full((40, 1), 10.0), np.repeat([10.0, 0.0, 25.0, 10.0], 10)[:, None]
    latency = np.where(acked > 0, 2.0, np.nan)
    waiting = np.zeros((40, 1))
    waiting[-1] = 8.0
    found = ScalingOutcome(
        ("T1",), arrivals, acked, latency, waiting, (config, Config({"T1": {"a": 3}}, 1)), (), (20,), 20
    )
    assert found.degradation() == pytest.approx((0 + 1 + 1.5 + 0) / 4)
    assert found.saved() == 1 - 3 / 8
    assert found.mean_latency() == 2.0
    assert found.unfinished() == 8 / 400
    assert found.slots("T1", "a").tolist() == [1, 3]


def test_times_without_input_are_left_out_and_runs_without_any_are_refused() -> None:
    config = Config({"T1": {"a": 1}}, 2)

    def ran(arrivals: list[float], acked: list[float]) -> ScalingOutcome:
        load, through = (np.repeat(v, 10)[:, None] for v in (arrivals, acked))
        latency = np.where(through > 0, 2.0, np.nan)
        return ScalingOutcome(("T1",), load, through, latency, np.zeros_like(load), (config,), (), (), 20)

    assert ran([10.0, 0.0, 10.0], [5.0, 5.0, 10.0]).degradation() == 0.25
    nothing = ran([0.0, 0.0], [0.0, 0.0])
    assert nothing.unfinished() == 0.0
    with pytest.raises(ConfigurationError, match="no rows arrived"):
        nothing.degradation()
    with pytest.raises(ConfigurationError, match="no row of topology 'T1' was processed"):
        nothing.mean_latency()
    with pytest.raises(ConfigurationError, match="no rows arrived"):
        ran([10.0], [10.0]).degradation(window=11)


def test_a_static_run_never_reconfigures_and_the_same_seed_gives_the_same_run() -> None:
    load = curves.sine(300, 100.0, 300.0, 150)
    everything = Config({"T1": {o.name: 4 for o in T1.dataflow.operators}}, 4)
    found = run_t1(load, Static(), everything)
    assert (found.reconfigured, found.saved()) == ((), 0.0)
    assert found.degradation() < 1e-9
    first, again = (run_t1(load, JointScaling({"T1": T1.dataflow}), setting=ScalingSetting(seed=3)) for _ in range(2))
    np.testing.assert_array_equal(first.acked, again.acked)


def test_only_nodes_leaves_slots_alone() -> None:
    load = curves.stair(600, 150.0, 600.0)
    found = run_t1(load, OnlyNodes(oracle()), Config({"T1": {o.name: 4 for o in T1.dataflow.operators}}, 1))
    assert {config.slots for config in found.configs} == {24}
    assert len(set(found.nodes)) > 1


def test_a_policy_sees_loads_cpu_and_queues() -> None:
    seen: list[LoadHistory] = []

    @dataclass(frozen=True, eq=False)
    class Spy(Elysium):
        def decide(self, history: LoadHistory, plan: Plan) -> Proposal:
            seen.append(history)
            return Static().decide(None, plan)

    load, spy = np.full(180, 300.0), Spy(oracle())
    first = Config({"T1": {o.name: 1 for o in T1.dataflow.operators}}, 2)
    setting = ScalingSetting(start=600.0, past={"T1": np.array([7.0])})
    run_t1(load, spy, first, setting)
    emitted = run_t1(load, spy, first, ScalingSetting(emitted=True, always_restart=True))
    assert len(seen) == 4
    assert seen[1].loads["T1"].values.tolist() == [7.0, 300.0, 300.0]
    assert (seen[1].loads["T1"].start, seen[1].loads["T1"].step) == (540.0, 60.0)
    # StopWordFilter's only slot is full, and what it cannot do waits.
    assert seen[1].slot_cpu["T1", "StopWordFilter"][0] == pytest.approx(1.0, abs=0.06)
    assert len(seen[1].node_cpu) == 2
    assert seen[1].waiting["T1"] == pytest.approx(120 * (300.0 - 280.0), rel=0.3)
    # After a restart sources take less than arrives, or more; the CPU is that of the seconds that it ran in.
    assert emitted.reconfigured == (60, 120)
    assert seen[3].loads["T1"].values[1] != pytest.approx(300.0, rel=0.001)
    assert seen[3].slot_cpu["T1", "StopWordFilter"][0] > 0.9
