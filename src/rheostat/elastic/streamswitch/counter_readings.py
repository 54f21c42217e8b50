"""Examine's arithmetic over the counters of all shards, compiled: what can be read from them.

Histories are as in ``counters``. ``examine`` makes ``Readings`` of what comes out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.elastic.streamswitch.counters import MEAN, STALLED, base_of, copied, last_known, waiting_time
from rheostat.jit import compiled


@compiled
def read(
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
    """Rates and latencies by shard and by slot, and what speaks against them, as ``Readings`` and its problem say."""
    last, shards = len(ends) - 1, len(arrival)
    base = base_of(ends, window)
    offset = last + 1 - len(completed)
    span = ends[last] - ends[base] if base < last else 1.0
    latency, spent, rows = np.zeros(shards), np.zeros(shards), np.zeros(shards)
    by_slot = np.zeros((4, len(rates)))  # waited and done, and the same of rows that wait in vain
    for row in range(base + 1 - offset, len(completed)):
        for shard in range(shards):
            place, seconds = places[row, shard], waited[row, shard]
            done = completed[row, shard] - completed[row - 1, shard]
            seconds, done = 0.0 if np.isnan(seconds) else seconds, 0.0 if np.isnan(done) else done
            spent[shard] += seconds
            rows[shard] += done
            if place >= 0:
                by_slot[0, place] += seconds
                by_slot[1, place] += done
    arrival, backlog, gaps = copied(arrival), np.empty(shards), np.zeros(shards, dtype=np.int64)
    blind = missing = longest = young = 0
    for shard in range(shards):
        came, went = last_known(arrived, last, shard), last_known(completed, len(completed) - 1, shard)
        gap = max(last - came, len(completed) - 1 - went)
        backlog[shard] = max(arrived[came, shard] - completed[went, shard], 0.0)
        # No row completed, though some wait: their age so far is what is known of their latency, and all are load.
        if stalls and rows[shard] == 0 and backlog[shard] > 0 and gap == 0:
            spent[shard], rows[shard] = waiting_time(ends, arrived, completed[went, shard], last, shard), backlog[shard]
            arrival[shard] = max(arrival[shard], backlog[shard] / span)
            place = places[-1, shard]
            if place >= 0:
                by_slot[2, place] += spent[shard]
                by_slot[3, place] += rows[shard]
        latency[shard] = spent[shard] / rows[shard] if rows[shard] > 0 else 0.0
        gaps[shard] = gap
        if gap > patience:
            blind += 1
        elif gap > 0:
            missing, longest = missing + 1, max(longest, gap)
        if ends[last] - restarted[shard] < window:
            young += 1
    usual, service, unserved = _services(rates, window if stalls else np.inf)
    by_slot_latency = _worse(by_slot)
    return arrival, by_slot_latency, service, usual, latency, backlog, gaps, blind, missing, longest, young, unserved


@compiled
def _worse(by_slot: Any) -> Any:
    """The longer one, by slot, of the mean waiting times of rows that were completed and of those that wait in vain."""
    latency = np.zeros(by_slot.shape[1])
    for kind in (0, 2):
        for place in range(len(latency)):
            if by_slot[kind + 1, place] > 0:
                latency[place] = max(latency[place], by_slot[kind, place] / by_slot[kind + 1, place])
    return latency


@compiled
def _services(rates: Any, window: float) -> Any:
    """Service rates as usual, and with stalls: who completes nothing in P seconds does at most one row in P.

    And for how many slots there is none.
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
