"""What every part of ELYSIUM's reproduction needs: the topologies, their learned profiles, the loads, and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from papers.elysium.testbed.assessments import ScalingOutcome, ScalingSetting, run
from papers.elysium.testbed.loads import LoadCurve, all_curves
from papers.elysium.testbed.metric_store import MetricStore
from papers.elysium.testbed.monitor import load_readings
from papers.elysium.testbed.profiling_phase import learn, record, with_forecasts
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

LOADS = "lows and highs of the loads, for about the nodes that the paper saves"
RESTARTS = "restarts of 16 s more than the paper's 5 to 8, for its figure 6c"
CHOSEN = f"{LOADS}; {RESTARTS}; costs of operators"
"""What was chosen after seeing results, for every claim about a run under a load."""


@dataclass(frozen=True, eq=False)
class Lab:
    """Everything that is prepared once.

    Attributes:
        nodes: readings of the profiling phase: what slots used together and what their node used.
        seeds: every comparison is run once with each.
    """

    of: Run
    models: Mapping[str, Model]
    estimator: Estimator
    nodes: Uses
    loads: Loads
    curves: Mapping[str, LoadCurve]
    seeds: tuple[int, ...]

    @property
    def note(self) -> str:
        """What to say where recorded loads are used; empty if they were recorded."""
        return "" if self.loads.recorded else f"{self.loads.note}."

    def joint(self, topology: str, thresholds: Thresholds | None = None, at_once: bool = False) -> JointScaling:
        """The baseline."""
        return JointScaling({topology: self.models[topology].dataflow}, _bounds(thresholds), at_once)

    def elysium(self, thresholds: Thresholds | None = None, patience: int = 0) -> Elysium:
        """Reactive ELYSIUM as published; with patience, the load counts as lower only after further minutes of it."""
        return replace(Elysium.published(self.estimator, _bounds(thresholds)), patience=patience)

    def ours(self) -> Elysium:
        """Reactive ELYSIUM as it is in this package, which works off queues."""
        return Elysium(self.estimator, _bounds(None))

    def proactive(
        self, topology: str, curve: LoadCurve, forecaster: Forecaster | None = None, horizon: int = 1
    ) -> Elysium:
        """Proactive ELYSIUM with a forecast learned from the curve's past, as the metric store has it."""
        begin = curve.start - curve.step * len(curve.past)
        with MetricStore() as store:
            store.record(load_readings(topology, curve.past * PEAKS[topology], begin, curve.step))
            past = store.loads(topology, curve.step, origin=begin)
        network = PaperNetwork(folds=3 if self.of.quick else 10, seed=self.of.seed)
        forecast = (forecaster or network).fitted(past, horizon)
        return Elysium.published(with_forecasts(self.estimator, {topology: forecast}), proactive=True)

    def first(self, rates: Mapping[str, float], bounds: Bounds | None = None) -> Config:
        """The configuration that a run begins with: the right one for its first load."""
        return compute_config(self.estimator, rates, bounds or Bounds()).config

    def runs(
        self,
        topology: str,
        curve: LoadCurve,
        policy: Policy,
        first: Config | None = None,
        setting: ScalingSetting | None = None,
    ) -> Runs:
        """A policy on a curve, with every seed; one that looks back does so in the metric store."""
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
        return Runs(tuple(run(models, {topology: rates}, policy, begin, replace(setting, seed=s)) for s in self.seeds))


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs that differ in their seed only; the first one is drawn."""

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
        """Mean latency in seconds; of several topologies, the mean of theirs."""
        return float(np.mean([o.mean_latency(n) for o in self.outcomes for n in range(len(o.topologies))]))

    @property
    def left(self) -> float:
        """Mean share of rows that were not through at the end."""
        return float(np.mean([o.left() for o in self.outcomes]))

    @property
    def drawn(self) -> ScalingOutcome:
        """The run that figures show."""
        return self.outcomes[0]


def prepare(of: Run) -> Lab:
    """The profiling phase, and the loads."""
    models = {"T1": rolling_top_words(), "T2": sentiment()}
    found = loads(seed=of.seed)
    with TemporaryDirectory() as folder, MetricStore(Path(folder) / "metrics.sqlite") as store:
        record(models, PEAKS, store, of.seed)
        estimator = learn(models, store, of.seed)
        nodes = store.node_uses()
    seeds = tuple(of.seed + n for n in range(1 if of.quick else 5))
    return Lab(of, models, estimator, nodes, found, all_curves(found, of.quick, of.seed), seeds)


def everything(lab: Lab, topology: str) -> Config:
    """All slots and all nodes there may be: the over-provisioned configuration."""
    return Config({topology: {o.name: o.most for o in lab.models[topology].dataflow.operators}}, MOST_NODES)


def _bounds(thresholds: Thresholds | None) -> Bounds:
    return Bounds(MOST_NODES, thresholds or Thresholds())
