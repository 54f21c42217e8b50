"""Compiled arithmetic of Examine: adds one interval to the counter histories of all shards (sections 4.1 to 4.3).

A history is an array with a row per interval and a column per shard. Long histories (interval ends and arrived rows)
reach back to the oldest row still waiting. Short ones (completed rows, waiting times and places) reach back to the
beginning of the window. The last rows of both belong to the same interval, so row ``r`` of a short history is row
``r + offset`` of a long one.

A missing counter is NaN. Only the last rows of a column can be missing; its first row is always known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.elastic.model.smoothing import EWMA_WEIGHT
from rheostat.jit import compiled

MAX_COUNTER = 2.0**53
"""Floats count by ones up to here. Larger counters, and times, are treated as missing."""

_MAX_RATE = 1e12
"""Rows per second that no slot reaches: a larger rate comes from a wrongly measured useful time and is ignored."""

MEAN, MEASURED, USEFUL, STALLED = 0, 1, 2, 3
"""Columns of the array of service rates, which has a row per slot: the fields of ``ServiceRate``."""


@compiled
def rate_after(
    mean: float, measured: bool, useful: float, stalled: float, done: float, spent: float, waiting: bool, seconds: float
) -> tuple[float, bool, float, float]:
    """Return a service rate after one more interval, as the fields of ``ServiceRate``.

    Args:
        mean: moving average before the interval; NaN if unknown.
        measured: True if the mean was measured and not only assumed.
        useful: useful seconds since the last completion.
        stalled: seconds for which rows have waited and none was completed.
        done: rows completed in the interval; NaN if unknown.
        spent: useful seconds in the interval; NaN if unknown.
        waiting: True if rows were waiting when the interval began.
        seconds: length of the interval.
    """
    if np.isnan(done):
        return mean, measured, useful, stalled
    if done == 0:
        more = 0.0 if np.isnan(spent) else spent
        return mean, measured, useful + more, stalled + seconds if waiting else 0.0
    sample = done / (useful + spent) if useful + spent > 0 else np.nan
    if not sample < _MAX_RATE:
        return mean, measured, 0.0, 0.0
    if measured:
        sample = (1 - EWMA_WEIGHT) * mean + EWMA_WEIGHT * sample
    return sample, True, 0.0, 0.0


@compiled
def window_start(ends: Any, window: float) -> int:
    """Return the row at which the window begins that ends with the last row."""
    # Tolerance: ends are sums of lengths such as 0.1, which are not exact.
    limit, row = ends[-1] - window * (1 - 1e-9), len(ends) - 1
    while row > 0 and ends[row] > limit:
        row -= 1
    return row


@compiled
def advance_counters(
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
    """Add one interval to everything that Examine remembers.

    Args:
        ends: when each interval ended.
        arrived: long history of arrived rows.
        completed: short history of completed rows.
        waited: short history of waiting times.
        places: short history of places.
        arrival: rows per second over the window, by shard.
        restarted: when the counters of each shard last started again.
        rates: service rates, a row per slot.
        time: end of the new interval.
        window: seconds of the window.
        patience: intervals to wait for a missing counter.
        memory: largest number of intervals to remember.
        arrived_now: arrived rows by shard at ``time``.
        completed_now: completed rows by shard at ``time``.
        useful: useful seconds by slot in the new interval; NaN if unknown.
        places_now: the place of every shard's slot in the new interval.

    Returns:
        The first eight arguments after the interval, then how many rows can be dropped at the beginning of the long
        histories, and how many at the beginning of the short ones.
    """
    last, shards = arrived.shape
    offset = last - len(completed)
    ends = _append_value(ends, time)
    arrived, completed = _append_row(arrived, arrived_now), _append_row(completed, completed_now)
    waited, places = _append_row(waited, arrival), _append_row(places, places_now)
    restarted, arrival = copy_of(restarted), copy_of(arrival)
    changed, gap = last, 0
    for shard in range(shards):
        first, missing = _check_new_counters(
            ends=ends,
            arrived=arrived,
            completed=completed,
            waited=waited,
            restarted=restarted,
            shard=shard,
            patience=patience,
        )
        changed, gap = min(changed, first), max(gap, missing)
    for row in range(max(changed, offset + 1), last + 1):
        for shard in range(shards):
            waited[row - offset, shard] = _waited_seconds(ends, arrived, completed, row, offset, shard)
    base = window_start(ends, window)
    if base < last:
        for shard in range(shards):
            rate = (arrived[last, shard] - arrived[base, shard]) / (ends[last] - ends[base])
            arrival[shard] = arrival[shard] if np.isnan(rate) else rate
    rates = _rates_after(rates, ends[last] - ends[last - 1], arrived, completed, useful, places_now)
    needed = min(base, last - gap)
    first_long = max(_first_unfinished(arrived, completed, base - offset, needed), last + 1 - memory)
    first_short = max(needed, first_long) - offset
    _fill_missing(arrived, first_long)
    _fill_missing(completed, first_short)
    return ends, arrived, completed, waited, places, arrival, restarted, rates, first_long, first_short


# Plain loops instead of slices and NumPy functions: just as fast, and they compile in a fraction of the time.


@compiled
def copy_of(values: Any) -> Any:
    """Return a copy of a one-dimensional array."""
    copy = np.empty_like(values)
    for i in range(len(values)):
        copy[i] = values[i]
    return copy


@compiled
def _append_value(values: Any, value: float) -> Any:
    longer = np.empty(len(values) + 1)
    for i in range(len(values)):
        longer[i] = values[i]
    longer[len(values)] = value
    return longer


@compiled
def _append_row(history: Any, new_row: Any) -> Any:
    rows, shards = history.shape
    longer = np.empty((rows + 1, shards), dtype=history.dtype)
    for row in range(rows):
        for shard in range(shards):
            longer[row, shard] = history[row, shard]
    for shard in range(shards):
        longer[rows, shard] = new_row[shard]
    return longer


@compiled
def _set_column(history: Any, shard: int, value: float) -> None:
    for row in range(len(history)):
        history[row, shard] = value


@compiled
def last_known(history: Any, row: int, shard: int) -> int:
    """Return the last row up to the given one at which the counter of a shard is known."""
    while np.isnan(history[row, shard]):
        row -= 1
    return row


@compiled
def _valid_or_nan(counter: float) -> float:
    return counter if 0 <= counter <= MAX_COUNTER else np.nan


@compiled
def _check_new_counters(
    ends: Any, arrived: Any, completed: Any, waited: Any, restarted: Any, shard: int, patience: int
) -> tuple[int, int]:
    """Check the new counters of a shard and correct the histories in place.

    A counter that goes back is first treated as missing, since it may be a single bad reading. If it is still behind
    when the patience is over, then it has started again, or the value it was compared with was the bad reading. The
    past of the shard is then forgotten, and its waiting rows count as having waited for all of the remembered time.

    Returns:
        The first row that changed, and how many of the last rows are missing.
    """
    last, end = len(arrived) - 1, len(completed) - 1
    now, done = _valid_or_nan(arrived[last, shard]), _valid_or_nan(completed[end, shard])
    arrived_row, completed_row = last_known(arrived, last - 1, shard), last_known(completed, end - 1, shard)
    arrived_before, completed_before = arrived[arrived_row, shard], completed[completed_row, shard]
    patience_over = max(last - 1 - arrived_row, end - 1 - completed_row) >= patience
    went_back = now < arrived_before or done < completed_before
    if went_back and patience_over and not np.isnan(now) and not np.isnan(done):
        _set_column(arrived, shard, now)
        _set_column(completed, shard, min(now, done))
        _set_column(waited, shard, 0.0)
        restarted[shard] = ends[last]
        return last, 0
    now, done = np.nan if now < arrived_before else now, np.nan if done < completed_before else done
    # No more rows can be completed than arrived. If either counter is missing, the other one stays as it is.
    if done > now:
        done = max(now, completed_before)
    arrived[last, shard], completed[end, shard] = now, done
    _interpolate(ends, arrived, arrived_row, shard)
    _interpolate(ends, completed, completed_row, shard)
    changed = last if np.isnan(now) else arrived_row + 1
    changed = changed if np.isnan(done) else min(changed, last - end + completed_row + 1)
    return changed, max(last - arrived_row if np.isnan(now) else 0, end - completed_row if np.isnan(done) else 0)


@compiled
def _interpolate(ends: Any, history: Any, known: int, shard: int) -> None:
    """Fill the rows between a known row and the last one, if the last one is known."""
    last, offset = len(history) - 1, len(ends) - len(history)
    if known < last - 1 and not np.isnan(history[last, shard]):
        start, value = ends[offset + known], history[known, shard]
        slope = (history[last, shard] - value) / (ends[offset + last] - start)
        for row in range(known + 1, last):
            history[row, shard] = slope * (ends[offset + row] - start) + value


@compiled
def _waited_seconds(ends: Any, arrived: Any, completed: Any, row: int, offset: int, shard: int) -> float:
    """Return how long the rows completed in an interval had waited, as a sum in seconds; NaN if unknown.

    The paper defines a row's waiting time as the time between the ends of the intervals in which it arrived and
    completed. So a row waits through an interval if it had arrived by the end of the previous one. The sum therefore
    counts, for every past interval, the rows that waited through it.
    """
    before, after = completed[row - offset - 1, shard], completed[row - offset, shard]
    if np.isnan(before) or np.isnan(after) or np.isnan(arrived[row - 1, shard]):
        return np.nan
    # The first row at which all of them had arrived. Binary search, since a backlog can reach far back.
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
    """Return how long the rows after the first ``completed`` ones had waited by row ``end``, as a sum in seconds."""
    total, row = 0.0, end - 1
    while row >= 0 and arrived[row, shard] > completed:
        total += (ends[row + 1] - ends[row]) * (arrived[row, shard] - completed)
        row -= 1
    return total


@compiled
def _rates_after(rates: Any, seconds: float, arrived: Any, completed: Any, useful: Any, places: Any) -> Any:
    """Return the service rates of all slots after one more interval (section 4.2)."""
    slots = len(rates)
    done, waiting, backlog = np.zeros(slots), np.zeros(slots), np.zeros(slots)
    for shard in range(len(places)):
        place = places[shard]
        before = arrived[-2, shard] - completed[-2, shard]
        after = arrived[-1, shard] - completed[-1, shard]
        done[place] += completed[-1, shard] - completed[-2, shard]
        waiting[place] += 0.0 if np.isnan(before) else before
        backlog[place] += 0.0 if np.isnan(after) else after
    updated = np.empty((slots, 4))
    for place in range(slots):
        spent, had_backlog = useful[place], waiting[place] > 0
        if not 0 < spent < np.inf:
            # Useful time is unknown, but a slot with a backlog at both ends of the interval was busy throughout.
            spent = seconds if had_backlog and backlog[place] > 0 and done[place] > 0 else np.nan
        spent = seconds if spent > seconds else spent
        mean, measured, gathered, stalled = rate_after(
            mean=rates[place, MEAN],
            measured=rates[place, MEASURED] > 0,
            useful=rates[place, USEFUL],
            stalled=rates[place, STALLED],
            done=done[place],
            spent=spent,
            waiting=had_backlog,
            seconds=seconds,
        )
        updated[place, MEAN], updated[place, MEASURED] = mean, 1.0 if measured else 0.0
        updated[place, USEFUL], updated[place, STALLED] = gathered, stalled
    return updated


@compiled
def _first_unfinished(arrived: Any, completed: Any, base: int, limit: int) -> int:
    """Return the first row with rows that were not completed when the window began, but at most ``limit``.

    Args:
        arrived: history of arrived rows.
        completed: history of completed rows.
        base: row of ``completed`` at which the window begins.
        limit: largest result.
    """
    for row in range(limit):
        for shard in range(arrived.shape[1]):
            done = completed[base, shard]
            if np.isnan(done):
                done = completed[last_known(completed, len(completed) - 1, shard), shard]
            if not arrived[row, shard] <= done:
                return row
    return limit


@compiled
def _fill_missing(history: Any, row: int) -> None:
    """Replace missing counters of a row, which is about to become the first one, with the last known ones."""
    for shard in range(history.shape[1]):
        if np.isnan(history[row, shard]):
            history[row, shard] = history[last_known(history, row, shard), shard]
