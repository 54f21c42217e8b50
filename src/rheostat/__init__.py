"""Rheostat: elastic and fast stateful streams on Apache Spark.

>>> import rheostat as rh
>>> topology = rh.Topology("lending")

Public names are imported on first use, so ``import rheostat`` itself loads neither PySpark nor Polars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rheostat.lazy import lazy_names

if TYPE_CHECKING:
    from rheostat.elastic import elysium, policies
    from rheostat.elastic import posg as groupings
    from rheostat.elastic.loop.decision import Decision
    from rheostat.elastic.model.node_range import NodeRange, nodes
    from rheostat.elastic.model.promise import Latency
    from rheostat.elastic.model.slo import Slo
    from rheostat.elastic.routing.requests import Change
    from rheostat.errors import (
        CheckpointError,
        CheckpointInUseError,
        ConfigurationError,
        OperatorError,
        RheostatError,
        SetupError,
        TopologyError,
    )
    from rheostat.planning import enorm
    from rheostat.spark.progress import Progress
    from rheostat.spark.query import Query, Status
    from rheostat.spark.session import session
    from rheostat.spark.topology import AVAILABLE_NOW, Topology
    from rheostat.topology import sinks
    from rheostat.topology.aggregates import (
        Aggregate,
        approx_distinct,
        count,
        first,
        last,
        max,
        mean,
        min,
        own_aggregate,
        quantiles,
        stddev,
        sum,
        top_k,
        variance,
    )
    from rheostat.topology.keyed_state import KeyedState, keyed_state
    from rheostat.topology.processors import Context, KeyProcessor, list_of, ordered_map, value
    from rheostat.topology.stream import Stream
    from rheostat.windows.window import Window, sliding, tumbling

__version__ = "0.1.0"

_MODULES = {
    "elysium": "rheostat.elastic.elysium",
    "policies": "rheostat.elastic.policies",
    "groupings": "rheostat.elastic.posg",
    "enorm": "rheostat.planning.enorm",
    "sinks": "rheostat.topology.sinks",
}
"""Public names that are modules."""

_HOMES = {
    "rheostat.elastic.loop.decision": "Decision",
    "rheostat.elastic.model.node_range": "NodeRange nodes",
    "rheostat.elastic.model.promise": "Latency",
    "rheostat.elastic.model.slo": "Slo",
    "rheostat.elastic.routing.requests": "Change",
    "rheostat.errors": "CheckpointError CheckpointInUseError ConfigurationError OperatorError RheostatError "
    "SetupError TopologyError",
    "rheostat.spark.progress": "Progress",
    "rheostat.spark.query": "Query Status",
    "rheostat.spark.session": "session",
    "rheostat.spark.topology": "AVAILABLE_NOW Topology",
    "rheostat.topology.aggregates": "Aggregate approx_distinct count first last max mean min own_aggregate quantiles "
    "stddev sum top_k variance",
    "rheostat.topology.keyed_state": "KeyedState keyed_state",
    "rheostat.topology.processors": "Context KeyProcessor list_of ordered_map value",
    "rheostat.topology.stream": "Stream",
    "rheostat.windows.window": "Window sliding tumbling",
}
"""The other public names by the module that defines them. A test checks that they match the imports above."""

__all__ = [
    "AVAILABLE_NOW",
    "Aggregate",
    "Change",
    "CheckpointError",
    "CheckpointInUseError",
    "ConfigurationError",
    "Context",
    "Decision",
    "KeyProcessor",
    "KeyedState",
    "Latency",
    "NodeRange",
    "OperatorError",
    "Progress",
    "Query",
    "RheostatError",
    "SetupError",
    "Slo",
    "Status",
    "Stream",
    "Topology",
    "TopologyError",
    "Window",
    "approx_distinct",
    "count",
    "elysium",
    "enorm",
    "first",
    "groupings",
    "keyed_state",
    "last",
    "list_of",
    "max",
    "mean",
    "min",
    "nodes",
    "ordered_map",
    "own_aggregate",
    "policies",
    "quantiles",
    "session",
    "sinks",
    "sliding",
    "stddev",
    "sum",
    "top_k",
    "tumbling",
    "value",
    "variance",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES, _MODULES)
