"""Rates and homes of executors: what their shards add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.shard_rates import ShardRates
from rheostat.elastic.model.plan import Subspaces


@dataclass(frozen=True)
class Executors:
    """The rates and homes of the executors of a topology, as arrays by executor.

    Attributes:
        arrivals: rows per second that arrive.
        services: rows per second that one core processes.
        state: bytes of state.
        traffic: bytes per second in and out.
        homes: the node of the executor's main process; -1 for an executor that has none yet.
    """

    arrivals: Floats
    services: Floats
    state: Floats
    traffic: Floats
    homes: Ints


def executor_rates(subspaces: Mapping[str, Subspaces], rates: Mapping[str, ShardRates], wait: float) -> Executors:
    """Return the rates of the executors of all operators, operator by operator.

    Args:
        subspaces: the executors of every operator.
        rates: the rates of every operator, by shard.
        wait: seconds that rows usually wait; rows of this time are no backlog.
    """
    parts: list[tuple[Floats, ...]] = []
    for name, owned in subspaces.items():
        shards, count = rates[name], len(owned.homes)
        demand, state, traffic = (
            np.bincount(owned.executors, weights=v, minlength=count).astype(np.float64)
            for v in (shards.demand(wait), shards.state, shards.traffic)
        )
        parts.append((demand, np.full(count, shards.service), state, traffic, owned.homes.astype(np.float64)))
    arrivals, services, state, traffic, homes = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Executors(arrivals, services, state, traffic, homes.astype(np.int64))
