"""Rheostat makes streams on Apache Spark elastic and fast.

>>> import rheostat as rh
>>> topology = rh.Topology("lending")
"""

from rheostat.elastic.routing.requests import Change
from rheostat.errors import (
    CheckpointError,
    CheckpointInUseError,
    OperatorError,
    RheostatError,
    SetupError,
    TopologyError,
)
from rheostat.spark.progress import Progress
from rheostat.spark.query import Query, Status
from rheostat.spark.session import session
from rheostat.spark.topology import AVAILABLE_NOW, Topology
from rheostat.topology import sinks
from rheostat.topology.aggregates import (
    aggregate,
    approx_distinct,
    count,
    first,
    last,
    max,
    mean,
    min,
    quantiles,
    stddev,
    sum,
    top_k,
    variance,
)
from rheostat.topology.processors import Context, KeyProcessor, list_of, ordered_map, value
from rheostat.topology.stream import Stream
from rheostat.windows.window import Window, hopping, sliding, tumbling

__version__ = "0.1.0"

__all__ = [
    "AVAILABLE_NOW",
    "Change",
    "CheckpointError",
    "CheckpointInUseError",
    "Context",
    "KeyProcessor",
    "OperatorError",
    "Progress",
    "Query",
    "RheostatError",
    "SetupError",
    "Status",
    "Stream",
    "Topology",
    "TopologyError",
    "Window",
    "aggregate",
    "approx_distinct",
    "count",
    "first",
    "hopping",
    "last",
    "list_of",
    "max",
    "mean",
    "min",
    "ordered_map",
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
