"""What every figure of ELYSIUM's evaluation needs: topologies, learned profiles, loads, policies and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from papers.elysium.testbed.assessments import ScalingOutcome, ScalingSetting, run_policy
from papers.elysium.testbed.loads import LoadCurve, all_curves
from papers.elysium.testbed.metric_store import MetricStore
from papers.elysium.testbed.monitor import load_readings
from papers.elysium.testbed.profiling_phase import learn_estimator, record_profiling_runs, with_forecasts
from papers.elysium.testbed.topologies import MOST_NODES, T1_PEAK, T2_PEAK, Model, rolling_top_words, sentiment
from papers.paper_run import Run
from rheostat.elastic.elysium.config_search import Bounds, compute_config
from rheostat.elastic.elysium.configuration import Config, Thresholds
from rheostat.elastic.elysium.elysium import Elysium
from rheostat.elastic.elysium.estimator import Estimator
from rheostat.elastic.elysium.forecasts.paper_network import PaperNetwork
from rheostat.elastic.elysium.forecasts.series import Forecaster
from rheostat.elastic.elysium.joint_scaling import JointScaling
from rheostat.elastic.elysium.profiles.samples import Uses
from rheostat.elastic.model.policy import Policy
from rheostat.workloads.load_traces import Loads, loads

PEAKS = {"T1": T1_PEAK, "T2": T2_PEAK}
"""Rows per second at which a topology needs all four nodes."""

LOADS = "load ranges, set to save about as many nodes as the paper"
RESTARTS = "restarts 16 s longer than the paper's 5 to 8 s, to match its figure 6c"
CHOSEN = f"{LOADS}; {RESTARTS}; operator costs"
"""The ``chosen`` text of every claim about a run under a load."""


@dataclass(frozen=True, eq=False)
class Lab:
    """Everything that is prepared once and shared by all figures.

    Attributes:
        run: the reproduction run: where figures and tables go, whether it is quick, and its seed.
        models: the simulated topologies, by name.
        estimator: profiles learned in the profiling phase.
        nodes: node readings of the profiling phase: CPU of all slots on a node, and CPU of the node itself.
        loads: recorded input loads, or synthetic ones.
        curves: the loads to run, by name, as shares of the peak load.
        seeds: every comparison runs once with each seed.
    """

    run: Run
    models: Mapping[str, Model]
    estimator: Estimator
    nodes: Uses
    loads: Loads
    curves: Mapping[str, LoadCurve]
    seeds: tuple[int, ...]

    @property
    def note(self) -> str:
        """A sentence for claims about recorded loads if synthetic ones stand in for them; otherwise empty."""
        return "" if self.loads.recorded else f"{self.loads.note}."

    def joint(self, topology: str, thresholds: Thresholds | None = None, at_once: bool = False) -> JointScaling:
        """Return the baseline, which scales operators and nodes together.

        Args:
            topology: the only topology to scale.
            thresholds: None for the paper's.
            at_once: True to give every overloaded operator a slot in the same assessment, False for only one of them.
        """
        return JointScaling({topology: self.models[topology].dataflow}, _bounds(thresholds), at_once)

    def elysium(self, thresholds: Thresholds | None = None, patience: int = 0) -> Elysium:
        """Return reactive ELYSIUM as published.

        Args:
            thresholds: None for the paper's.
            patience: further minutes for which the load must stay lower before ELYSIUM scales in; 0 as published.
        """
        return replace(Elysium.published(self.estimator, _bounds(thresholds)), patience=patience)

    def ours(self) -> Elysium:
        """Return reactive ELYSIUM as in this package, which also provides for working off queues."""
        return Elysium(self.estimator, _bounds(None))

    def proactive(
        self, topology: str, curve: LoadCurve, forecaster: Forecaster | None = None, horizon: int = 1
    ) -> Elysium:
        """Return proactive ELYSIUM with a forecast learned from the curve's past, read from a metric store.

        Args:
            topology: the topology that the load is for.
            curve: the load.
            forecaster: None for the paper's network.
            horizon: minutes to look ahead.
        """
        begin = curve.start - curve.step * len(curve.past)
        with MetricStore() as store:
            store.record(load_readings(topology, curve.past * PEAKS[topology], begin, curve.step))
            past = store.loads(topology, curve.step, origin=begin)
        network = PaperNetwork(folds=3 if self.run.quick else 10, seed=self.run.seed)
        forecast = (forecaster or network).fitted(past, horizon)
        return Elysium.published(with_forecasts(self.estimator, {topology: forecast}), proactive=True)

    def first(self, rates: Mapping[str, float], bounds: Bounds | None = None) -> Config:
        """Return the configuration that a run starts with: the one ELYSIUM computes for these input loads."""
        return compute_config(self.estimator, rates, bounds or Bounds()).config

    def runs(
        self,
        topology: str,
        curve: LoadCurve,
        policy: Policy,
        first: Config | None = None,
        setting: ScalingSetting | None = None,
    ) -> Runs:
        """Run a policy on a curve, once with every seed.

        Args:
            topology: the only topology in the cluster.
            curve: its load.
            policy: what decides. A proactive policy reads past loads from a metric store.
            first: the configuration to start with; None for the right one for the first load.
            setting: None for the defaults.
        """
        rates = curve.values * PEAKS[topology]
        setting = replace(
            setting or ScalingSetting(),
            start=curve.start,
            step=curve.step,
            past={topology: curve.past * PEAKS[topology]},
            stored=isinstance(policy, Elysium) and policy.proactive,
        )
        begin = first or self.first({topology: float(rates[0])})
        models = {topology: self.models[topology]}
        seeded = [replace(setting, seed=seed) for seed in self.seeds]
        return Runs(tuple(run_policy(models, {topology: rates}, policy, begin, each) for each in seeded))


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs that differ only in their seed.

    Attributes:
        outcomes: one per seed.
    """

    outcomes: Sequence[ScalingOutcome]

    @property
    def degradation(self) -> float:
        """Mean throughput degradation."""
        return float(np.mean([o.degradation() for o in self.outcomes]))

    @property
    def saved(self) -> float:
        """Mean share of nodes saved."""
        return float(np.mean([o.saved() for o in self.outcomes]))

    @property
    def reconfigurations(self) -> float:
        """Mean number of reconfigurations."""
        return float(np.mean([len(o.reconfigured) for o in self.outcomes]))

    @property
    def latency(self) -> float:
        """Mean latency in seconds, over all topologies."""
        return float(np.mean([o.mean_latency(n) for o in self.outcomes for n in range(len(o.topologies))]))

    @property
    def unfinished(self) -> float:
        """Mean share of rows that are not processed at the end."""
        return float(np.mean([o.unfinished() for o in self.outcomes]))

    @property
    def drawn(self) -> ScalingOutcome:
        """The run that figures show: the one with the first seed."""
        return self.outcomes[0]


def prepare(run: Run) -> Lab:
    """Load the input loads, run the profiling phase and learn profiles from it."""
    models = {"T1": rolling_top_words(), "T2": sentiment()}
    traces = loads(seed=run.seed)
    with TemporaryDirectory() as folder, MetricStore(Path(folder) / "metrics.sqlite") as store:
        record_profiling_runs(models, PEAKS, store, run.seed)
        estimator = learn_estimator(models, store, run.seed)
        nodes = store.node_uses()
    seeds = tuple(run.seed + n for n in range(1 if run.quick else 5))
    return Lab(
        run=run,
        models=models,
        estimator=estimator,
        nodes=nodes,
        loads=traces,
        curves=all_curves(traces, run.quick, run.seed),
        seeds=seeds,
    )


def full_config(lab: Lab, topology: str) -> Config:
    """Return the over-provisioned configuration: the most slots for every operator, on all nodes."""
    return Config({topology: {o.name: o.most for o in lab.models[topology].dataflow.operators}}, MOST_NODES)


def _bounds(thresholds: Thresholds | None) -> Bounds:
    return Bounds(MOST_NODES, thresholds or Thresholds())
