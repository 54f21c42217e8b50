"""Examine: latency and rates from sparse counters (StreamSwitch section 4).

Two counters per shard, rows arrived and rows completed, and the useful seconds per slot are all that is measured, at
the end of every interval (the paper's time slot). Rows of a shard complete in the order they arrived, so the counters
alone say when each completed row had arrived, to within an interval.

Time enters only as the end of each interval. Intervals may differ in length, as epochs do. What is missing or absurd
makes the readings invalid, for a limited number of intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.counter_readings import read
from rheostat.elastic.streamswitch.counters import EXACT, advanced
from rheostat.elastic.streamswitch.readings import Metrics, Readings, ServiceRate
from rheostat.elastic.streamswitch.slot_places import NOWHERE, Places, SlotPlaces
from rheostat.errors import TopologyError

PATIENCE = 10
"""Intervals that a missing counter is waited for; then its shard counts with the rate it last had."""

MEMORY = 1000
"""Intervals that are remembered at most; a row that waits longer counts as if it had waited that long."""

_SHORTEST = 1e-6
"""Seconds: an interval that is shorter says nothing about rates."""


@dataclass(frozen=True, eq=False)
class Examination:
    """The paper's State: counters of the recent intervals, one row each, and service rates.

    >>> state = Examination.start(shards=2, window=1.0)
    >>> for second in (1, 2, 3):  # 100 rows a second and shard arrive; the slot works all the time for 150
    ...     counters = [100.0 * second] * 2, [75.0 * second] * 2
    ...     state = advance(state, Metrics(second, *counters, {0: 1.0}, (0, 0)))
    >>> found = readings(state)
    >>> found.arrival.tolist(), found.service.tolist(), found.backlog.tolist()
    ([100.0, 100.0], [150.0], [75.0, 75.0])
    >>> found.latency.round(3).tolist()  # of 75 rows in the third second, 50 had arrived in the one before
    [0.667]

    Attributes:
        window: seconds over which latency is bounded: T.
        patience: intervals that a missing counter is waited for.
        stalls: True to count rows that wait in vain, which the paper does not.
        table: the slot of every shard in the last interval.
        ends: when each interval ended; the first row is where counting began.
        arrived: rows that ever arrived, by interval and shard, back to the oldest row that waits.
        completed: rows that were ever completed, for the last of these intervals, back to where the window begins.
        waited: seconds that the rows completed in an interval had waited, summed, for the same intervals.
        places: the place in the table of every shard's slot, for the same intervals; -1 for slots that are gone.
        arrival: rows per second over the window, by shard, when its counter was last there.
        restarted: when the counters of a shard last started again, as they do with the process that keeps them.
        speeds: the values of ``rates``, a row for each slot of the table.
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
        """What is known of the service rate of every slot, by its number."""
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
        """Nothing measured yet; counters begin at zero, or where they are said to stand."""
        if shards < 1 or not 0 < window < np.inf or patience < 0 or not np.isfinite(time):
            raise TopologyError(
                f"shards={shards}, window={window}, patience={patience}, time={time}: Examine needs a shard or "
                "more, a window of more than 0 seconds, a patience of 0 intervals or more, and a time"
            )
        zeros = np.zeros((1, shards))
        first = [zeros if v is None else _counters(v, shards)[None, :] for v in (arrived, completed)]
        if not all(((values >= 0) & (values <= EXACT)).all() for values in first):
            raise TopologyError("Examine cannot begin with counters that are missing, negative or infinite")
        nowhere = np.full((1, shards), NOWHERE, dtype=np.int64)
        by_shard = np.zeros(shards), np.full(shards, -np.inf)
        table, ends = SlotPlaces.unrouted(shards), np.array([float(time)])
        arrays = ends, *first, zeros, nowhere, *by_shard, np.empty((0, 4))
        return _fixed(float(window), patience, stalls, table, *arrays)


