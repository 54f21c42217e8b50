"""Examine: estimates latency and rates from sparse counters (StreamSwitch section 4).

At the end of every interval (the paper's time slot) only two counters per shard, rows arrived and rows completed, and
the useful seconds per slot are measured. The rows of a shard complete in the order in which they arrived, so the
counters alone tell when each completed row had arrived, to within an interval.

Intervals may differ in length, as epochs do. Missing or absurd measurements make the readings invalid, for a limited
number of intervals. The policy ``StreamSwitch`` calls ``advance`` for every observation and ``readings`` for every
decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.counter_readings import read_counters
from rheostat.elastic.streamswitch.counters import MAX_COUNTER, MEAN, advance_counters
from rheostat.elastic.streamswitch.readings import Metrics, Readings, ServiceRate
from rheostat.elastic.streamswitch.slot_places import NOWHERE, Places, SlotPlaces
from rheostat.errors import ConfigurationError

PATIENCE = 10
"""Intervals to wait for a missing counter; after that the last known rate of its shard is used."""

MEMORY = 1000
"""Largest number of intervals to remember; a row that waits longer counts as having waited that long."""

_SHORTEST_INTERVAL = 1e-6
"""Seconds; shorter intervals say nothing about rates and are ignored."""


@dataclass(frozen=True, eq=False)
class Examination:
    """The paper's State: counters of the recent intervals and service rates.

    >>> state = Examination.start(shards=2, window=1.0)
    >>> for second in (1, 2, 3):  # 100 rows per second arrive at each shard; the slot is always busy and completes 150
    ...     counters = [100.0 * second] * 2, [75.0 * second] * 2
    ...     state = advance(state, Metrics(second, *counters, {0: 1.0}, (0, 0)))
    >>> found = readings(state)
    >>> found.arrival.tolist(), found.service.tolist(), found.backlog.tolist()
    ([100.0, 100.0], [150.0], [75.0, 75.0])
    >>> found.latency.round(3).tolist()  # of 75 rows in the third second, 50 had arrived in the one before
    [0.667]

    Attributes:
        window: seconds over which latency is bounded: the paper's T.
        patience: intervals to wait for a missing counter.
        stalls: True to count waiting rows in shards that complete nothing, which the paper does not.
        table: the slot of every shard in the last interval.
        ends: when each interval ended; the first entry is where counting began.
        arrived: total number of arrived rows, by interval and shard, back to the oldest row still waiting.
        completed: total number of completed rows, by interval and shard, back to the beginning of the window.
        waited: seconds that the rows completed in an interval had waited, summed; same intervals as ``completed``.
        places: index in ``table.slots`` of every shard's slot, -1 for slots that are gone; same intervals as
            ``completed``.
        arrival: rows per second over the window, by shard, when its counter was last known.
        restarted: when the counters of each shard last started again, as they do when their process restarts.
        speeds: service rates as an array with a row per slot of the table; ``rates`` has the same as values.
    """

    window: float
    patience: int
    stalls: bool
    table: SlotPlaces
    ends: Floats
    arrived: Floats
    completed: Floats
    waited: Floats
    places: Places
    arrival: Floats
    restarted: Floats
    speeds: Floats

    @property
    def rates(self) -> Mapping[int, ServiceRate]:
        """The service rate of every slot, by slot number."""
        rows = zip(self.table.slots, self.speeds.tolist(), strict=True)
        return {slot: ServiceRate(mean, measured > 0, *seconds) for slot, (mean, measured, *seconds) in rows}

    @classmethod
    def start(
        cls,
        shards: int,
        window: float = 1.0,
        time: float = 0.0,
        patience: int = PATIENCE,
        arrived: Sequence[float] | None = None,
        completed: Sequence[float] | None = None,
        stalls: bool = True,
    ) -> Examination:
        """Return the state before the first interval.

        Args:
            shards: number of shards.
            window: seconds over which latency is bounded.
            time: when counting begins.
            patience: intervals to wait for a missing counter.
            arrived: counters of arrived rows at that time; 0 if not given.
            completed: counters of completed rows at that time; 0 if not given.
            stalls: True to count waiting rows in shards that complete nothing.
        """
        if shards < 1 or not 0 < window < np.inf or patience < 0 or not np.isfinite(time):
            raise ConfigurationError(
                f"shards={shards}, window={window}, patience={patience}, time={time}: shards must be at least 1, "
                "window above 0 seconds, patience at least 0 intervals, and time finite"
            )
        zeros = np.zeros((1, shards))
        first = [zeros if v is None else _counters(v, shards)[None, :] for v in (arrived, completed)]
        if not all(((values >= 0) & (values <= MAX_COUNTER)).all() for values in first):
            raise ConfigurationError("arrived and completed must be finite counters, 0 or more, for every shard")
        nowhere = np.full((1, shards), NOWHERE, dtype=np.int64)
        by_shard = np.zeros(shards), np.full(shards, -np.inf)
        table, ends = SlotPlaces.unrouted(shards), np.array([float(time)])
        arrays = ends, *first, zeros, nowhere, *by_shard, np.empty((0, 4))
        return _frozen_state(float(window), patience, stalls, table, *arrays)


def advance(state: Examination, metrics: Metrics) -> Examination:
    """Return the state after one more interval; an interval that does not end after the last one is ignored.

    When missing counters are known again, the intervals between are linearly interpolated (section 4.3).

    >>> state = Examination.start(shards=1)
    >>> for second, rows in ((1, 100.0), (2, float("nan")), (3, 300.0)):
    ...     state = advance(state, Metrics(second, [rows], [rows], {0: 0.1}, (0,)))
    ...     print(readings(state).valid, state.arrived[1:, 0].tolist())
    True [100.0]
    False [nan]
    True [300.0]
    >>> state.arrived[0].tolist()
    [200.0]
    """
    time, last = float(metrics.time), float(state.ends[-1])
    if not (last + _SHORTEST_INTERVAL <= time < MAX_COUNTER and last < time):
        return state
    table, places, speeds = _reroute(state, metrics)
    shards = len(table.routing)
    *arrays, first_long, first_short = advance_counters(
        ends=state.ends,
        arrived=state.arrived,
        completed=state.completed,
        waited=state.waited,
        places=places,
        arrival=state.arrival,
        restarted=state.restarted,
        rates=speeds,
        time=time,
        window=state.window,
        patience=state.patience,
        memory=MEMORY,
        arrived_now=_counters(metrics.arrived, shards),
        completed_now=_counters(metrics.completed, shards),
        useful=_useful_seconds(metrics, table.slots),
        places_now=table.places,
    )
    ends, arrived, completed, waited, places, *rest = arrays
    long = ends[first_long:], arrived[first_long:]
    short = completed[first_short:], waited[first_short:], places[first_short:]
    return _frozen_state(state.window, state.patience, state.stalls, table, *long, *short, *rest)


def readings(state: Examination) -> Readings:
    """Return rates and latencies over the window that ends with the last interval (sections 4.1 and 4.2).

    >>> readings(Examination.start(shards=1)).problem
    'nothing has been measured yet'
    """
    arrival, latency, service, usual, shard_latency, backlog, gaps, blind, missing, longest, young, unserved = (
        read_counters(
            ends=state.ends,
            arrived=state.arrived,
            completed=state.completed,
            waited=state.waited,
            places=state.places,
            arrival=state.arrival,
            restarted=state.restarted,
            rates=state.speeds,
            window=state.window,
            patience=state.patience,
            stalls=state.stalls,
        )
    )
    problem = ""
    # All problems but the last pass by themselves.
    if not state.table.slots:
        problem = "nothing has been measured yet"
    elif missing:
        problem = (
            f"counters of {missing} shards are missing for {longest} intervals; waiting for up to {state.patience}"
        )
    elif young:
        problem = f"counters of {young} shards started again less than {state.window:g} s ago"
    elif unserved:
        problem = "no service rate is known yet: no slot has reported useful time and completed rows"
    return Readings(
        time=float(state.ends[-1]),
        routing=state.table.routing,
        slots=state.table.slots,
        arrival=arrival,
        latency=latency,
        service=service,
        usual=usual,
        shard_latency=shard_latency,
        backlog=backlog,
        blind=tuple(np.flatnonzero(gaps > state.patience).tolist()) if blind else (),
        problem=problem,
    )


def _counters(counters: Sequence[float] | Floats, shards: int) -> Floats:
    """Return a copy, so that compiled functions always get the same kind of array."""
    values = np.array(counters, dtype=np.float64, order="C")
    if values.shape != (shards,):
        raise ConfigurationError(f"metrics need counters of {shards} shards, but have an array of shape {values.shape}")
    return values


def _useful_seconds(metrics: Metrics, slots: Sequence[int]) -> Floats:
    """Return the useful seconds of the given slots; NaN where they were not measured."""
    useful = metrics.useful
    if isinstance(useful, Mapping):
        seconds = [useful.get(slot, np.nan) for slot in slots]
    else:
        seconds = [useful[slot] if slot < len(useful) else np.nan for slot in slots]
    return np.array(seconds, dtype=np.float64)


def _frozen_state(window: float, patience: int, stalls: bool, table: SlotPlaces, *arrays: Any) -> Examination:
    """Return the state with read-only arrays."""
    for array in arrays:
        array.setflags(write=False)
    return Examination(window, patience, stalls, table, *arrays)


def _reroute(state: Examination, metrics: Metrics) -> tuple[SlotPlaces, Places, Floats]:
    """Return the table of the new interval, and the places and service rates of the state in terms of that table."""
    old = state.table
    if old.slots and old.routes(metrics.routing):
        return old, state.places, state.speeds
    shards, routing = len(old.routing), np.asarray(metrics.routing, dtype=np.int64)
    if routing.shape != (shards,) or routing.min() < 0:
        raise ConfigurationError(
            f"a routing of {shards} shards needs a slot number, 0 or more, for each, but is {metrics.routing}"
        )
    table = SlotPlaces.of(routing)
    # NOWHERE is -1, which indexes the last entry: so a slot that was gone before stays gone.
    places = np.append(old.places_in(table), NOWHERE)[state.places]
    known = dict(zip(old.slots, state.speeds, strict=True))
    speeds = np.array([known[s] if s in known else _assumed_rate(state, table, i) for i, s in enumerate(table.slots)])
    for array in (places, speeds):
        array.setflags(write=False)
    return table, places, speeds


def _assumed_rate(state: Examination, table: SlotPlaces, place: int) -> tuple[float, float, float, float]:
    """Return the rate of a new slot until it is measured: the mean of the slots its shards came from (section 3.4)."""
    origins = np.unique(state.table.places[table.places == place])
    means = state.speeds[origins[origins >= 0], MEAN]
    known = means[~np.isnan(means)]
    return float(known.mean()) if len(known) else np.nan, 0.0, 0.0, 0.0
