"""Shuffle grouping by what tuples cost (POSG): sketches of execution times, and who gets which tuple.

==============  ======================================================================================================
``sketch``      what is known of execution times: paired count-min sketches (section III)
``hashing``     the hash functions of the sketches
``estimates``   seconds of an item in a slot, from one sketch per slot
``instance``    the slot's half of the protocol (figure 2)
``messages``    what slots and scheduler tell each other (figure 1)
``scheduler``   the scheduler's half (section III-B, figure 3)
``groupings``   who gets which tuple: round robin, full knowledge, greedy, longest first
``exchanges``   tuples exchanged between slots to even out their loads; ours
``serial``      sketches as bytes
==============  ======================================================================================================
"""

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
