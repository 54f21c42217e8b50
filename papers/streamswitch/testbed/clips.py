"""A run of the trading day in detail: slots and latencies every few seconds, and clips of single treatments."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from papers.streamswitch.testbed.engines import Samza
from papers.streamswitch.testbed.trading_day import (
    NAME,
    SPEED,
    WHOLE,
    Day,
    DayResult,
    engine,
    simulate,
    weighted_outcome,
)
from rheostat.arrays import Floats
from rheostat.elastic.model.plan import Action, OperatorPlan
from rheostat.simulate.interval import Interval
from rheostat.simulate.latency_bins import quantile

PERIOD = 5.0
"""Seconds over which slots and latencies are averaged."""

BEFORE, AFTER = 10.0, 20.0
"""Seconds that a clip shows before and after the decision."""

FROM = 56.0
"""First minute of the day whose treatments are shown. The paper shows minutes 56 to 60."""

LEAST = 3
"""Least number of shards that a treatment must move to be shown, as in the paper's examples."""

_BIN = 5  # intervals that are summed for one point of a clip


@dataclass(frozen=True, eq=False)
class Clip:
    """The seconds around one treatment.

    Attributes:
        action: kind of treatment, "scale in", "balance" or "scale out".
        minute: when it was decided, in minutes of the day.
        source: slot that gave shards.
        target: slot that received them.
        moved: number of shards that moved.
        time: end of each point, in seconds after the decision.
        arrivals: rows per second by point (row), of source and target (columns).
        latency: mean latency in seconds of completed rows by point (row), of source, target and the shards that moved
            (columns); NaN if no row was completed.
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
        """Arrivals at the source over its speed, in the second before the decision."""
        before = (self.time > -1.0) & (self.time <= 0.0)
        return float(self.arrivals[before, 0].mean() / SPEED)

    @property
    def before(self) -> float:
        """Mean latency of the shards that move, in the second before the decision; 0 if no row was completed."""
        latest = self.latency[(self.time > -1.0) & (self.time <= 0.0), 2]
        return float(np.nanmean(latest)) if np.isfinite(latest).any() else 0.0

    @property
    def highest(self) -> float:
        """Highest mean latency of the shards that moved, after the decision."""
        return float(np.nanmax(self.latency[self.time > 0, 2], initial=0.0))

    def back(self, bound: float = 1.0) -> float:
        """Return the seconds after which the moved shards stay within the bound; 0 if they never exceed it."""
        late = self.time[(self.time > 0) & (self.latency[:, 2] > bound)]
        return float(late.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class WatchedDay:
    """A run of the day in detail.

    Attributes:
        result: the result that every run of the day has.
        time: end of each period, in seconds of the day.
        slots: mean number of slots, by period.
        mean: mean latency in seconds, by period; NaN if no row was completed.
        p99: 99th percentile of latency in seconds, by period.
        balanced: one row per treatment that balanced load: its time in seconds, and the number of slots.
        clips: the first treatment of each kind that moved enough shards.
    """

    result: DayResult
    time: Floats
    slots: Floats
    mean: Floats
    p99: Floats
    balanced: Floats
    clips: tuple[Clip, ...]


class Percentiles:
    """Collects the 99th percentile of latency of every period."""

    def __init__(self, intervals: int) -> None:
        self._intervals, self._count = intervals, 0
        self._bins: npt.NDArray[np.int64] | None = None
        self.p99: list[float] = []

    def look(self, seen: Interval) -> None:
        """Add one interval."""
        self._bins = seen.bins[0].copy() if self._bins is None else self._bins + seen.bins[0]
        self._count += 1
        if self._count % self._intervals == 0:
            self.p99.append(quantile(self._bins, 0.99))
            self._bins = None


class Clips:
    """Keeps the last seconds of a run and makes a clip of the first large enough treatment of each kind."""

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
        """Add one interval. A treatment that begins is visible in the first interval after the decision."""
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
        return Clip(
            action=action,
            minute=at / 60,
            source=source,
            target=target,
            moved=len(moved),
            time=ends,
            arrivals=arrivals[:, :2] / seconds,
            latency=latency,
        )


def kind(old: OperatorPlan, new: OperatorPlan) -> str:
    """Return which kind of treatment leads from the old plan to the new one.

    >>> kind(OperatorPlan.even(4, 2), OperatorPlan.even(4, 1))
    'scale in'
    """
    if new.slots == old.slots:
        return Action.BALANCE.value
    return (Action.SCALE_OUT if new.slots > old.slots else Action.SCALE_IN).value


def watch_day(day: Day) -> WatchedDay:
    """Run the day and return it in detail."""
    running = engine(day)
    every = max(1, round(PERIOD / running.timing.interval))
    begin = FROM * 60 if day.part == WHOLE else day.part.strata[0][0]
    percentiles, clips = Percentiles(every), Clips(running, begin)
    trace, rates = simulate(day, percentiles.look, clips.look, running=running)
    count = len(trace.time) // every
    parts = slice(0, count * every)
    rows = trace.throughput[parts].reshape(count, every)
    waited = np.nan_to_num(trace.latency[parts]).reshape(count, every) * rows
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = waited.sum(axis=1) / rows.sum(axis=1)
    balanced = [(d.time, d.slots[1]) for d in trace.decisions if d.action == Action.BALANCE.value]
    return WatchedDay(
        result=DayResult(weighted_outcome(day, trace, rates), rates),
        time=trace.time[parts].reshape(count, every)[:, -1],
        slots=trace.slots[NAME][parts].reshape(count, every).mean(axis=1),
        mean=mean,
        p99=np.array(percentiles.p99[:count]),
        balanced=np.array(balanced, dtype=np.float64).reshape(-1, 2),
        clips=tuple(clips.found.values()),
    )


def _summed(values: Floats) -> Floats:
    """Sum ``_BIN`` values at a time; leave out the rest."""
    whole = len(values) // _BIN * _BIN
    sums: Floats = values[:whole].reshape(-1, _BIN).sum(axis=1)
    return sums
