"""The aggregates for windows, such as ``rh.count``.

In reading order:

- ``base``: the base class, and the value that a checked aggregate becomes
- ``builtin``: exact aggregates
- ``approximate``: approximate aggregates of bounded size
- ``own``: aggregates that a user writes
"""

from rheostat.topology.aggregates.approximate import approx_distinct, quantiles, top_k
from rheostat.topology.aggregates.base import Aggregate, AggregateSite, BoundAggregate
from rheostat.topology.aggregates.builtin import count, first, last, max, mean, min, stddev, sum, variance
from rheostat.topology.aggregates.own import own_aggregate

__all__ = [
    "Aggregate",
    "AggregateSite",
    "BoundAggregate",
    "approx_distinct",
    "count",
    "first",
    "last",
    "max",
    "mean",
    "min",
    "own_aggregate",
    "quantiles",
    "stddev",
    "sum",
    "top_k",
    "variance",
]
