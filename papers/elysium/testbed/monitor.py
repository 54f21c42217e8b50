"""Monitoring of a simulated cluster: means over a sliding minute, every ten seconds (ELYSIUM section 4).

Readings carry a little noise, and selectivities vary as much as in the paper's Table 2. The input load is the rows that
arrive for a topology (section 3.2). The paper's prototype measured the rows that its sources take instead (section 4),
which differs whenever rows wait in the queue; ``Monitor.emitted`` selects that. As in the paper, policies can read the
input load from the metric store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from papers.elysium.testbed.cluster import StormCluster
from papers.elysium.testbed.flow import RowFlow
from papers.elysium.testbed.metric_store import CPU, Batch, MetricStore
from papers.elysium.testbed.resource_monitor import bandwidth, memory
from papers.elysium.testbed.topologies import NODE, Model, overhead
from rheostat.arrays import Floats, Ints
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.plans import full_name
from rheostat.elastic.elysium.profiles.samples import INPUT, Stream
from rheostat.elastic.model.observation import Observation, OperatorObservation, TopologyObservation
from rheostat.elastic.model.plan import OperatorPlan

WINDOW, EVERY = 60, 10
"""Length of the sliding window, and time from one reading to the next, in seconds."""


@dataclass(eq=False)
class Monitor:
    """Turns what a cluster does in a period into an observation.

    Attributes:
        rng: draws the noise of readings.
        noise: standard deviation of CPU readings, relative to the reading.
        start: time at which the run begins on the load's own calendar, in seconds since 1970.
        step: seconds that a period takes on that calendar; a recording may be played faster than it was recorded.
        past: input load before the run, by topology: rows per second of every earlier period.
        emitted: True to report the rows that sources take as input load, False for the rows that arrive.
        store: the metric store that the input load is written to and read from; None to use it directly, which is
            faster.
    """

    rng: np.random.Generator
    noise: float
    start: float = 0.0
    step: float = 60.0
    past: Mapping[str, Floats] = field(default_factory=dict)
    emitted: bool = False
    store: MetricStore | None = None

    def __post_init__(self) -> None:
        self._periods = 0
        if self.store is not None:
            for topology, values in self.past.items():
                self.store.record(load_readings(topology, values, self.start - self.step * len(values), self.step))

    def past_loads(self) -> dict[str, Series]:
        """Return the input load before the run, by topology, read from the store if there is one."""
        return {topology: self._past(topology, values) for topology, values in self.past.items() if len(values)}

    def observe(self, cluster: StormCluster, period: RowFlow, arrived: Floats) -> Observation:
        """Return the observation of the next period.

        Args:
            cluster: the cluster that ran.
            period: what happened in the period.
            arrived: rows that arrived, by second and topology.
        """
        seen = period.emitted if self.emitted else arrived
        begin = self.start + self.step * self._periods
        self._periods += 1
        queue = period.waiting[-1] + period.flying[-1]
        topologies = {
            topology: TopologyObservation(self._load(topology, seen[:, number].mean(keepdims=True), begin), float(rows))
            for number, (topology, rows) in enumerate(zip(cluster.models, queue, strict=True))
        }
        slots: dict[str, list[float]] = {}
        # A topology that has just restarted reports only the seconds since then.
        up = ~np.isnan(period.latency)
        numbers = {topology: number for number, topology in enumerate(cluster.models)}
        running = up[:, [numbers[place.topology] for place in cluster.places]]
        for place, used in zip(cluster.places, self._noisy(_mean_while_running(period.slot_cpu, running)), strict=True):
            slots.setdefault(full_name(place.topology, place.operator), []).append(float(used))
        nodes = self._noisy(
            _mean_while_running(period.node_cpu, np.repeat(up.max(axis=1, keepdims=True), cluster.config.nodes, axis=1))
        )
        return Observation(
            time=begin + self.step,
            seconds=self.step,
            operators={name: _cpu_only(cluster.plan.operators[name], np.array(used)) for name, used in slots.items()},
            cores=np.full(cluster.config.nodes, NODE.cores),
            node_cpu=nodes,
            topologies=topologies,
        )

    def _load(self, topology: str, load: Floats, begin: float) -> float:
        """Return the input load of a period, written to and read from the store if there is one."""
        if self.store is None:
            return float(load[0])
        self.store.record(load_readings(topology, load, begin, self.step))
        read = self.store.loads(topology, self.step, begin, begin + self.step, origin=self.start)
        return float(read.values[-1]) if len(read) else float("nan")

    def _past(self, topology: str, values: Floats) -> Series:
        begin = self.start - self.step * len(values)
        if self.store is None:
            return Series(np.array(values), begin, self.step)
        return self.store.loads(topology, self.step, -np.inf, self.start, origin=self.start)

    def _noisy(self, values: Floats) -> Floats:
        return values * (1 + self.noise * self.rng.standard_normal(values.shape))


def _cpu_only(plan: OperatorPlan, cpu: Floats) -> OperatorObservation:
    """Return an observation with only the CPU of an operator's slots; rows by shard are unknown."""
    unknown = np.full(len(plan.routing), np.nan)
    return OperatorObservation(plan=plan, arrived=unknown, completed=unknown, useful=np.zeros(0), cpu=cpu)