def advance(state: Examination, metrics: Metrics) -> Examination:
    """After one more interval; an interval that does not end after the last one is passed over.

    Counters that were missing and are there again give the intervals between by linear interpolation (section 4.3).

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
    if not (last + _SHORTEST <= time < EXACT and last < time):
        return state
    table, places, speeds = _rerouted(state, metrics)
    shards = len(table.routing)
    useful, slots = metrics.useful, table.slots
    if isinstance(useful, Mapping):
        seconds = [useful.get(slot, np.nan) for slot in slots]
    else:
        seconds = [useful[slot] if slot < len(useful) else np.nan for slot in slots]
    *arrays, first, since = advanced(
        state.ends,
        state.arrived,
        state.completed,
        state.waited,
        places,
        state.arrival,
        state.restarted,
        speeds,
        time,
        state.window,
        state.patience,
        MEMORY,
        _counters(metrics.arrived, shards),
        _counters(metrics.completed, shards),
        np.array(seconds, dtype=np.float64),
        table.places,
    )
    ends, arrived, completed, waited, places, *rest = arrays
    long, short = (ends[first:], arrived[first:]), (completed[since:], waited[since:], places[since:])
    return _fixed(state.window, state.patience, state.stalls, table, *long, *short, *rest)


def readings(state: Examination) -> Readings:
    """Rates and latencies over the window that ends now (sections 4.1 and 4.2).

    >>> readings(Examination.start(shards=1)).problem
    'nothing was measured yet'
    """
    arrival, latency, service, usual, shard_latency, backlog, gaps, blind, missing, longest, young, unserved = read(
        state.ends,
        state.arrived,
        state.completed,
        state.waited,
        state.places,
        state.arrival,
        state.restarted,
        state.speeds,
        state.window,
        state.patience,
        state.stalls,
    )
    problem = ""
    # Every reason but the last passes by itself.
    if not state.table.slots:
        problem = "nothing was measured yet"
    elif missing:
        problem = f"counters of {missing} shards are missing, for {longest} intervals of at most {state.patience}"
    elif young:
        problem = f"counters of {young} shards started again less than {state.window:g} s ago"
    elif unserved:
        problem = "no service rate is known yet: no slot reported useful time and completed rows"
    unseen = tuple(np.flatnonzero(gaps > state.patience).tolist()) if blind else ()
    by_slot = latency, service, usual
    table = float(state.ends[-1]), state.table.routing, state.table.slots
    return Readings(*table, arrival, *by_slot, shard_latency, backlog, unseen, problem)


def _counters(counters: Sequence[float] | Floats, shards: int) -> Floats:
    """A copy, so that the compiled functions always see the same kind of array."""
    values = np.array(counters, dtype=np.float64, order="C")
    if values.shape != (shards,):
        raise TopologyError(f"counters of {shards} shards are needed, not of shape {values.shape}")
    return values


def _fixed(window: float, patience: int, stalls: bool, table: SlotPlaces, *arrays: Any) -> Examination:
    """The state, with arrays that nobody can change."""
    for array in arrays:
        array.setflags(write=False)
    return Examination(window, patience, stalls, table, *arrays)


def _rerouted(state: Examination, metrics: Metrics) -> tuple[SlotPlaces, Places, Floats]:
    """The table of an interval, and places and service rates as that table has its slots."""
    old = state.table
    if old.slots and old.routes(metrics.routing):
        return old, state.places, state.speeds
    shards, routing = len(old.routing), np.asarray(metrics.routing, dtype=np.int64)
    if routing.shape != (shards,) or routing.min() < 0:
        raise TopologyError(f"a routing of {shards} shards names a slot, 0 or more, for each, not {metrics.routing}")
    table = SlotPlaces.of(routing)
    # The last of the new places is that of slots that are gone, as NOWHERE, which is -1, is the last of any array.
    places = np.append(old.places_in(table), NOWHERE)[state.places]
    known = dict(zip(old.slots, state.speeds, strict=True))
    speeds = np.array([known[s] if s in known else _assumed(state, table, i) for i, s in enumerate(table.slots)])
    for array in (places, speeds):
        array.setflags(write=False)
    return table, places, speeds


def _assumed(state: Examination, table: SlotPlaces, place: int) -> tuple[float, float, float, float]:
    """A new slot's rate until it is measured: that of the slots its shards were in (section 3.4)."""
    origins = np.unique(state.table.places[table.places == place])
    means = state.speeds[origins[origins >= 0], 0]
    known = means[~np.isnan(means)]
    return float(known.mean()) if len(known) else np.nan, 0.0, 0.0, 0.0
