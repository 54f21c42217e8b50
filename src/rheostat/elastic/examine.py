"""Examine: latency and rates from sparse counters (StreamSwitch section 4).

Two counters per shard, rows arrived and rows completed, and the useful seconds per slot are all that is measured, at
the end of every interval (the paper's time slot). Rows of a shard complete in the order they arrived, so the counters
alone say when each completed row had arrived, to within an interval.

Time enters only as the end of each interval. Intervals may differ in length, as epochs do. What is missing or absurd
makes the readings invalid, for a limited number of intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rheostat.elastic.readings import Metrics, Rate, Readings, Values
from rheostat.errors import TopologyError

PATIENCE = 10
"""Intervals that a missing counter is waited for; then its shard counts with the rate it last had."""

MEMORY = 1000
"""Intervals that are remembered at most; a row that waits longer counts as if it had waited that long."""

_SHORTEST = 1e-6
"""Seconds: an interval that is shorter says nothing about rates."""

_EXACT = 2.0**53
"""Above it floats cannot count by ones, and no counter of rows gets there."""


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
        ends: when each interval ended; the first row is where counting began.
        waited: seconds that the rows completed in an interval had waited, summed, by interval and shard.
        routings: the slot of every shard in every interval; -1 for slots that are gone.
        arrival: rows per second over the window, by shard, when its counter was last there.
        restarted: when the counters of a shard last started again, as they do with the process that keeps them.
    """

    window: float
    patience: int
    ends: Values
    arrived: Values
    completed: Values
    waited: Values
    routings: npt.NDArray[np.int64]
    arrival: Values
    restarted: Values
    rates: Mapping[int, Rate] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        shards: int,
        window: float = 1.0,
        time: float = 0.0,
        patience: int = PATIENCE,
        arrived: Sequence[float] | None = None,
        completed: Sequence[float] | None = None,
    ) -> Examination:
        """Nothing measured yet; counters begin at zero, or where they are said to stand."""
        if shards < 1 or not 0 < window < np.inf or patience < 0 or not np.isfinite(time):
            raise TopologyError(
                f"shards={shards}, window={window}, patience={patience}, time={time}: Examine needs a shard or "
                "more, a window of more than 0 seconds, a patience of 0 intervals or more, and a time"
            )
        zeros = np.zeros((1, shards))
        first = [zeros if v is None else _plausible(v, shards)[None, :] for v in (arrived, completed)]
        if np.isnan(first).any():
            raise TopologyError("Examine cannot begin with counters that are missing, negative or infinite")
        unrouted = np.full((1, shards), -1, dtype=np.int64)
        return cls(
            window,
            patience,
            ends=np.array([time]),
            arrived=first[0],
            completed=first[1],
            waited=zeros,
            routings=unrouted,
            arrival=np.zeros(shards),
            restarted=np.full(shards, -np.inf),
        )


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
    if not state.ends[-1] + _SHORTEST <= metrics.time < _EXACT:
        return state
    shards = state.arrived.shape[1]
    routing = np.asarray(metrics.routing, dtype=np.int64)
    if routing.shape != (shards,) or routing.min() < 0:
        raise TopologyError(f"a routing of {shards} shards names a slot, 0 or more, for each, not {metrics.routing}")
    ends = np.append(state.ends, metrics.time)
    arrived, completed, again = _continued(state, metrics)
    renewed = min(_interpolate(ends, arrived), _interpolate(ends, completed))
    waited = np.vstack([np.where(again, 0.0, state.waited), np.zeros((1, shards))])
    for row in range(renewed, len(ends)):
        waited[row] = _waited(ends, arrived, completed, row)
    base = _base(ends, state.window, len(ends) - 1)
    arrival = (arrived[-1] - arrived[base]) / (ends[-1] - ends[base])
    rates = _rates(state, metrics, arrived, completed)
    kept = np.where(np.isin(state.routings, list(rates)), state.routings, -1)
    grown = replace(
        state,
        ends=ends,
        arrived=arrived,
        completed=completed,
        waited=waited,
        routings=np.vstack([kept, routing]),
        arrival=np.where(np.isnan(arrival), state.arrival, arrival),
        restarted=np.where(again, metrics.time, state.restarted),
        rates=rates,
    )
    return _trimmed(grown)


