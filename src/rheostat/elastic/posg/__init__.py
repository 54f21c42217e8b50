"""POSG: assigns the tuples of a stateless operator to slots by their estimated execution times.

A tuple is a row of the input. Its item is a number that determines its execution time: a key, or a hash of several
columns. Slots learn the execution times of items and report them to the scheduler, which assigns the next tuples.

On Spark (``Stream.apply``), slots report once per epoch:

==================  ==================================================================================================
``learned_costs``   what an operator has learned of costs: merges the sketches of an epoch, follows drift
``cost_choice``     decides before an epoch whether dealing by cost pays
``cost_router``     deals the rows of one router to slots by cost
``array_sketch``    sketches of whole arrays, without Numba
==================  ==================================================================================================

As in the paper, tuple by tuple, in the testbed of ``papers/posg``:

==================  ==================================================================================================
``scheduler``       the scheduler's part of the protocol (section III-B, figure 3)
``instance``        the slots' part of the protocol (figure 2)
``messages``        the messages between slots and scheduler (figure 1)
``groupings``       rules that assign tuples to slots: round robin, full knowledge, greedy, longest first
``exchanges``       exchanges tuples between slots to even out their loads; our addition
``estimates``       estimated execution time of an item in a slot, from one sketch per slot
==================  ==================================================================================================

Both use:

==================  ==================================================================================================
``sketch``          learns execution times with paired count-min sketches (section III)
``hashing``         the hash functions of the sketches
``serial``          converts sketches to bytes or text and back
``compiled_sketch`` updates and queries of sketches in compiled loops
``compiled_hash``   the hash functions in compiled loops
==================  ==================================================================================================

Public names are loaded on first use, because most need Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rheostat.lazy import lazy_names

if TYPE_CHECKING:
    from rheostat.elastic.posg.estimates import Estimates
    from rheostat.elastic.posg.groupings import FullKnowledge, Greedy, Grouping, LptGrouping, RoundRobin
    from rheostat.elastic.posg.instance import Instance, Learning
    from rheostat.elastic.posg.messages import SketchReport, SyncReply, SyncRequest
    from rheostat.elastic.posg.scheduler import Phase, Posg, Submission
    from rheostat.elastic.posg.serial import from_bytes, to_bytes
    from rheostat.elastic.posg.sketch import CostSketch, shape_for

_HOMES = {
    "rheostat.elastic.posg.estimates": "Estimates",
    "rheostat.elastic.posg.groupings": "FullKnowledge Greedy Grouping LptGrouping RoundRobin",
    "rheostat.elastic.posg.instance": "Instance Learning",
    "rheostat.elastic.posg.messages": "SketchReport SyncReply SyncRequest",
    "rheostat.elastic.posg.scheduler": "Phase Posg Submission",
    "rheostat.elastic.posg.serial": "from_bytes to_bytes",
    "rheostat.elastic.posg.sketch": "CostSketch shape_for",
}
"""Public names by the module that defines them. A test checks that they match the imports above."""

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

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
