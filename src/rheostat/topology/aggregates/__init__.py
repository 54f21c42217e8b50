"""The aggregates that a user declares for windows.

In reading order:

- ``base``: what every aggregate is
- ``builtin``: exact ones, from count to last
- ``approximate``: approximate ones of bounded size
- ``own``: one that the user writes
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