def readings(state: Examination) -> Readings:
    """Rates and latencies over the window that ends now (sections 4.1 and 4.2).

    >>> readings(Examination.start(shards=1)).problem
    'nothing was measured yet'
    """
    last = len(state.ends) - 1
    base = _base(state.ends, state.window, last)
    gaps = np.maximum(_gaps(state.arrived), _gaps(state.completed))
    arrived, completed = _latest(state.arrived), _latest(state.completed)
    span = float(state.ends[last] - state.ends[base]) or 1.0
    waited = np.nan_to_num(state.waited[base + 1 :])
    done = np.nan_to_num(np.diff(state.completed[base:], axis=0))
    backlog = np.maximum(arrived - completed, 0.0)
    aged = np.diff(state.ends) @ np.maximum(_filled(state.arrived)[:-1] - completed, 0.0)
    # No row completed, though some wait: their age so far is what is known of their latency, and all of them are load.
    starved = (done.sum(axis=0) == 0) & (backlog > 0) & (gaps == 0)
    shard_latency = np.where(starved, _ratio(aged, backlog), _ratio(waited.sum(axis=0), done.sum(axis=0)))
    slots = tuple(sorted(state.rates))
    latency = np.maximum(
        _ratio(_by_slot(slots, state.routings[base + 1 :], waited), _by_slot(slots, state.routings[base + 1 :], done)),
        _ratio(
            _by_slot(slots, state.routings[-1:], (aged * starved)[None]),
            _by_slot(slots, state.routings[-1:], (backlog * starved)[None]),
        ),
    )
    usual, service = _services(state, slots)
    return Readings(
        time=float(state.ends[-1]),
        routing=tuple(int(s) for s in state.routings[-1]),
        slots=slots,
        arrival=np.where(starved, np.maximum(state.arrival, backlog / span), state.arrival),
        latency=latency,
        service=service,
        usual=usual,
        shard_latency=shard_latency,
        backlog=backlog,
        blind=tuple(int(s) for s in np.flatnonzero(gaps > state.patience)),
        problem=_problem(state, gaps, slots, service),
    )


def _problem(state: Examination, gaps: npt.NDArray[np.int64], slots: tuple[int, ...], service: Values) -> str:
    """Why the readings cannot be trusted; every reason but the last passes by itself."""
    missing = (gaps > 0) & (gaps <= state.patience)
    young = state.ends[-1] - state.restarted < state.window
    if not slots:
        return "nothing was measured yet"
    if missing.any():
        longest = int(gaps[missing].max())
        return f"counters of {missing.sum()} shards are missing, for {longest} intervals of at most {state.patience}"
    if young.any():
        return f"counters of {young.sum()} shards started again less than {state.window:g} s ago"
    if np.isnan(service).any():
        return "no service rate is known yet: no slot reported useful time and completed rows"
    return ""


def _plausible(counters: Sequence[float] | Values, shards: int) -> Values:
    """The counters as floats, NaN where they cannot be true."""
    values = np.array(counters, dtype=np.float64)
    if values.shape != (shards,):
        raise TopologyError(f"counters of {shards} shards are needed, not of shape {values.shape}")
    values[~((values >= 0) & (values <= _EXACT))] = np.nan
    return values


def _continued(state: Examination, metrics: Metrics) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
    """Both histories with one more row, and for which shards counting has started again.

    A counter that goes back is taken as missing first, for it may be one bad reading. If it is still behind when the
    patience is over, it has started again, or what it was compared with was the bad reading: the past of its shard is
    forgotten, and what waits now counts as having waited all the time that is remembered.
    """
    shards = state.arrived.shape[1]
    arrived, completed = _plausible(metrics.arrived, shards), _plausible(metrics.completed, shards)
    was_arrived, was_completed = _latest(state.arrived), _latest(state.completed)
    back = (arrived < was_arrived, completed < was_completed)
    late = np.maximum(_gaps(state.arrived), _gaps(state.completed)) >= state.patience
    again = (back[0] | back[1]) & late & ~np.isnan(arrived + completed)
    arrived, completed = np.where(back[0] & ~again, np.nan, arrived), np.where(back[1] & ~again, np.nan, completed)
    # More cannot be completed than arrived; where either is missing, what is known is left alone.
    most = np.where(again, arrived, np.maximum(arrived, was_completed))
    completed = np.where(completed > most, most, completed)
    return (
        np.vstack([np.where(again, arrived, state.arrived), arrived]),
        np.vstack([np.where(again, completed, state.completed), completed]),
        again,
    )


def _gaps(history: Values) -> npt.NDArray[np.int64]:
    """How many of the last rows are missing, by shard; the first row never is."""
    if not np.isnan(history[-1]).any():
        return np.zeros(history.shape[1], dtype=np.int64)
    return np.asarray((~np.isnan(history[::-1])).argmax(axis=0), dtype=np.int64)


def _latest(history: Values) -> Values:
    """The last known value of every shard."""
    latest: Values = history[len(history) - 1 - _gaps(history), np.arange(history.shape[1])]
    return latest


def _filled(history: Values) -> Values:
    """Missing last rows hold the last known value; elsewhere nothing is missing."""
    return np.where(np.isnan(history), _latest(history), history)


def _interpolate(ends: Values, history: Values) -> int:
    """Fill the rows before a value that is there again, in place; the first row that changed."""
    first = len(ends) - 1
    before = _gaps(history[:-1])
    for shard in np.flatnonzero((before > 0) & ~np.isnan(history[-1])):
        known = len(ends) - 2 - int(before[shard])
        pair = [known, -1]
        history[known:, shard] = np.interp(ends[known:], ends[pair], history[pair, shard])
        first = min(first, known + 1)
    return first


