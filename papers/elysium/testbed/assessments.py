"""Run a policy on a simulated cluster, one assessment after the other, and measure the outcome (section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from papers.elysium.testbed.cluster import ClusterBehaviour, StormCluster
from papers.elysium.testbed.metric_store import MetricStore
from papers.elysium.testbed.monitor import Monitor
from papers.elysium.testbed.topologies import MOST_NODES, Model
from rheostat.arrays import Floats
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.elysium import Elysium
from rheostat.elastic.loop.actuation import carry_out
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.plan import Proposal
from rheostat.elastic.model.policy import Policy
from rheostat.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class ScalingOutcome:
    """What happened in a run.

    Attributes:
        topologies: names, in the order of the columns of the arrays below.
        arrivals: rows that arrive, by second and topology.
        acked: rows that are completely processed, by second and topology.
        latency: mean seconds in flight, by second and topology; NaN while a topology restarts.
        waiting: rows that have arrived and are not processed yet, by second and topology.
        configs: the configuration in every assessment period.
        proposals: the policy's proposal at every assessment.
        reconfigured: seconds at which the configuration changed.
        period: seconds from one assessment to the next.
    """

    topologies: tuple[str, ...]
    arrivals: Floats
    acked: Floats
    latency: Floats
    waiting: Floats
    configs: tuple[Config, ...]
    proposals: tuple[Proposal, ...]
    reconfigured: tuple[int, ...]
    period: int

    @property
    def nodes(self) -> Floats:
        """Number of nodes, by assessment period."""
        return np.array([config.nodes for config in self.configs], dtype=np.float64)

    def degradation(self, window: int = 10) -> float:
        """Return the throughput degradation: the mean of |input load - throughput| / input load (section 5.1).

        Loads and throughputs of several topologies are added up.

        Args:
            window: seconds over which load and throughput are averaged before they are compared.
        """
        by_window = self.degradations(window)
        if np.isnan(by_window).all():
            raise ConfigurationError(
                f"cannot compute the throughput degradation: no rows arrived in any window of {window} seconds; run "
                "with an input load above 0, or with a shorter window"
            )
        return float(np.nanmean(by_window))

    def degradations(self, window: int = 10) -> Floats:
        """Return the throughput degradation of every window; NaN where no rows arrived."""
        load, through = (_window_means(v.sum(axis=1), window) for v in (self.arrivals, self.acked))
        by_window: Floats = np.full(load.shape, np.nan)
        np.divide(np.abs(load - through), load, out=by_window, where=load > 0)
        return by_window

    def saved(self, most: int = MOST_NODES) -> float:
        """Return the share of nodes saved, compared with a cluster that always has ``most`` nodes (section 5.1)."""
        return 1 - float(self.nodes.sum()) / (len(self.nodes) * most)

    def mean_latency(self, topology: int = 0) -> float:
        """Return the mean seconds in flight of all processed rows of a topology, given by its column."""
        through, seconds = self.acked[:, topology], self.latency[:, topology]
        some = through > 0
        if not some.any():
            raise ConfigurationError(
                f"cannot compute the mean latency: no row of topology {self.topologies[topology]!r} was processed; run "
                "it for longer, or with a lower load"
            )
        return float(np.average(seconds[some], weights=through[some]))

    def unfinished(self) -> float:
        """Return the share of all arrived rows that are not processed at the end; 0 if none arrived."""
        arrived = float(self.arrivals.sum())
        return float(self.waiting[-1].sum()) / arrived if arrived > 0 else 0.0

    def slots(self, topology: str, operator: str) -> Floats:
        """Return the number of slots of an operator, by assessment period."""
        return np.array([config.parallelism[topology][operator] for config in self.configs], dtype=np.float64)


@dataclass(frozen=True)
class ScalingSetting:
    """The conditions under which a policy runs.

    Attributes:
        behaviour: how the cluster behaves.
        period: seconds from one assessment to the next.
        start: time at which the run begins on the load's own calendar, in seconds since 1970.
        step: seconds that a period takes on that calendar; more than ``period`` if a recording is played faster.
        past: input load before the run, by topology: rows per second of every earlier period.
        emitted: True if the policy sees the rows that sources take as input load, False for the rows that arrive.
        stored: True if the policy reads the input load from a metric store (in memory).
        always_restart: True to restart all topologies at every assessment, changed or not (the paper's Fig. 6c).
        seed: seed of everything random in the run.
    """

    behaviour: ClusterBehaviour = field(default_factory=ClusterBehaviour)
    period: int = 60
    start: float = 0.0
    step: float = 60.0
    past: Mapping[str, Floats] = field(default_factory=dict)
    emitted: bool = False
    stored: bool = False
    always_restart: bool = False
    seed: int = 1


def run_policy(
    models: Mapping[str, Model], loads: Mapping[str, Floats], policy: Policy, first: Config, setting: ScalingSetting
) -> ScalingOutcome:
    """Run the loads against the cluster: assess after every period, and reconfigure if the policy proposes it.

    Args:
        models: the topologies in the cluster, by name.
        loads: rows that arrive in every second, by topology.
        policy: what decides at every assessment.
        first: the configuration to start with.
        setting: the conditions of the run.
    """
    with MetricStore() if setting.stored else nullcontext() as store:
        return _run(models, loads, policy, first, setting, store)


def _run(
    models: Mapping[str, Model],
    loads: Mapping[str, Floats],
    policy: Policy,
    first: Config,
    setting: ScalingSetting,
    store: MetricStore | None,
) -> ScalingOutcome:
    rng = np.random.default_rng(setting.seed)
    cluster = StormCluster(models, first, setting.behaviour, rng)
    monitor = Monitor(
        rng=rng,
        noise=setting.behaviour.noise,
        start=setting.start,
        step=setting.step,
        past=setting.past,
        emitted=setting.emitted,
        store=store,
    )
    arrivals = np.column_stack([loads[topology] for topology in models])
    if isinstance(policy, Elysium):
        policy = replace(policy, past=monitor.past_loads())
    control = Control.start(policy, cluster.plan)
    flows, configs, proposals, changed = [], [], [], []
    for begin in range(0, len(arrivals), setting.period):
        now = arrivals[begin : begin + setting.period]
        configs.append(cluster.config)
        flows.append(cluster.run(now))
        end = begin + len(now)
        if end >= len(arrivals):
            break
        seen, before = monitor.observe(cluster, flows[-1], now), cluster.restarts
        result = turn(control, seen, cluster.plan)
        proposals.append(result.proposal)
        if setting.always_restart:
            control = result.control
            for topology in models:
                cluster.restart(topology)
        else:
            control = carry_out(result, cluster, seen.time)
        if cluster.restarts > before:
            changed.append(end)
    return ScalingOutcome(
        topologies=tuple(models),
        arrivals=arrivals,
        acked=np.concatenate([f.acked for f in flows]),
        latency=np.concatenate([f.latency for f in flows]),
        waiting=np.concatenate([f.waiting + f.flying for f in flows]),
        configs=tuple(configs),
        proposals=tuple(proposals),
        reconfigured=tuple(changed),
        period=setting.period,
    )


def _window_means(values: Floats, window: int) -> Floats:
    """Return the mean of every whole window; an incomplete last window is left out."""
    whole = len(values) // window * window
    means: Floats = values[:whole].reshape(-1, window).mean(axis=1)
    return means
