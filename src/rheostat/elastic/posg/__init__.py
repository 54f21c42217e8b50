"""Shuffle grouping by what tuples cost (POSG): sketches of execution times, and who gets which tuple."""

from rheostat.elastic.posg.estimates import Estimates
from rheostat.elastic.posg.groupings import FullKnowledge, Greedy, Grouping, LptGrouping, RoundRobin
from rheostat.elastic.posg.instance import Instance, Learning
from rheostat.elastic.posg.messages import SketchReport, SyncReply, SyncRequest
from rheostat.elastic.posg.scheduler import Phase, Posg, Submission
from rheostat.elastic.posg.serial import from_bytes, to_bytes
from rheostat.elastic.posg.sketch import CostSketch, shape_for

__all__ = [
    "CostSketch",
    "Estimates",
    "FullKnowledge",
    "Greedy",
    "Grouping",
    "Instance",
    "Learning",
    "LptGrouping",
    "Phase",
    "Posg",
    "RoundRobin",
    "SketchReport",
    "Submission",
    "SyncReply",
    "SyncRequest",
    "from_bytes",
    "shape_for",
    "to_bytes",
]
