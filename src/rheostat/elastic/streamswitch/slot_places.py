"""Routing tables whose slots have places, 0, 1, 2, ... in the order of their numbers, so that arrays can be used.

Numbers of slots have gaps, since slots come and go. Tables hardly ever change, so what is worked out once is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]

NOWHERE = -1
"""The place of a slot that does not exist, or no longer."""


@dataclass(frozen=True, eq=False)
class SlotPlaces:
    """A routing table with the places of its slots.

    Attributes:
        routing: the slot of every shard.
        slots: the numbers of the slots, sorted.
        places: the place in ``slots`` of every shard's slot.

    >>> known = SlotPlaces.of((7, 2, 7))
    >>> known.routing, known.slots, known.places.tolist()
    ((7, 2, 7), (2, 7), [1, 0, 1])
    """

    routing: tuple[int, ...]
    slots: tuple[int, ...]
    places: Places

    @classmethod
    def of(cls, routing: Sequence[int] | Places) -> SlotPlaces:
        """From the slot of every shard."""
        array = np.asarray(routing, dtype=np.int64)
        slots = tuple(np.unique(array).tolist())
        table = tuple(array.tolist())
        return cls(table, slots, places_of(table, slots))

    @classmethod
    def unrouted(cls, shards: int) -> SlotPlaces:
        """While no shard has a slot yet."""
        routing = (NOWHERE,) * shards
        return cls(routing, (), places_of(routing, ()))

    def routes(self, routing: Sequence[int] | Places) -> bool:
        """True if that is the routing.

        >>> SlotPlaces.of((7, 2)).routes((7, 2)), SlotPlaces.of((7, 2)).routes(np.array([2, 7]))
        (True, False)
        """
        if isinstance(routing, tuple):
            return self.routing == routing
        return np.array_equal(np.asarray(self.slots, dtype=np.int64)[self.places], routing) if self.slots else False

    def places_in(self, later: SlotPlaces) -> Places:
        """The place that each slot has in a later table; NOWHERE for those that are gone."""
        return places_of(self.slots, later.slots)


@lru_cache(maxsize=32)
def places_of(routing: tuple[int, ...], slots: tuple[int, ...]) -> Places:
    """The place of each slot that is named among the slots that there are, which are sorted.

    >>> places_of((7, 2, 5), (2, 7)).tolist()
    [1, 0, -1]
    """
    number = {slot: place for place, slot in enumerate(slots)}
    places = np.array([number.get(slot, NOWHERE) for slot in routing], dtype=np.int64)
    places.setflags(write=False)
    return places
