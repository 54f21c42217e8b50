"""What monitoring sees of a simulated cluster: means over a sliding minute, every ten seconds (ELYSIUM section 4).

Readings carry a little noise, and selectivities wobble as the paper's Table 2 says they do. The input load is what
arrives for a topology (section 3.2). The paper's prototype measured what its sources take instead (section 4), which is
another figure whenever there is a queue before them; ``emitted`` asks for that. As in the paper, policies can be shown
the input load that the metric store holds.
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
"""Seconds of the sliding window, and from one reading to the next."""


@dataclass(eq=False)
class Monitor:
    """Sees what a cluster does, period by period.

    Attributes:
        start: seconds since 1970 at which the run begins, and ``step`` from one period to the next, on the calendar of
            the load; a recorded load may be played faster than it was recorded.
        past: input load by period before the run, which proactive scaling looks back at.
        emitted: see rows that sources take as input load, not those that arrive.
        store: where the input load is written to and read from again; None to keep it here, which is quicker.
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
        """The input load before the run, by topology, as the store has it if there is one."""
        return {topology: self._past(topology, values) for topology, values in self.past.items() if len(values)}

    def observe(self, cluster: StormCluster, period: RowFlow, arrived: Floats) -> Observation:
        """What another period measured."""
        seen = period.emitted if self.emitted else arrived
        begin = self.start + self.step * self._periods
        self._periods += 1
        queue = period.waiting[-1] + period.flying[-1]
        topologies = {
            topology: TopologyObservation(self._load(topology, seen[:, number].mean(keepdims=True), begin), float(rows))
            for number, (topology, rows) in enumerate(zip(cluster.models, queue, strict=True))
        }
        slots: dict[str, list[float]] = {}
        # What has just been restarted reports nothing of the time before.
        up = ~np.isnan(period.latency)
        numbers = {topology: number for number, topology in enumerate(cluster.models)}
        running = up[:, [numbers[place.topology] for place in cluster.places]]
        for place, used in zip(cluster.places, self._noisy(_while(period.slot_cpu, running)), strict=True):
            slots.setdefault(full_name(place.topology, place.operator), []).append(float(used))
        nodes = self._noisy(
            _while(period.node_cpu, np.repeat(up.max(axis=1, keepdims=True), cluster.config.nodes, axis=1))
        )
        return Observation(
            time=begin + self.step,
            seconds=self.step,
            operators={name: _used(cluster.plan.operators[name], np.array(used)) for name, used in slots.items()},
            cores=np.full(cluster.config.nodes, NODE.cores),
            node_cpu=nodes,
            topologies=topologies,
        )

    def _load(self, topology: str, load: Floats, begin: float) -> float:
        """The input load of a period, as the store has it if there is one."""
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


def _used(plan: OperatorPlan, cpu: Floats) -> OperatorObservation:
    """What is seen of an operator: the CPU of its slots. Rows are not counted by shard."""
    unknown = np.full(len(plan.routing), np.nan)
    return OperatorObservation(plan=plan, arrived=unknown, completed=unknown, useful=np.zeros(0), cpu=cpu)


def load_readings(topology: str, values: Floats, start: float, step: float) -> Batch:
    """One reading of the input load in the middle of every step of time.

    >>> load_readings("t", np.array([5.0, 7.0]), start=60.0, step=60.0).loads
    [(90.0, 't', 5.0), (150.0, 't', 7.0)]
    """
    return Batch(loads=[(start + step * (n + 0.5), topology, float(value)) for n, value in enumerate(values)])


def batch(cluster: StormCluster, run: RowFlow, start: float, rng: np.random.Generator, noise: float) -> Batch:
    """Readings of a whole run for the metric store, one every ten seconds, each a mean over the minute before it."""
    ends = np.arange(WINDOW, len(run.emitted) + 1, EVERY)
    times = (start + ends.astype(np.float64)).tolist()
    used = _sliding(run.slot_cpu, ends) * NODE.hertz
    used *= 1 + noise * rng.standard_normal(used.shape)
    traffic, loads, flows = [], [], {}
    for number, (topology, model) in enumerate(cluster.models.items()):
        rates = _sliding(run.emitted[:, number], ends)
        streams, usual, real = _streams(cluster, model, topology, rates, rng)
        traffic += _pairs(cluster, topology, streams, times)
        flows[topology] = streams
        loads += [(time, topology, float(rate)) for time, rate in zip(times, rates, strict=True)]
        # RowFlow knows mean selectivities only: what a wobble adds or takes away shows in the CPU as well.
        for column, place in enumerate(cluster.places):
            if place.topology == topology:
                slots, cost = cluster.config.parallelism[topology][place.operator], model.costs[place.operator]
                used[:, column] *= cost.at(real[place.operator] / slots) / cost.at(usual[place.operator] / slots)
    totals = np.zeros((len(ends), cluster.config.nodes))
    for column, place in enumerate(cluster.places):
        totals[:, place.node] += used[:, column]
    nodes = overhead(totals) * (1 + noise * rng.standard_normal(totals.shape))
    # Noise of their own, so that the readings of CPU do not depend on whether others are taken.
    apart = rng.spawn(1)[0]
    others = [measure(cluster, flows, len(ends), apart, noise) for measure in (memory, bandwidth)]
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
    """The rate of every stream, and what every operator receives, by mean selectivities and by real ones."""
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


def _pairs(
    cluster: StormCluster, topology: str, streams: Mapping[Stream, Floats], times: list[float]
) -> list[tuple[float, str, str, int, str, int, float]]:
    """Rows per second between all pairs of slots, which share a stream evenly."""
    slots = cluster.config.parallelism[topology]
    return [
        (time, topology, upstream, sender, downstream, receiver, float(rate) / (senders * slots[downstream]))
        for (upstream, downstream), rates in streams.items()
        for senders in (1 if upstream == INPUT else slots[upstream],)
        for time, rate in zip(times, rates, strict=True)
        for sender in range(senders)
        for receiver in range(slots[downstream])
    ]


def _while(values: Floats, running: npt.NDArray[np.bool_]) -> Floats:
    """Means over the seconds in which something ran."""
    found: Floats = (values * running).sum(axis=0) / np.maximum(running.sum(axis=0), 1)
    return found


def _sliding(values: Floats, ends: Ints) -> Floats:
    """Means over the window before each end."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    found: Floats = (total[ends] - total[ends - WINDOW]) / WINDOW
    return found
