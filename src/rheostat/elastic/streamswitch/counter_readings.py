"""Compiled arithmetic of Examine: computes rates and latencies from the counter histories (sections 4.1 and 4.2).

``counters`` describes the histories. ``examine`` turns the result into ``Readings``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.elastic.streamswitch.counters import MEAN, STALLED, copy_of, last_known, waiting_time, window_start
from rheostat.jit import compiled

WAITED, DONE, STUCK_WAITED, STUCK = 0, 1, 2, 3
"""Rows of the sums by slot: seconds waited and number of completed rows, and the same of rows in stalled shards."""


@compiled
def read_counters(
    ends: Any,
    arrived: Any,
    completed: Any,
    waited: Any,
    places: Any,
    arrival: Any,
    restarted: Any,
    rates: Any,
    window: float,
    patience: int,
    stalls: bool,
) -> Any:
    """Compute rates and latencies by shard and by slot.

    Args:
        ends: when each interval ended.
        arrived: long history of arrived rows.
        completed: short history of completed rows.
        waited: short history of waiting times.
        places: short history of places.
        arrival: rows per second over the window, by shard.
        restarted: when the counters of each shard last started again.
        rates: service rates, a row per slot.
        window: seconds of the window.
        patience: intervals to wait for a missing counter.
        stalls: True to count waiting rows in shards that complete nothing.

    Returns:
        The fields ``arrival``, ``latency``, ``service``, ``usual``, ``shard_latency`` and ``backlog`` of ``Readings``;
        for every shard the number of intervals since its counters were last known; then five numbers: shards whose
        counters are missing longer than the patience, shards whose counters are missing but not for so long, the
        longest such gap in intervals, shards whose counters started again within the window, and slots without a
        service rate.
    """
    last, shards = len(ends) - 1, len(arrival)
    base = window_start(ends, window)
    offset = last + 1 - len(completed)
    span = ends[last] - ends[base] if base < last else 1.0
    latency, spent, rows = np.zeros(shards), np.zeros(shards), np.zeros(shards)
    by_slot = np.zeros((4, len(rates)))
    for row in range(base + 1 - offset, len(completed)):
        for shard in range(shards):
            place, seconds = places[row, shard], waited[row, shard]
            done = completed[row, shard] - completed[row - 1, shard]
            seconds, done = 0.0 if np.isnan(seconds) else seconds, 0.0 if np.isnan(done) else done
            spent[shard] += seconds
            rows[shard] += done
            if place >= 0:
                by_slot[WAITED, place] += seconds
                by_slot[DONE, place] += done
    arrival, backlog, gaps = copy_of(arrival), np.empty(shards), np.zeros(shards, dtype=np.int64)
    blind = missing = longest = young = 0
    for shard in range(shards):
        arrived_row, completed_row = last_known(arrived, last, shard), last_known(completed, len(completed) - 1, shard)
        gap = max(last - arrived_row, len(completed) - 1 - completed_row)
        backlog[shard] = max(arrived[arrived_row, shard] - completed[completed_row, shard], 0.0)
        # Rows wait but none completed: their age is the latency known so far, and all of them count as load.
        if stalls and rows[shard] == 0 and backlog[shard] > 0 and gap == 0:
            spent[shard] = waiting_time(ends, arrived, completed[completed_row, shard], last, shard)
            rows[shard] = backlog[shard]
            arrival[shard] = max(arrival[shard], backlog[shard] / span)
            place = places[-1, shard]
            if place >= 0:
                by_slot[STUCK_WAITED, place] += spent[shard]
                by_slot[STUCK, place] += rows[shard]
        latency[shard] = spent[shard] / rows[shard] if rows[shard] > 0 else 0.0
        gaps[shard] = gap
        if gap > patience:
            blind += 1
        elif gap > 0:
            missing, longest = missing + 1, max(longest, gap)
        if ends[last] - restarted[shard] < window:
            young += 1
    usual, service, unserved = _service_rates(rates, window if stalls else np.inf)
    slot_latency = _slot_latencies(by_slot)
    return arrival, slot_latency, service, usual, latency, backlog, gaps, blind, missing, longest, young, unserved


@compiled
def _slot_latencies(by_slot: Any) -> Any:
    """Return the latency of every slot: the larger of the means over completed rows and over rows in stalled shards."""
    latency = np.zeros(by_slot.shape[1])
    for kind in (WAITED, STUCK_WAITED):
        for place in range(len(latency)):
            if by_slot[kind + 1, place] > 0:
                latency[place] = max(latency[place], by_slot[kind, place] / by_slot[kind + 1, place])
    return latency


@compiled
def _service_rates(rates: Any, window: float) -> Any:
    """Return the usual service rates, the current ones, and the number of slots without one.

    A slot without a rate of its own gets the mean of the others. A slot that has been stalled for P seconds, at least
    the window, currently serves at most one row in P seconds.
    """
    usual, service, total, known, unserved = np.empty(len(rates)), np.empty(len(rates)), 0.0, 0, 0
    for place in range(len(rates)):
        usual[place] = rates[place, MEAN]
        if not np.isnan(usual[place]):
            total, known = total + usual[place], known + 1
    for place in range(len(rates)):
        stalled = rates[place, STALLED]
        if known and np.isnan(usual[place]):
            usual[place] = total / known
        service[place] = usual[place]
        if stalled >= window and not service[place] <= 1.0 / stalled:
            service[place] = 1.0 / stalled
        if np.isnan(usual[place]):
            usual[place] = service[place]
        unserved += int(np.isnan(service[place]))
    return usual, service, unserved
