"""The micro-batch engine, driven by a recorded run: its rows, its costs and its law, under any plan.

Epochs follow each other as on Spark: an epoch begins when the one before has ended, the trigger allows it and there is
a row. It takes all rows that have arrived. How long it takes follows from the plan, by the law and the costs that were
calibrated in the recorded run at that time, and by how far the law missed the recorded epochs around it.

Latency is always known here. The rows of the next epoch, and what waits at the source, policies see only if Spark knew
them in the recorded run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import LatencySummary, Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.simulate.replay.epoch_length import by_slot, epoch_length
from rheostat.simulate.replay.recorded_load import RecordedLoad

_UNKNOWN = float("nan")

_LEAST = 0.2
"""Share of the length by the law that an epoch takes at least, whatever the recorded run's law missed."""


@dataclass
class RecordedEpochs:
    """A running replay: ``step`` simulates one epoch, ``apply`` changes the plan of the next.

    Attributes:
        load: what the recorded run was given.
        plan: the plan of the next epoch, for the operators that can move.
        ahead: True if the rows of the next epoch are counted ahead, because the policy needs them.
        begin: when the next epoch begins, on the clock of the recorded run.
        time: when the last epoch was committed; that is when Spark's observer looks at it.
    """

    load: RecordedLoad
    plan: Plan
    ahead: bool = False
    begin: float = field(init=False)
    time: float = field(init=False)

    def __post_init__(self) -> None:
        self._check(self.plan)
        self.begin = self.load.begin
        self.time = self.load.seen[0].time - self.load.seen[0].seconds
        self._taken = float(self.load.edges[0])  # rows that arrived before this time are in an earlier epoch
        self._epoch = self.load.seen[0].epoch
        self._completed = {name: np.zeros(o.arrived.shape[1]) for name, o in self.load.operators.items()}
        self._knows_next = any(seen.next_rows >= 0 for seen in self.load.seen)

    @property
    def ended(self) -> bool:
        """True if all rows of the recorded run have been processed."""
        return self._taken >= self.load.end

    def step(self) -> Observation:
        """Simulate the next epoch, and return what Spark would have observed of it before the one after it."""
        begin, before, number = self.begin, self.time, self.load.epoch_at(self.begin)
        law, span = self.load.laws[number], begin - self._taken
        rows, read = self._arrived(self._taken, begin)
        plans = {name: self._plan_of(name, number) for name in rows}
        work = {name: rows[name] * self.load.operators[name].costs[number] for name in rows}
        useful = {name: by_slot(plans[name], work[name]) for name in rows}
        expected = epoch_length(law, [(self.load.operators[n].level, plans[n], work[n]) for n in rows], read)
        busy = max(expected + float(self.load.misses[number]), _LEAST * expected)
        committed = max(busy - law.tail, 0.0)
        self._taken, self.time = begin, begin + committed
        self._completed = {name: self._completed[name] + rows[name] for name in rows}
        self.begin = self._next_begin(law, begin + busy)
        coming, next_read = self._arrived(begin, self.begin)
        summary = _even_arrivals(read, span, committed)
        seen = self.load.seen[number]
        seconds = self.time - before
        operators = {
            name: OperatorObservation(
                plan=plans[name],
                arrived=self._completed[name],
                completed=self._completed[name],
                useful=useful[name],
                latency=np.where(counts > 0, summary.mean, _UNKNOWN),
                state=seen.operators[name].state if name in seen.operators else np.zeros(0),
                work=work[name],
                coming=coming[name] if self.ahead else np.zeros(0),
                rows=counts,
                level=self.load.operators[name].level,
                p50=np.where(counts > 0, summary.p50, _UNKNOWN),
                p99=np.where(counts > 0, summary.p99, _UNKNOWN),
                cost=self.load.operators[name].costs[number],
            )
            for name, counts in rows.items()
        }
        self._epoch += 1
        return Observation(
            time=self.time,
            seconds=seconds,
            operators=operators,
            cores=seen.cores,
            external=read / seconds,
            wanted=read / seconds if np.isfinite(seen.wanted) else _UNKNOWN,
            epoch=self._epoch - 1,
            busy=busy,
            committed=committed,
            span=span,
            cpus=seen.cpus,
            behind=0.0 if np.isfinite(seen.behind) else _UNKNOWN,
            next_rows=next_read if self._knows_next else _UNKNOWN,
            next_span=self.begin - begin if self._knows_next else _UNKNOWN,
            latency=summary,
            law=law,
            expected=expected,
            expected_latency=span / 2 + max(expected - law.tail, 0.0),
        )

    def apply(self, plan: Plan) -> None:
        """Set the plan of the next epoch. A change takes no time: tasks read their shards from the segments."""
        self._check(plan)
        self.plan = Plan({**self.plan.operators, **plan.operators}, plan.nodes)

    def _check(self, plan: Plan) -> None:
        for name, part in plan.operators.items():
            part.check(self.load.operators[name].arrived.shape[1], max(plan.nodes, 1))

    def _plan_of(self, name: str, number: int) -> OperatorPlan:
        """Return the plan of an operator: the replay's, or the recorded one for operators that cannot move."""
        return self.plan.operators.get(name) or self.load.operators[name].plans[number]

    def _arrived(self, after: float, until: float) -> tuple[dict[str, Floats], float]:
        """Return the rows that arrived in a span of time, by operator and shard, and the rows read for them."""
        load = self.load
        rows = {name: load.rows_until(until, name) - load.rows_until(after, name) for name in load.operators}
        return rows, load.read_until(until) - load.read_until(after)

    def _next_begin(self, law: EpochLaw, end: float) -> float:
        """Return when the next epoch begins: after this one, when the trigger allows it and there is a row."""
        earliest = max(end, self._taken + law.trigger)
        return min(max(earliest, self.load.next_row(self._taken)), max(earliest, self.load.end))


def _even_arrivals(rows: float, span: float, committed: float) -> LatencySummary:
    """Return the latency of rows that arrived evenly in a span of time before an epoch.

    >>> _even_arrivals(100.0, span=1.0, committed=0.5)
    LatencySummary(rows=100.0, mean=1.0, p50=1.0, p99=1.49)
    """
    mean = span / 2 + committed
    return LatencySummary(rows, mean, mean, committed + 0.99 * span) if rows > 0 else LatencySummary()
