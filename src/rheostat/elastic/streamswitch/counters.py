"""Examine's arithmetic over the counters of all shards, compiled: what is known after one more interval.

Histories are arrays with a row per interval and a column per shard. That of arrived rows reaches back to the oldest row
that still waits; completed rows, waiting times and places only to the beginning of the window. Their last rows belong
together. Missing counters are NaN, and only ever the last ones of a column; the first row always is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.elastic.model.smoothing import EWMA_WEIGHT
from rheostat.jit import compiled

EXACT = 2.0**53
"""Above it floats cannot count by ones, and no counter of rows gets there."""

_FASTEST = 1e12
"""Rows per second that nothing reaches: a useful time that implies more was not measured but mistaken."""

MEAN, MEASURED, USEFUL, STALLED = 0, 1, 2, 3
"""Columns of the service rates, which have a row per slot."""


@compiled
def rate_after(
    mean: float, measured: bool, useful: float, stalled: float, done: float, spent: float, waiting: bool, seconds: float
) -> tuple[float, bool, float, float]:
    """A service rate after one more interval, as ``ServiceRate.after`` says."""
    if np.isnan(done):
        return mean, measured, useful, stalled
    if done == 0:
        more = 0.0 if np.isnan(spent) else spent
        return mean, measured, useful + more, stalled + seconds if waiting else 0.0
    sample = done / (useful + spent) if useful + spent > 0 else np.nan
    if not sample < _FASTEST:
        return mean, measured, 0.0, 0.0
    if measured:
        sample = (1 - EWMA_WEIGHT) * mean + EWMA_WEIGHT * sample
    return sample, True, 0.0, 0.0


@compiled
def base_of(ends: Any, window: float) -> int:
    """The row where the window that ends with the last row begins."""
    # A billionth of slack: ends are sums of lengths such as 0.1, which are not exact.
    limit, row = ends[-1] - window * (1 - 1e-9), len(ends) - 1
    while row > 0 and ends[row] > limit:
        row -= 1
    return row


@compiled
def advanced(
    ends: Any,
    arrived: Any,
    completed: Any,
    waited: Any,
    places: Any,
    arrival: Any,
    restarted: Any,
    rates: Any,
    time: float,
    window: float,
    patience: int,
    memory: int,
    arrived_now: Any,
    completed_now: Any,
    useful: Any,
    places_now: Any,
) -> Any:
    """Everything after one more interval, and how many rows at the beginning of both kinds of histories can go."""
    last, shards = arrived.shape
    # The row of the arrivals that the first row of the shorter histories belongs to.
    offset = last - len(completed)
    ends = _with_end(ends, time)
    arrived, completed = _longer(arrived, arrived_now), _longer(completed, completed_now)
    waited, places = _longer(waited, arrival), _longer(places, places_now)
    restarted, arrival = copied(restarted), copied(arrival)
    renewed, gap = last, 0
    for shard in range(shards):
        first, missing = _continue(ends, arrived, completed, waited, restarted, shard, patience)
        renewed, gap = min(renewed, first), max(gap, missing)
    for row in range(max(renewed, offset + 1), last + 1):
        for shard in range(shards):
            waited[row - offset, shard] = _waited(ends, arrived, completed, row, offset, shard)
    base = base_of(ends, window)
    if base < last:
        for shard in range(shards):
            rate = (arrived[last, shard] - arrived[base, shard]) / (ends[last] - ends[base])
            arrival[shard] = arrival[shard] if np.isnan(rate) else rate
    rates = _rates_after(rates, ends[last] - ends[last - 1], arrived, completed, useful, places_now)
    needed = min(base, last - gap)
    first = max(_unfinished(arrived, completed, base - offset, needed), last + 1 - memory)
    since = max(needed, first) - offset
    _known_at(arrived, first)
    _known_at(completed, since)
    return ends, arrived, completed, waited, places, arrival, restarted, rates, first, since


# Plain loops instead of slices and NumPy's own functions: as fast, and compiled in a fraction of the time.


@compiled
def copied(values: Any) -> Any:
    copy = np.empty_like(values)
    for i in range(len(values)):
        copy[i] = values[i]
    return copy


@compiled
def _with_end(ends: Any, time: float) -> Any:
    longer = np.empty(len(ends) + 1)
    for i in range(len(ends)):
        longer[i] = ends[i]
    longer[len(ends)] = time
    return longer


@compiled
def _longer(history: Any, last: Any) -> Any:
    rows, shards = history.shape
    longer = np.empty((rows + 1, shards), dtype=history.dtype)
    for row in range(rows):
        for shard in range(shards):
            longer[row, shard] = history[row, shard]
    for shard in range(shards):
        longer[rows, shard] = last[shard]
    return longer


@compiled
def _fill(history: Any, shard: int, value: float) -> None:
    for row in range(len(history)):
        history[row, shard] = value


@compiled
def last_known(history: Any, row: int, shard: int) -> int:
    """The last row that is known of a shard, up to a given one."""
    while np.isnan(history[row, shard]):
        row -= 1
    return row


@compiled
def _plausible(counter: float) -> float:
    return counter if 0 <= counter <= EXACT else np.nan


@compiled
def _continue(
    ends: Any, arrived: Any, completed: Any, waited: Any, restarted: Any, shard: int, patience: int
) -> tuple[int, int]:
    """Judge the new counters of a shard, in place; the first row that changed, and how many of the last are missing.

    A counter that goes back is taken as missing first, for it may be one bad reading. If it is still behind when the
    patience is over, it has started again, or what it was compared with was the bad reading: the past of its shard is
    forgotten, and what waits now counts as having waited all the time that is remembered.
    """
    last, end = len(arrived) - 1, len(completed) - 1
    now, done = _plausible(arrived[last, shard]), _plausible(completed[end, shard])
    came, went = last_known(arrived, last - 1, shard), last_known(completed, end - 1, shard)
    was_arrived, was_completed = arrived[came, shard], completed[went, shard]
    late = max(last - 1 - came, end - 1 - went) >= patience
    if (now < was_arrived or done < was_completed) and late and not np.isnan(now) and not np.isnan(done):
        _fill(arrived, shard, now)
        _fill(completed, shard, min(now, done))
        _fill(waited, shard, 0.0)
        restarted[shard] = ends[last]
        return last, 0
    now, done = np.nan if now < was_arrived else now, np.nan if done < was_completed else done
    # More cannot be completed than arrived; where either is missing, what is known is left alone.
    if done > now:
        done = max(now, was_completed)
    arrived[last, shard], completed[end, shard] = now, done
    _interpolate(ends, arrived, came, shard)
    _interpolate(ends, completed, went, shard)
    renewed = last if np.isnan(now) else came + 1
    renewed = renewed if np.isnan(done) else min(renewed, last - end + went + 1)
    return renewed, max(last - came if np.isnan(now) else 0, end - went if np.isnan(done) else 0)


@compiled
def _interpolate(ends: Any, history: Any, known: int, shard: int) -> None:
    """Fill the rows between a known one and the last, if that is known."""
    last, offset = len(history) - 1, len(ends) - len(history)
    if known < last - 1 and not np.isnan(history[last, shard]):
        start, value = ends[offset + known], history[known, shard]
        slope = (history[last, shard] - value) / (ends[offset + last] - start)
        for row in range(known + 1, last):
            history[row, shard] = slope * (ends[offset + row] - start) + value


@compiled
def _waited(ends: Any, arrived: Any, completed: Any, row: int, offset: int, shard: int) -> float:
    """Seconds that the rows completed in an interval had waited, summed.

    The paper gives a row the time between the ends of the intervals of its arrival and completion. So it waits through
    an interval if it had arrived by the end of the one before: counting those rows for every past interval is the sum.
    """
    before, after = completed[row - offset - 1, shard], completed[row - offset, shard]
    if np.isnan(before) or np.isnan(after) or np.isnan(arrived[row - 1, shard]):
        return np.nan
    # From this row on, all of them had arrived: binary search, for a long backlog is a long way back.
    all_there, high = 0, row
    while all_there < high:
        middle = (all_there + high) // 2
        if arrived[middle, shard] < after:
            all_there = middle + 1
        else:
            high = middle
    whole = (ends[row] - ends[all_there]) * (after - before)
    return float(whole + waiting_time(ends, arrived, before, all_there, shard))


@compiled
def waiting_time(ends: Any, arrived: Any, completed: float, end: int, shard: int) -> float:
    """Seconds up to a row that rows beyond those completed have waited, summed."""
    total, row = 0.0, end - 1
    while row >= 0 and arrived[row, shard] > completed:
        total += (ends[row + 1] - ends[row]) * (arrived[row, shard] - completed)
        row -= 1
    return total


@compiled
def _rates_after(rates: Any, seconds: float, arrived: Any, completed: Any, useful: Any, places: Any) -> Any:
    """Service rates after one more interval (section 4.2)."""
    slots = len(rates)
    done, waiting, backlog = np.zeros(slots), np.zeros(slots), np.zeros(slots)
    for shard in range(len(places)):
        place = places[shard]
        before = arrived[-2, shard] - completed[-2, shard]
        after = arrived[-1, shard] - completed[-1, shard]
        done[place] += completed[-1, shard] - completed[-2, shard]
        waiting[place] += 0.0 if np.isnan(before) else before
        backlog[place] += 0.0 if np.isnan(after) else after
    found = np.empty((slots, 4))
    for place in range(slots):
        spent, waits = useful[place], waiting[place] > 0
        if not 0 < spent < np.inf:
            # Not told, but a slot with work at both ends of the interval will have worked all through it.
            spent = seconds if waits and backlog[place] > 0 and done[place] > 0 else np.nan
        spent = seconds if spent > seconds else spent
        mean, measured, gathered, stalled = rate_after(
            rates[place, MEAN],
            rates[place, MEASURED] > 0,
            rates[place, USEFUL],
            rates[place, STALLED],
            done[place],
            spent,
            waits,
            seconds,
        )
        found[place, MEAN], found[place, MEASURED] = mean, 1.0 if measured else 0.0
        found[place, USEFUL], found[place, STALLED] = gathered, stalled
    return found


@compiled
def _unfinished(arrived: Any, completed: Any, base: int, most: int) -> int:
    """The first row of which not all rows were completed when the window began, but not after a given row."""
    for row in range(most):
        for shard in range(arrived.shape[1]):
            known = completed[base, shard]
            if np.isnan(known):
                known = completed[last_known(completed, len(completed) - 1, shard), shard]
            if not arrived[row, shard] <= known:
                return row
    return most


@compiled
def _known_at(history: Any, row: int) -> None:
    """What is missing at a row that becomes the first has to start from something known."""
    for shard in range(history.shape[1]):
        if np.isnan(history[row, shard]):
            history[row, shard] = history[last_known(history, row, shard), shard]
