"""Estimated execution times of items in slots: the sketches of all slots, in one array for a fast loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.compiled_sketch import lightest
from rheostat.elastic.posg.hashing import Items, Multipliers, multipliers
from rheostat.elastic.posg.sketch import Costs, CostSketch
from rheostat.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates execution times from one sketch per slot, because slots may differ in speed.

    >>> sketch = CostSketch.empty().updated([1, 2], [0.5, 1.0])
    >>> Estimates.of([sketch, sketch]).cost(slot=1, item=2)
    1.0

    Attributes:
        cells: count and estimated seconds, by slot, row and column.
        merged: one sketch with the executions of all slots.
        unseen: estimated seconds of an item that a sketch has not seen; None for the mean of its cells.
        alike: True if the estimate of an item is the same in every slot.
    """

    cells: Costs
    merged: CostSketch
    unseen: float | None = None
    alike: bool = False

    @classmethod
    def of(cls, sketches: Sequence[CostSketch], unseen: float | None = None) -> Estimates:
        """Return estimates from one sketch per slot; pass the same sketch for every slot if all are equally fast.

        Args:
            sketches: sketch of each slot.
            unseen: estimated seconds of an item that a sketch has not seen; None for the mean of its cells.
        """
        if not sketches:
            raise ConfigurationError("no sketches: estimates need the sketch of one slot or more")
        merged = sketches[0].merged(sketches[1:])
        cells = np.ascontiguousarray(np.stack([sketch.cells(unseen) for sketch in sketches]))
        return cls(cells, merged, unseen, all(sketch is sketches[0] for sketch in sketches))

    def shared(self) -> Estimates:
        """Return estimates from the merged sketch, the same for every slot: better if all slots are equally fast."""
        cells = np.repeat(self.merged.cells(self.unseen)[None], self.slots, axis=0)
        return Estimates(cells, self.merged, self.unseen, alike=True)

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self.cells)

    @property
    def numbers(self) -> Multipliers:
        """Random numbers of the hash functions, which all sketches share."""
        return multipliers(self.merged.seed, self.merged.shape[0])

    def cost(self, slot: int, item: int) -> float:
        """Return the estimated seconds of an item in a slot."""
        return float(lightest(self.numbers, self.cells[slot], int(item))[1])

    def typical(self, items: Items) -> Costs:
        """Return the estimated seconds of each item over all slots."""
        return self.merged.costs(items, self.unseen)

    def longest_first(self, items: Items) -> npt.NDArray[np.int64]:
        """Return the positions of items by descending estimate, with equal items next to each other.

        Equal items next to each other are then spread over all slots, and so is the error of their estimate.
        """
        return np.lexsort((items, -self.typical(items)))

    def shortest_first(self, items: Items) -> npt.NDArray[np.int64]:
        """Return the positions of items by ascending estimate; items with the same estimate keep their order."""
        return np.argsort(self.typical(items), kind="stable")
