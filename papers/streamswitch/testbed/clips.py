"""What a run of the trading day is looked at through: a line for every few seconds, and clips of single treatments."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from papers.streamswitch.testbed.engines import Samza
from papers.streamswitch.testbed.trading_day import NAME, SPEED, WHOLE, Day, Traded, engine, simulated, weighed
from rheostat.arrays import Floats
from rheostat.elastic.model.plan import Action, OperatorPlan
from rheostat.simulate.continuous.engine import Interval
from rheostat.simulate.trace import quantile

LINE = 5.0
"""Seconds of a line."""

BEFORE, AFTER = 10.0, 20.0
"""Seconds of a clip."""

FROM = 56.0
"""Minute of the day from which treatments are shown: the paper shows minutes 56 to 60."""

LEAST = 3
"""Shards that a treatment moves if it is shown, as in the paper's examples."""

_BIN = 5  # intervals that a line of a clip sums


@dataclass(frozen=True, eq=False)
class Clip:
    """The seconds around one treatment; time 0 is when it was decided.

    Attributes:
        minute: of the run; ``moved``, shards that changed their slot from ``source`` to ``target``.
        arrivals: rows per second that arrived at source and target, in columns.
        latency: mean seconds of the rows that source, target, and the shards that moved had completed, in columns.
    """

    action: str
    minute: float
    source: int
    target: int
    moved: int
    time: Floats
    arrivals: Floats
    latency: Floats

    @property
    def load(self) -> float:
        """Of the source in the second before: arrivals over its speed."""
        before = (self.time > -1.0) & (self.time <= 0.0)
        return float(self.arrivals[before, 0].mean() / SPEED)

    @property
    def before(self) -> float:
        """Mean latency of the shards that move in the second before; 0 if none of their rows was done in it."""
        latest = self.latency[(self.time > -1.0) & (self.time <= 0.0), 2]
        return float(np.nanmean(latest)) if np.isfinite(latest).any() else 0.0

    @property
    def highest(self) -> float:
        """Longest mean latency of the shards that moved, after the decision."""
        return float(np.nanmax(self.latency[self.time > 0, 2], initial=0.0))

    def back(self, bound: float = 1.0) -> float:
        """Seconds until the latency of the shards that moved is within the bound for good; 0 if it always is."""
        late = self.time[(self.time > 0) & (self.latency[:, 2] > bound)]
        return float(late.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Watched:
    """A run that was watched.

    Attributes:
        traded: what is kept of any run.
        time: when every line ends; slots, and mean and 99th percentile of latency, in it.
        balanced: when shards were balanced, and how many slots there were.
    """

    traded: Traded
    time: Floats
    slots: Floats
    mean: Floats
    p99: Floats
    balanced: Floats
    clips: tuple[Clip, ...]


class Lines:
    """Latencies of every line, from the counts by bin."""

    def __init__(self, intervals: int) -> None:
        self._intervals, self._count = intervals, 0
        self._bins: npt.NDArray[np.int64] | None = None
        self.p99: list[float] = []

    def look(self, seen: Interval) -> None:
        """One interval more."""
        self._bins = seen.bins[0].copy() if self._bins is None else self._bins + seen.bins[0]
        self._count += 1
        if self._count % self._intervals == 0:
            self.p99.append(quantile(self._bins, 0.99))
            self._bins = None


class Clips:
    """Keeps the last seconds, and makes a clip of the first treatment of every kind after some minute."""

    def __init__(self, running: Samza, begin: float) -> None:
        self._engine, self._begin = running, begin
        interval = running.timing.interval
        self._before, self._after = round(BEFORE / interval), round(AFTER / interval)
        self._kept: deque[tuple[float, Floats, Floats, Floats]] = deque(maxlen=self._before + self._after)
        self._plan = running.plan.operators[NAME]
        self._due: list[tuple[int, float, OperatorPlan, OperatorPlan]] = []
        self._arrived = np.zeros(len(self._plan.routing))
        self._epoch = 0
        self.found: dict[str, Clip] = {}

    def look(self, seen: Interval) -> None:
        """One interval more; treatments are seen when they begin, right after the interval before."""
        now, observed, previous = self._engine.plan.operators[NAME], seen.observation.operators[NAME], self._plan
        began = self._engine.time - self._engine.timing.interval
        self._epoch += 1
        if now is not previous and began >= self._begin:
            self._due.append((self._epoch + self._after - 1, began, previous, now))
        self._plan = now
        done, waited = seen.done[NAME].astype(np.float64), seen.waited[NAME]
        self._kept.append((self._engine.time, observed.arrived - self._arrived, done, waited))
        self._arrived = observed.arrived
        if self._due and self._due[0][0] <= self._epoch:
            _, at, old, new = self._due.pop(0)
            action = kind(old, new)
            if action not in self.found and np.count_nonzero(old.routing != new.routing) >= LEAST:
                self.found[action] = self._clip(action, at, old, new)

    def _clip(self, action: str, at: float, old: OperatorPlan, new: OperatorPlan) -> Clip:
        moved = np.flatnonzero(old.routing != new.routing)
        source, target = int(old.routing[moved[0]]), int(new.routing[moved[0]])
        times, arrived, done, waited = (np.array(column) for column in zip(*self._kept, strict=True))
        time = times - at
        first = time <= 1e-9
        lanes = [np.where(first[:, None], old.routing == slot, new.routing == slot) for slot in (source, target)]
        lanes.append(np.broadcast_to(np.isin(np.arange(len(old.routing)), moved), arrived.shape))
        binned = [[_summed((values * lane).sum(axis=1)) for lane in lanes] for values in (arrived, done, waited)]
        arrivals, completed, latencies = (np.array(each).T for each in binned)
        with np.errstate(invalid="ignore", divide="ignore"):
            latency = latencies / completed
        seconds = _BIN * self._engine.timing.interval
        ends = time[: len(arrivals) * _BIN].reshape(-1, _BIN)[:, -1]
        return Clip(action, at / 60, source, target, len(moved), ends, arrivals[:, :2] / seconds, latency)


def kind(old: OperatorPlan, new: OperatorPlan) -> str:
    """What a treatment was.

    >>> kind(OperatorPlan.even(4, 2), OperatorPlan.even(4, 1))
    'scale in'
    """
    if new.slots == old.slots:
        return Action.BALANCE.value
    return (Action.SCALE_OUT if new.slots > old.slots else Action.SCALE_IN).value


def watched(day: Day) -> Watched:
    """A run of the day with everything that its figures show."""
    running = engine(day)
    every = max(1, round(LINE / running.timing.interval))
    begin = FROM * 60 if day.part == WHOLE else day.part.strata[0][0]
    lines, clips = Lines(every), Clips(running, begin)
    trace, rates = simulated(day, lines.look, clips.look, running=running)
    count = len(trace.time) // every
    parts = slice(0, count * every)
    rows = trace.throughput[parts].reshape(count, every)
    waited = np.nan_to_num(trace.latency[parts]).reshape(count, every) * rows
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = waited.sum(axis=1) / rows.sum(axis=1)
    balanced = [(d.time, d.slots[1]) for d in trace.decisions if d.action == Action.BALANCE.value]
    return Watched(
        Traded(weighed(day, trace, rates), rates),
        trace.time[parts].reshape(count, every)[:, -1],
        trace.slots[NAME][parts].reshape(count, every).mean(axis=1),
        mean,
        np.array(lines.p99[:count]),
        np.array(balanced, dtype=np.float64).reshape(-1, 2),
        tuple(clips.found.values()),
    )


def _summed(values: Floats) -> Floats:
    whole = len(values) // _BIN * _BIN
    sums: Floats = values[:whole].reshape(-1, _BIN).sum(axis=1)
    return sums
