"""What a recorded run was given: the rows that arrived over time, what they cost, and the law of its epochs.

The rows of an epoch arrived between the begin of the epoch before and its own begin, evenly: more is not known. An
epoch that begins when a recorded one did has exactly its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.law_fit import LawFit
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.record.recording import Recording
from rheostat.errors import ConfigurationError
from rheostat.simulate.replay.epoch_length import epoch_length

_ROUNDING = 1e-6
"""Rows by which a sum of parts may miss a whole row."""

_AROUND = 2
"""Epochs before and after a recorded one that tell how far the law missed at that time."""

_GOLDEN = (np.sqrt(5) - 1) / 2
"""Multiples of it, less their whole parts, are spread evenly between 0 and 1."""


@dataclass(frozen=True, eq=False)
class RecordedOperator:
    """The rows of one operator over time.

    Attributes:
        level: number of the stage in which it runs.
        arrived: rows that arrived until each of the load's edges, by edge and shard.
        costs: seconds per row, by epoch and shard.
        plans: where it ran, by epoch.
    """

    level: int
    arrived: Floats
    costs: Floats
    plans: tuple[OperatorPlan, ...]

    def recorded_stage(self, epoch: int) -> tuple[int, OperatorPlan, Floats]:
        """Return the level, the plan and the work by shard of a recorded epoch."""
        rows = self.arrived[epoch + 1] - self.arrived[epoch]
        return self.level, self.plans[epoch], rows * self.costs[epoch]


@dataclass(frozen=True, eq=False)
class RecordedLoad:
    """Everything of a recorded run that does not depend on its policy.

    Attributes:
        edges: times at which the rows of the epochs began to arrive, and when those of the last one had arrived; one
            more than there are epochs.
        read: rows that were read from the sources until each edge.
        operators: the rows of every operator, by name; those without keys too.
        laws: the law as calibrated up to each epoch.
        misses: seconds that epochs took longer than the law says, around each epoch: a cold start, a busy machine.
        seen: what was observed of each epoch.
    """

    edges: Floats
    read: Floats
    operators: Mapping[str, RecordedOperator]
    laws: tuple[EpochLaw, ...]
    misses: Floats
    seen: tuple[Observation, ...]

    @classmethod
    def of(cls, recording: Recording) -> RecordedLoad:
        """Return the load of a recording.

        Raises:
            ConfigurationError: the recording has no epoch whose length, rows and work were measured.
        """
        epochs = list(_measured(recording))
        if not epochs:
            raise ConfigurationError(
                "the recording has no epoch whose length and rows by shard were measured: record a topology with keys, "
                "for more than one epoch"
            )
        laws, costs = _calibrated(epochs)
        names = dict.fromkeys(name for seen in epochs for name in seen.operators)
        operators = {name: _operator(name, epochs, costs[name]) for name in names}
        read = np.array([seen.external * seen.seconds for seen in epochs])
        if not np.isfinite(read).all():
            read = _most_rows(operators.values())
        lengths = [
            epoch_length(laws[n], [o.recorded_stage(n) for o in operators.values()], float(rows))
            for n, rows in enumerate(read)
        ]
        misses = _medians_around(np.array([seen.busy for seen in epochs]) - np.array(lengths))
        return cls(_edges(epochs), _sums(read), operators, laws, misses, tuple(epochs))

    @property
    def begin(self) -> float:
        """When the first epoch began."""
        return float(self.edges[1])

    @property
    def end(self) -> float:
        """When the last row arrived that is known of."""
        return float(self.edges[-1])

    def epoch_at(self, time: float) -> int:
        """Return the number of the recorded epoch that began nearest to a time, counted from 0."""
        begins = self.edges[1:]
        after = int(np.clip(np.searchsorted(begins, time), 0, len(begins) - 1))
        before = max(after - 1, 0)
        return before if time - begins[before] < begins[after] - time else after

    def rows_until(self, time: float, name: str) -> Floats:
        """Return the whole rows of an operator that had arrived at a time, by shard.

        The single row of a shard in an epoch has no time of its own. Such rows are spread over the epoch's span.
        """
        arrived = _at(self.edges, self.operators[name].arrived, time)
        parts = np.arange(1, len(arrived) + 1) * _GOLDEN % 1
        whole: Floats = np.floor(arrived + np.clip(parts, _ROUNDING, 1 - _ROUNDING))
        return whole

    def read_until(self, time: float) -> float:
        """Return the rows that the sources had at a time."""
        return float(np.interp(time, self.edges, self.read))

    def next_row(self, time: float) -> float:
        """Return when the next row after a time arrives; the end of the load if there is none."""
        target = self.read_until(time) + 1
        if target > self.read[-1]:
            return self.end
        place = int(np.searchsorted(self.read, target))
        share = (target - self.read[place - 1]) / (self.read[place] - self.read[place - 1])
        return float(self.edges[place - 1] + share * (self.edges[place] - self.edges[place - 1]))

    def plan_at(self, time: float, plan: Plan) -> Plan:
        """Return the plan of the recorded epoch that began nearest to a time.

        Args:
            time: the time.
            plan: a plan with the operators that can move.
        """
        epoch = self.epoch_at(time)
        return Plan({name: self.operators[name].plans[epoch] for name in plan.operators}, plan.nodes)


def _measured(recording: Recording) -> Iterator[Observation]:
    """Yield the observations of epochs whose length and rows are known, each epoch once."""
    last = -np.inf
    for turn in recording.turns:
        seen = turn.observation
        known = 0 < seen.busy < np.inf and seen.operators and all(map(_rows_known, seen.operators.values()))
        if known and seen.time > last:
            last = seen.time
            yield seen


def _rows_known(part: OperatorObservation) -> bool:
    return len(part.rows) == len(part.plan.routing) and bool(np.isfinite(part.rows).all())


def _edges(epochs: Sequence[Observation]) -> Floats:
    """Return when the rows of the first epoch began to arrive, and when every epoch began."""
    first = epochs[0]
    begins = [_begin(first)]
    for before, seen in pairwise(epochs):
        follows = seen.epoch == before.epoch + 1 and 0 < seen.span < np.inf
        begins.append(begins[-1] + seen.span if follows else max(_begin(seen), begins[-1]))
    span = first.span if 0 < first.span < np.inf else first.busy
    return np.array([begins[0] - span, *begins])


def _begin(seen: Observation) -> float:
    """Return when an epoch began. Its time is that of the commit; ``busy`` goes on until the next epoch can begin."""
    return seen.time - (seen.committed if seen.committed >= 0 else seen.busy)


def _calibrated(epochs: Sequence[Observation]) -> tuple[tuple[EpochLaw, ...], dict[str, Floats]]:
    """Return the law of every epoch, and by operator the costs of its shards by epoch.

    They are those that were recorded. Where the recording has none, they are calibrated here, from the same epochs.
    """
    fit, laws, costs = LawFit.start(), [], dict[str, list[Floats]]()
    for seen in epochs:
        fit = fit.after(seen)
        laws.append(seen.law or fit.law)
        for name, part in seen.operators.items():
            known = fit.costs[name].per_row if name in fit.costs else np.zeros(len(part.rows))
            recorded = len(part.cost) == len(part.rows) and bool(np.isfinite(part.cost).all())
            costs.setdefault(name, []).append(part.cost if recorded else np.nan_to_num(known))
    return tuple(laws), {name: np.array(by_epoch) for name, by_epoch in costs.items()}


def _operator(name: str, epochs: Sequence[Observation], costs: Floats) -> RecordedOperator:
    """Return the rows of an operator. In epochs that do not mention it, it had none."""
    parts = [seen.operators.get(name) for seen in epochs]
    known = np.flatnonzero([part is not None for part in parts])
    newest = np.clip(np.searchsorted(known, np.arange(len(parts)), side="right") - 1, 0, None)
    filled = [cast(OperatorObservation, parts[known[place]]) for place in newest]
    rows = np.array([p.rows if part is not None else 0 * p.rows for part, p in zip(parts, filled, strict=True)])
    return RecordedOperator(filled[-1].level, _sums(rows), costs[newest], tuple(part.plan for part in filled))


def _most_rows(operators: Iterable[RecordedOperator]) -> Floats:
    """Return the rows of every epoch, as the operator counted them that got most of them from the sources."""
    readers = [np.diff(o.arrived.sum(axis=1)) for o in operators if o.level == 0]
    return max(readers, key=lambda rows: float(rows.sum()))


def _medians_around(values: Floats) -> Floats:
    """Return for every value the median of itself and as many neighbours before it as after it.

    >>> _medians_around(np.array([9.0, 5.0, 1.0, 1.0, 1.0, 7.0])).tolist()
    [9.0, 5.0, 1.0, 1.0, 1.0, 7.0]
    """
    widths = [min(_AROUND, n, len(values) - 1 - n) for n in range(len(values))]
    return np.array([np.median(values[n - width : n + width + 1]) for n, width in enumerate(widths)])


def _sums(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, 2, ... values."""
    return np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])


def _at(edges: Floats, values: Floats, time: float) -> Floats:
    """Return the values at a time, which grow evenly from edge to edge."""
    place = int(np.clip(np.searchsorted(edges, time, side="right") - 1, 0, len(edges) - 2))
    width = edges[place + 1] - edges[place]
    share = min(max((time - edges[place]) / width, 0.0), 1.0) if width > 0 else 1.0
    grown: Floats = values[place] + share * (values[place + 1] - values[place])
    return grown
