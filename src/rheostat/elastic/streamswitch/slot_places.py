"""Routing tables as array indices.

Slot numbers have gaps, since slots come and go. Arrays by slot therefore use a slot's *place*: its index in the sorted
list of slot numbers. Routing tables rarely change, so computed places are cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]

NOWHERE = -1
"""The place of a slot that does not exist, or no longer exists."""


@dataclass(frozen=True, eq=False)
class SlotPlaces:
    """A routing table with the places of its slots.

    Attributes:
        routing: the slot number of every shard.
        slots: the slot numbers, sorted.
        places: for every shard, the index of its slot in ``slots``.

    >>> table = SlotPlaces.of((7, 2, 7))
    >>> table.routing, table.slots, table.places.tolist()
    ((7, 2, 7), (2, 7), [1, 0, 1])
    """

    routing: tuple[int, ...]
    slots: tuple[int, ...]
    places: Places

    @classmethod
    def of(cls, routing: Sequence[int] | Places) -> SlotPlaces:
        """Return the table for a routing, given as the slot number of every shard."""
        array = np.asarray(routing, dtype=np.int64)
        slots = tuple(np.unique(array).tolist())
        table = tuple(array.tolist())
        return cls(table, slots, places_of(table, slots))

    @classmethod
    def unrouted(cls, shards: int) -> SlotPlaces:
        """Return a table in which no shard has a slot yet."""
        routing = (NOWHERE,) * shards
        return cls(routing, (), places_of(routing, ()))

    def routes(self, routing: Sequence[int] | Places) -> bool:
        """Return True if this table has exactly the given routing.

        >>> SlotPlaces.of((7, 2)).routes((7, 2)), SlotPlaces.of((7, 2)).routes(np.array([2, 7]))
        (True, False)
        """
        if isinstance(routing, tuple):
            return self.routing == routing
        return np.array_equal(np.asarray(self.slots, dtype=np.int64)[self.places], routing) if self.slots else False

    def places_in(self, later: SlotPlaces) -> Places:
        """Return the place of each slot in a later table; NOWHERE for slots that are gone."""
        return places_of(self.slots, later.slots)


@lru_cache(maxsize=32)
def places_of(routing: tuple[int, ...], slots: tuple[int, ...]) -> Places:
    """Return the index in ``slots`` of each slot number in ``routing``; NOWHERE for numbers not among them.

    >>> places_of((7, 2, 5), (2, 7)).tolist()
    [1, 0, -1]
    """
    index = {slot: place for place, slot in enumerate(slots)}
    places = np.array([index.get(slot, NOWHERE) for slot in routing], dtype=np.int64)
    places.setflags(write=False)
    return places
