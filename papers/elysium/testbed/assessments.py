"""A policy at work on a simulated cluster, assessment by assessment, and what came of it (ELYSIUM section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from papers.elysium.testbed.cluster import Habits, StormCluster
from papers.elysium.testbed.metric_store import MetricStore
from papers.elysium.testbed.monitor import Monitor
from papers.elysium.testbed.topologies import MOST_NODES, Model
from rheostat.arrays import Floats
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.elysium import Elysium
from rheostat.elastic.loop.loop import Control, carry_out, turn
from rheostat.elastic.model.plan import Proposal
from rheostat.elastic.model.policy import Policy
from rheostat.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class ScalingOutcome:
    """A run.

    Attributes:
        arrivals: rows per second, by second and topology; ``acked``, those that came through.
        latency: mean seconds in flight; NaN while a topology restarts.
        waiting: rows that have arrived and are not through.
        configs: what ran, by assessment period.
        proposals: what the policy said at every assessment.
        reconfigured: seconds at which the configuration changed.
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
        """Nodes by assessment period."""
        return np.array([config.nodes for config in self.configs], dtype=np.float64)

    def degradation(self, window: int = 10) -> float:
        """Mean over time of |input load - throughput| / input load (section 5.1), over windows of some seconds.

        Several topologies count as one, with their loads and throughputs added.
        """
        found = self.degradations(window)
        if np.isnan(found).all():
            raise ConfigurationError(
                f"in no window of {window} seconds of this run rows came in: there is nothing that throughput could "
                "fall behind. Give it a load, or a shorter window"
            )
        return float(np.nanmean(found))

    def degradations(self, window: int = 10) -> Floats:
        """The same by window, relative to the input load of the window; NaN where there was none."""
        load, through = (_windows(v.sum(axis=1), window) for v in (self.arrivals, self.acked))
        found: Floats = np.full(load.shape, np.nan)
        np.divide(np.abs(load - through), load, out=found, where=load > 0)
        return found

    def saved(self, most: int = MOST_NODES) -> float:
        """Share of nodes saved against a cluster that always has them all (section 5.1)."""
        return 1 - float(self.nodes.sum()) / (len(self.nodes) * most)

    def mean_latency(self, topology: int = 0) -> float:
        """Mean seconds in flight of the rows that came through."""
        through, seconds = self.acked[:, topology], self.latency[:, topology]
        some = through > 0
        if not some.any():
            raise ConfigurationError(
                f"no row of topology {self.topologies[topology]!r} came through: there is no latency to take a mean "
                "of. Run it for longer, or with a load that it can handle"
            )
        return float(np.average(seconds[some], weights=through[some]))

    def left(self) -> float:
        """Rows that are not through at the end, relative to all that arrived; 0 if none did."""
        arrived = float(self.arrivals.sum())
        return float(self.waiting[-1].sum()) / arrived if arrived > 0 else 0.0

    def slots(self, topology: str, operator: str) -> Floats:
        """Parallelism of an operator by assessment period."""
        return np.array([config.parallelism[topology][operator] for config in self.configs], dtype=np.float64)


@dataclass(frozen=True)
class ScalingSetting:
    """Under what conditions a policy runs.

    Attributes:
        period: seconds from one assessment to the next.
        start: seconds since 1970 at which the run begins; ``step``, those of a period on the calendar of the load.
        past: input load by period before it, by topology.
        emitted: the policy sees what sources take as input load, not what arrives.
        stored: the policy sees the input load that the metric store holds, in memory here.
        always: restart everything at every assessment, whether or not anything changes (the paper's Fig. 6c).
    """

    habits: Habits = field(default_factory=Habits)
    period: int = 60
    start: float = 0.0
    step: float = 60.0
    past: Mapping[str, Floats] = field(default_factory=dict)
    emitted: bool = False
    stored: bool = False
    always: bool = False
    seed: int = 1


def run(
    models: Mapping[str, Model], loads: Mapping[str, Floats], policy: Policy, first: Config, setting: ScalingSetting
) -> ScalingOutcome:
    """Let the loads run in, assess after every period, reconfigure where the policy wants it."""
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
    cluster = StormCluster(models, first, setting.habits, rng)
    monitor = Monitor(rng, setting.habits.noise, setting.start, setting.step, setting.past, setting.emitted, store)
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
        if setting.always:
            control = result.control
            for topology in models:
                cluster.restart(topology)
        else:
            control = carry_out(result, cluster, seen.time)
        if cluster.restarts > before:
            changed.append(end)
    return ScalingOutcome(
        tuple(models),
        arrivals,
        np.concatenate([f.acked for f in flows]),
        np.concatenate([f.latency for f in flows]),
        np.concatenate([f.waiting + f.flying for f in flows]),
        tuple(configs),
        tuple(proposals),
        tuple(changed),
        setting.period,
    )


def _windows(values: Floats, window: int) -> Floats:
    whole = len(values) // window * window
    found: Floats = values[:whole].reshape(-1, window).mean(axis=1)
    return found
