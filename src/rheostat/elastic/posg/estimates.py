"""What a scheduler knows of execution times: the sketches of all slots, laid out for one fast loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.hashing import Items, Multipliers, multipliers
from rheostat.elastic.posg.sketch import Costs, CostSketch, lightest
from rheostat.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Estimates:
    """One sketch per slot, since slots may differ in speed.

    >>> sketch = CostSketch.empty().updated([1, 2], [0.5, 1.0])
    >>> Estimates.of([sketch, sketch]).cost(slot=1, item=2)
    1.0

    Attributes:
        cells: count and estimate, by slot, row and column.
        merged: what all slots together know.
        unseen: seconds that an item counts as of which a sketch has nothing; None: as its mean cell.
        alike: True if an item counts the same in every slot.
    """

    cells: Costs
    merged: CostSketch
    unseen: float | None = None
    alike: bool = False

    @classmethod
    def of(cls, sketches: Sequence[CostSketch], unseen: float | None = None) -> Estimates:
        """From one sketch per slot; the same sketch for every slot if they do not differ."""
        if not sketches:
            raise ConfigurationError("estimates need the sketch of one slot or more")
        merged = sketches[0].merged(sketches[1:])
        cells = np.ascontiguousarray(np.stack([sketch.cells(unseen) for sketch in sketches]))
        return cls(cells, merged, unseen, all(sketch is sketches[0] for sketch in sketches))

    def shared(self) -> Estimates:
        """The same for every slot, from what all of them know: better where no slot is slower than another."""
        cells = np.repeat(self.merged.cells(self.unseen)[None], self.slots, axis=0)
        return Estimates(cells, self.merged, self.unseen, alike=True)

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return len(self.cells)

    @property
    def numbers(self) -> Multipliers:
        """Of the hash functions, which all sketches share."""
        return multipliers(self.merged.seed, self.merged.shape[0])

    def cost(self, slot: int, item: int) -> float:
        """Estimated seconds of one execution in one slot."""
        return float(lightest(self.numbers, self.cells[slot], int(item))[1])

    def typical(self, items: Items) -> Costs:
        """Estimated seconds of each item by what all slots together know."""
        return self.merged.costs(items, self.unseen)

    def longest_first(self, items: Items) -> npt.NDArray[np.int64]:
        """The order of the items by falling estimate, and equal items one after the other.

        The second matters as much as the first: what is dealt out in this order goes to all slots alike, item by
        item, and so does the error of an item's estimate.
        """
        return np.lexsort((items, -self.typical(items)))

    def shortest_first(self, items: Items) -> npt.NDArray[np.int64]:
        """The order of the items by rising estimate; equal ones stay as they came."""
        return np.argsort(self.typical(items), kind="stable")