def load_readings(topology: str, values: Floats, start: float, step: float) -> Batch:
    """Return one reading of the input load for every step of time, dated to the middle of the step.

    >>> load_readings("t", np.array([5.0, 7.0]), start=60.0, step=60.0).loads
    [(90.0, 't', 5.0), (150.0, 't', 7.0)]
    """
    return Batch(loads=[(start + step * (n + 0.5), topology, float(value)) for n, value in enumerate(values)])


def monitor_run(cluster: StormCluster, run: RowFlow, start: float, rng: np.random.Generator, noise: float) -> Batch:
    """Return all readings of a run for the metric store: one every ten seconds, each a mean over the last minute."""
    ends = np.arange(WINDOW, len(run.emitted) + 1, EVERY)
    times = (start + ends.astype(np.float64)).tolist()
    used = _window_means(run.slot_cpu, ends) * NODE.hertz
    used *= 1 + noise * rng.standard_normal(used.shape)
    traffic, loads, flows = [], [], {}
    for number, (topology, model) in enumerate(cluster.models.items()):
        rates = _window_means(run.emitted[:, number], ends)
        streams, usual, real = _streams(cluster, model, topology, rates, rng)
        traffic += _slot_traffic(cluster, topology, streams, times)
        flows[topology] = streams
        loads += [(time, topology, float(rate)) for time, rate in zip(times, rates, strict=True)]
        # RowFlow uses mean selectivities only, so the CPU is corrected for their deviations here.
        for column, place in enumerate(cluster.places):
            if place.topology == topology:
                slots, cost = cluster.config.parallelism[topology][place.operator], model.costs[place.operator]
                used[:, column] *= cost.at(real[place.operator] / slots) / cost.at(usual[place.operator] / slots)
    totals = np.zeros((len(ends), cluster.config.nodes))
    for column, place in enumerate(cluster.places):
        totals[:, place.node] += used[:, column]
    nodes = overhead(totals) * (1 + noise * rng.standard_normal(totals.shape))
    # A generator of their own, so that CPU readings are the same with and without memory and bandwidth.
    own_rng = rng.spawn(1)[0]
    others = [measure(cluster, flows, len(ends), own_rng, noise) for measure in (memory, bandwidth)]
    resources = [(CPU, used, nodes), *((other.name, other.slots, other.nodes) for other in others)]
    return Batch(
        traffic,
        [
            (time, p.topology, p.operator, p.slot, p.node, name, float(slots[row, column]))
            for name, slots, _ in resources
            for row, time in enumerate(times)
            for column, p in enumerate(cluster.places)
        ],
        [
            (time, node, name, float(use))
            for name, _, by_node in resources
            for time, row in zip(times, by_node, strict=True)
            for node, use in enumerate(row)
        ],
        loads,
    )


def _streams(
    cluster: StormCluster, model: Model, topology: str, loads: Floats, rng: np.random.Generator
) -> tuple[dict[Stream, Floats], dict[str, Floats], dict[str, Floats]]:
    """Return the rate of every stream, and what every operator receives by mean selectivities and by the real ones."""
    dataflow, slots = model.dataflow, cluster.config.parallelism[topology]
    usual = {name: np.zeros(len(loads)) for name in dataflow.order}
    real = {name: np.zeros(len(loads)) for name in dataflow.order}
    streams: dict[Stream, Floats] = {}
    for source in dataflow.sources:
        streams[INPUT, source] = usual[source] = real[source] = loads / len(dataflow.sources)
    for name in dataflow.order:
        for stream in (s for s in dataflow.streams if s[0] == name):
            mean, wobble = model.selectivity.get(stream, 0.0), model.wobble.get(stream, 0.0)
            ticks = model.ticks.get(stream, 0.0) * slots[name]
            streams[stream] = real[name] * (mean + wobble * rng.standard_normal(len(loads))) + ticks
            usual[stream[1]] = usual[stream[1]] + usual[name] * mean + ticks
            real[stream[1]] = real[stream[1]] + streams[stream]
    return streams, usual, real


def _slot_traffic(
    cluster: StormCluster, topology: str, streams: Mapping[Stream, Floats], times: list[float]
) -> list[tuple[float, str, str, int, str, int, float]]:
    """Return the rows per second between all pairs of slots; every pair of a stream carries the same share of it."""
    slots = cluster.config.parallelism[topology]
    return [
        (time, topology, upstream, sender, downstream, receiver, float(rate) / (senders * slots[downstream]))
        for (upstream, downstream), rates in streams.items()
        for senders in (1 if upstream == INPUT else slots[upstream],)
        for time, rate in zip(times, rates, strict=True)
        for sender in range(senders)
        for receiver in range(slots[downstream])
    ]


def _mean_while_running(values: Floats, running: npt.NDArray[np.bool_]) -> Floats:
    """Return the means over the seconds in which ``running`` is True; 0 if there are none."""
    means: Floats = (values * running).sum(axis=0) / np.maximum(running.sum(axis=0), 1)
    return means


def _window_means(values: Floats, ends: Ints) -> Floats:
    """Return the means over the window before each end."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    means: Floats = (total[ends] - total[ends - WINDOW]) / WINDOW
    return means
