"""Shuffle grouping by what tuples cost (POSG): sketches of execution times, and who gets which tuple."""

from rheostat.elastic.grouping.estimates import Estimates
from rheostat.elastic.grouping.groupings import FullKnowledge, Greedy, Grouping, LptGrouping, RoundRobin
from rheostat.elastic.grouping.instance import Instance, Learning
from rheostat.elastic.grouping.messages import SketchReport, SyncReply, SyncRequest
from rheostat.elastic.grouping.posg import Phase, Posg, Submission
from rheostat.elastic.grouping.serial import from_bytes, to_bytes
from rheostat.elastic.grouping.sketch import CostSketch, shape_for

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