def _waited(ends: Values, arrived: Values, completed: Values, row: int) -> Values:
    """Seconds that the rows completed in an interval had waited, summed, by shard.

    The paper gives a row the time between the ends of the intervals of its arrival and completion. So it waits through
    an interval if it had arrived by the end of the one before: counting those rows for every past interval is the sum.
    """
    before, after = completed[row - 1], completed[row]
    present = np.minimum(np.maximum(arrived[:row], before), after) - before
    total: Values = np.diff(ends[: row + 1]) @ present
    return total


def _rates(state: Examination, metrics: Metrics, arrived: Values, completed: Values) -> dict[int, Rate]:
    seconds = metrics.time - float(state.ends[-1])
    slots = sorted(set(metrics.routing))
    place = np.searchsorted(slots, metrics.routing)
    done = np.bincount(place, weights=completed[-1] - completed[-2])
    waiting = np.bincount(place, weights=np.nan_to_num(arrived[-2] - completed[-2])) > 0
    backlogged = np.bincount(place, weights=np.nan_to_num(arrived[-1] - completed[-1])) > 0
    rates = {}
    for index, slot in enumerate(slots):
        useful = metrics.useful.get(slot, np.nan)
        if not 0 < useful < np.inf:
            # Not told, but a slot with work at both ends of the interval will have worked all through it.
            useful = seconds if waiting[index] and backlogged[index] and done[index] > 0 else np.nan
        rate = state.rates.get(slot) or _assumed(state, place == index)
        rates[slot] = rate.after(float(done[index]), min(useful, seconds), bool(waiting[index]), seconds)
    return rates


def _assumed(state: Examination, mine: npt.NDArray[np.bool_]) -> Rate:
    """A new slot's rate until it is measured: that of the slots its shards were in (section 3.4)."""
    origins = [state.rates[s].mean for s in sorted(set(state.routings[-1][mine].tolist())) if s in state.rates]
    known = [rate for rate in origins if not np.isnan(rate)]
    return Rate(float(np.mean(known))) if known else Rate()


def _services(state: Examination, slots: tuple[int, ...]) -> tuple[Values, Values]:
    """Service rates as usual, and with stalls: who completes nothing in P seconds does at most one row in P."""
    usual = np.array([state.rates[s].mean for s in slots])
    if np.isnan(usual).any() and not np.isnan(usual).all():
        usual = np.where(np.isnan(usual), np.nanmean(usual), usual)
    stalled = np.array([state.rates[s].stalled for s in slots])
    most = np.divide(1.0, stalled, out=np.full(len(slots), np.nan), where=stalled >= state.window)
    return np.fmax(usual, most) if np.isnan(usual).all() else usual, np.fmin(usual, most)


def _by_slot(slots: tuple[int, ...], routings: npt.NDArray[np.int64], values: Values) -> Values:
    """Sums over shards and intervals; what belonged to slots that are gone is left out."""
    there = np.isin(routings, slots)
    place = np.searchsorted(slots, routings[there])
    return np.bincount(place, weights=values[there], minlength=len(slots)).astype(np.float64)


def _ratio(above: Values, below: Values) -> Values:
    """The quotient; zero where there is nothing to divide by."""
    quotient: Values = np.divide(above, below, out=np.zeros(len(below)), where=below > 0)
    return quotient


def _base(ends: Values, window: float, row: int) -> int:
    """The row where the window that ends with a row begins."""
    # A billionth of slack: ends are sums of lengths such as 0.1, which are not exact.
    return max(int(np.searchsorted(ends[: row + 1], ends[row] - window * (1 - 1e-9), side="right")) - 1, 0)


def _trimmed(state: Examination) -> Examination:
    """Without the intervals that no later reading needs: before the window, and all their rows completed by then."""
    last = len(state.ends) - 1
    base = _base(state.ends, state.window, last)
    unfinished = ~(state.arrived <= _filled(state.completed)[base]).all(axis=1)
    known = last - max(int(_gaps(state.arrived).max()), int(_gaps(state.completed).max()))
    first = min(base, known, int(unfinished.argmax()) if unfinished.any() else last)
    first = max(first, len(state.ends) - MEMORY)
    arrived, completed = state.arrived[first:].copy(), state.completed[first:].copy()
    # What is missing at the new beginning has to start from something known.
    arrived[0] = _filled(state.arrived[: first + 1])[-1]
    completed[0] = _filled(state.completed[: first + 1])[-1]
    ends, waited, routings = state.ends[first:], state.waited[first:], state.routings[first:]
    for array in (ends, arrived, completed, waited, routings, state.arrival, state.restarted):
        array.setflags(write=False)
    return replace(state, ends=ends, arrived=arrived, completed=completed, waited=waited, routings=routings)
