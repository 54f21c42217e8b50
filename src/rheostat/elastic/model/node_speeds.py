"""How fast each node is, from the useful seconds of its rows, relative to the mean of all nodes.

A node at half speed takes twice the useful seconds for a row. But rows of different shards may cost different amounts,
too. So both are learned side by side: quickly, how fast a node is, given what shards cost; slowly, what a row of a
shard costs on a node of speed 1. Where shards run now here and now there, the two can be told apart. What is left over
at first is put down to nodes. A node whose processors are busy with something else is slow, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.observation import OperatorObservation

WEIGHT = 0.25
"""Weight of the newest epoch in the speed of a node."""

COST_WEIGHT = 0.05
"""Weight of the newest epoch in the cost of a shard's rows."""

EXTREME = 8.0
"""No node counts as more than this many times faster or slower than the mean."""

UNEVEN, EVEN = 1.25, 1.1
"""How many times as fast the fastest node must be as the slowest to count as uneven, and to go on counting so."""

MEASURED = 5
"""Epochs that a node must have been measured in before its speed counts: the first ones load and compile code."""


@dataclass(frozen=True, eq=False)
class NodeSpeeds:
    """The speed of every node that has processed rows, by the name of its executor; 1 is the mean.

    Attributes:
        logs: by executor, the logarithm of its speed.
        epochs: by executor, the number of epochs in which it was measured.
        costs: by operator, the logarithm of the seconds of a row on a node of speed 1, by shard; NaN if unknown.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> seen = OperatorObservation(plan=OperatorPlan.even(4, 2), arrived=np.zeros(4), completed=np.zeros(4),
    ...                            rows=np.full(4, 100.0), work=np.array([0.5, 0.5, 1.0, 1.0]),
    ...                            useful=np.array([1.0, 2.0]), executors=("0", "1"))
    >>> speeds = NodeSpeeds()
    >>> for _ in range(20):
    ...     speeds = speeds.after({"sums": seen})
    >>> round(speeds.of("0") / speeds.of("1"), 2)
    2.0
    >>> speeds.uneven(["0", "1"]), speeds.uneven(["0"])
    (True, False)
    """

    logs: Mapping[str, float] = field(default_factory=dict)
    epochs: Mapping[str, int] = field(default_factory=dict)
    costs: Mapping[str, Floats] = field(default_factory=dict)

    def of(self, executor: str) -> float:
        """Return the speed of a node; 1 if it has processed nothing yet."""
        return float(np.exp(self.logs.get(executor, 0.0)))

    def by_node(self, executors: tuple[str, ...]) -> Floats:
        """Return the speed of every node, by the executors that they are."""
        return np.array([self.of(executor) for executor in executors])

    def uneven(self, executors: Iterable[str], already: bool = False) -> bool:
        """Return True if some of these nodes are so much faster than others that work should follow their speed.

        Args:
            executors: the nodes that are there.
            already: True if they counted as uneven before. It then takes a smaller difference, so that noise does not
                change the answer back and forth.
        """
        known = [self.of(e) for e in executors if self.epochs.get(e, 0) >= MEASURED]
        return len(known) > 1 and max(known) / min(known) >= (EVEN if already else UNEVEN)

    def after(self, operators: Mapping[str, OperatorObservation]) -> NodeSpeeds:
        """Return the speeds after one more epoch.

        Args:
            operators: what the epoch measured of every operator.
        """
        measured = {name: found for name, seen in operators.items() if (found := _Measured.of(seen)) is not None}
        there = sorted({found.executors[slot] for found in measured.values() for slot in np.unique(found.places)})
        if len(there) < 2:  # one node alone is neither fast nor slow
            return self
        costs = dict(self.costs)
        missed, weights = dict.fromkeys(there, 0.0), dict.fromkeys(there, 0.0)
        for name, found in measured.items():
            costs[name] = found.known(costs.get(name), self.logs)
            for executor, (sum_missed, weight) in found.missed(costs[name], self.logs).items():
                missed[executor] += sum_missed
                weights[executor] += weight
        logs, epochs, bound = dict(self.logs), dict(self.epochs), float(np.log(EXTREME))
        for executor in there:
            share = max(WEIGHT, 1 / (epochs.get(executor, 0) + 1))
            step = share * missed[executor] / weights[executor]
            logs[executor] = float(np.clip(logs.get(executor, 0.0) - step, -bound, bound))
            epochs[executor] = epochs.get(executor, 0) + 1
        middle = float(np.mean([logs[executor] for executor in there]))
        logs.update({executor: logs[executor] - middle for executor in there})
        for name, found in measured.items():
            costs[name] = found.learned(costs[name], logs)
        return NodeSpeeds(logs, epochs, costs)


