"""POSG: assigns the tuples of a stateless operator to slots by their estimated execution times.

A tuple is a row of the input. Its item is a number that determines its execution time: a key, or a hash of several
columns. Slots learn the execution times of items and report them to the scheduler, which assigns the next tuples.

==============  ======================================================================================================
``scheduler``   the scheduler's part of the protocol (section III-B, figure 3)
``instance``    the slots' part of the protocol (figure 2)
``messages``    the messages between slots and scheduler (figure 1)
``groupings``   rules that assign tuples to slots: round robin, full knowledge, greedy, longest first
``exchanges``   exchanges tuples between slots to even out their loads; our addition
``estimates``   estimated execution time of an item in a slot, from one sketch per slot
``sketch``      learns execution times with paired count-min sketches (section III)
``hashing``     the hash functions of the sketches
``serial``      converts sketches to bytes and back
==============  ======================================================================================================

It runs in the testbed of ``papers/posg``; it is not connected to Spark yet.
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