@dataclass(frozen=True, eq=False)
class _Measured:
    """What an epoch measured of the shards of an operator that had rows.

    Attributes:
        shards: the numbers of these shards.
        costs: the logarithm of the seconds that a row took, by such shard.
        places: the number of the executor that it ran on, by such shard.
        executors: the executors; empty text for slots that did not run.
        weights: what each of them says, in seconds.
        size: the number of all shards.
    """

    shards: Ints
    costs: Floats
    places: Ints
    executors: tuple[str, ...]
    weights: Floats
    size: int

    @classmethod
    def of(cls, seen: OperatorObservation) -> _Measured | None:
        """Return what an observation says of it; None if it does not say enough."""
        size, slots = len(seen.plan.routing), len(seen.plan.nodes)
        if len(seen.rows) != size or len(seen.work) != size or len(seen.executors) != slots:
            return None
        ran = np.array([bool(executor) for executor in seen.executors])
        with np.errstate(invalid="ignore"):
            shards = np.flatnonzero((seen.rows > 0) & (seen.work > 0) & np.isfinite(seen.work) & ran[seen.plan.routing])
        if not len(shards):
            return None
        work = seen.work[shards] * _slowed(seen)[seen.plan.routing[shards]]
        return cls(shards, np.log(work / seen.rows[shards]), seen.plan.routing[shards], seen.executors, work, size)

    def known(self, costs: Floats | None, logs: Mapping[str, float]) -> Floats:
        """Return the costs by shard; those that are not known yet are taken to be the mean of the others."""
        if costs is None or len(costs) != self.size:
            costs = np.full(self.size, np.nan)
        unknown = self.shards[np.isnan(costs[self.shards])]
        if not len(unknown):
            return costs
        if len(unknown) == len(self.shards):
            mean = float(np.average(self.costs + self._speeds(logs), weights=self.weights))
        else:
            mean = float(np.nanmean(costs))
        return np.where(np.isin(np.arange(self.size), unknown), mean, costs)

    def missed(self, costs: Floats, logs: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """Return by executor how much longer its rows took than expected, as a logarithm times weight; and the weight.

        Args:
            costs: what rows cost, by shard.
            logs: how fast executors are.
        """
        over = self.costs - (costs[self.shards] - self._speeds(logs))
        found: dict[str, tuple[float, float]] = {}
        for slot, executor in enumerate(self.executors):
            mine = self.places == slot
            if executor and mine.any():
                before = found.get(executor, (0.0, 0.0))
                weight = self.weights[mine]
                found[executor] = (before[0] + float(over[mine] @ weight), before[1] + float(weight.sum()))
        return found

    def learned(self, costs: Floats, logs: Mapping[str, float]) -> Floats:
        """Return the costs after this epoch."""
        new = costs.copy()
        new[self.shards] += COST_WEIGHT * (self.costs + self._speeds(logs) - costs[self.shards])
        return new

    def _speeds(self, logs: Mapping[str, float]) -> Floats:
        by_slot = np.array([logs.get(executor, 0.0) for executor in self.executors])
        return np.asarray(by_slot[self.places], dtype=np.float64)


def _slowed(seen: OperatorObservation) -> Floats:
    """Return how many times longer every slot took because others had the processors of its node."""
    if len(seen.queued) != len(seen.useful) or not len(seen.useful):
        return np.ones(len(seen.plan.nodes))
    with np.errstate(invalid="ignore", divide="ignore"):
        slowed = 1 + np.nan_to_num(seen.queued) / seen.useful
    return np.where(np.isfinite(slowed), slowed, 1.0)


def host_speeds(hosts: Sequence[str], speeds: Floats) -> dict[str, float]:
    """Return the speed of every host: the mean of its nodes.

    Args:
        hosts: the host of every node; empty text for nodes that are gone.
        speeds: the speed of every node.

    >>> host_speeds(("a", "b", "b", ""), np.array([1.0, 0.5, 0.7, 1.0]))
    {'a': 1.0, 'b': 0.6}
    """
    by_host: dict[str, list[float]] = {}
    for host, speed in zip(hosts, speeds.tolist(), strict=True):
        if host:
            by_host.setdefault(host, []).append(speed)
    return {host: float(np.mean(found)) for host, found in by_host.items()}


def _relative(seen: OperatorObservation) -> dict[str, tuple[float, float]]:
    """Return by executor the logarithm of its speed relative to the mean, and the useful seconds that say so."""
    slots = len(seen.plan.nodes)
    if len(seen.rows) != len(seen.plan.routing) or len(seen.useful) != slots or len(seen.executors) != slots:
        return {}
    rows = np.bincount(seen.plan.routing, weights=seen.rows, minlength=slots)
    by_executor: dict[str, tuple[float, float]] = {}
    for slot, executor in enumerate(seen.executors):
        if executor and rows[slot] > 0 and seen.useful[slot] > 0:
            count, seconds = by_executor.get(executor, (0.0, 0.0))
            by_executor[executor] = (count + float(rows[slot]), seconds + float(seen.useful[slot]))
    if len(by_executor) < 2:
        return {}
    costs = {executor: seconds / count for executor, (count, seconds) in by_executor.items()}
    mean = sum(np.log(cost) for cost in costs.values()) / len(costs)
    return {e: (float(mean - np.log(cost)), by_executor[e][1]) for e, cost in costs.items()}
