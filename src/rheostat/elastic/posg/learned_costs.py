"""What an operator has learned of the costs of its items: one sketch for all slots, and how fast each slot is.

In the paper, a slot collects a sketch until it is stable, sends it and starts anew (section III-B). In epochs there is
a moment at which all slots have sent what they measured, so that nothing needs to be synchronised: the driver adds the
sketches of an epoch to what is known. Only the report of the attempt that Spark counts arrives, so an execution is
learned once, however often a task was repeated.

Costs drift. In every cell only the last ``RECENT`` executions decide about the estimate, so that a frequent item whose
cost has changed is known anew within an epoch, while a rare item keeps what was ever seen of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.instance import TOLERANCE
from rheostat.elastic.posg.serial import from_text, to_text
from rheostat.elastic.posg.sketch import CostSketch
from rheostat.errors import ConfigurationError

ROWS, COLUMNS = 4, 4096
"""A finer sketch than the paper's 4 x 54: its 35,000 entities share 54 columns, so that rare ones hide the costs of
frequent ones. An epoch carries one sketch, not a thousand messages, and can afford it."""

RECENT = 64
"""Executions of a cell after which its older ones have little weight."""

MEMORY = 1 << 17
"""Executions beyond which counts fade, so that cells which are not hit any more empty."""

SMOOTHING = 0.25
"""Weight of the newest epoch in what is averaged over epochs."""

_ENOUGH = 8
"""Executions that say something about the speed of a slot."""


@dataclass(frozen=True, eq=False)
class SlotCosts:
    """What one slot measured in an epoch.

    Attributes:
        slot: the slot.
        sketch: the costs of the rows that it executed.
    """

    slot: int
    sketch: CostSketch


@dataclass(frozen=True, eq=False)
class LearnedCosts:
    """What is known of the costs of an operator's items after some epochs.

    >>> from rheostat.elastic.posg.array_sketch import sketch_of
    >>> from rheostat.elastic.posg.array_sketch import estimated_costs
    >>> epoch = [SlotCosts(slot, sketch_of([0, 1], [3.0, 1.0], ROWS, COLUMNS)) for slot in (0, 1)]
    >>> learned = LearnedCosts.start(slots=2).after(epoch, slots=2)
    >>> estimated_costs(learned.sketch, [0, 1]).tolist(), learned.rows
    ([3.0, 1.0], 4.0)

    Attributes:
        sketch: the costs of items in a slot of mean speed.
        factors: how much longer than that each slot takes.
        spread: variance of costs between items over the square of their mean: the part that is known before a row runs.
        rows: rows in an epoch.
        tilt: how much more uneven rows are that are dealt in turn than if their order were random; at least 1.
    """

    sketch: CostSketch
    factors: tuple[float, ...]
    spread: float = 0.0
    rows: float = 0.0
    tilt: float = 1.0

    @classmethod
    def start(cls, slots: int, rows: int = ROWS, columns: int = COLUMNS) -> LearnedCosts:
        """Return what is known before the first epoch: nothing."""
        return cls(CostSketch.empty(rows, columns), (1.0,) * slots)

    @property
    def known(self) -> bool:
        """True if at least one execution was learned."""
        return self.sketch.executions > 0

    @property
    def speeds(self) -> tuple[float, ...]:
        """The factors of slots, with small differences, which may be noise, taken for none."""
        return tuple(factor if abs(factor - 1) > TOLERANCE else 1.0 for factor in self.factors)

    def with_slots(self, slots: int) -> LearnedCosts:
        """Return the same for another number of slots, all of the same speed until more is known."""
        return self if len(self.factors) == slots else replace(self, factors=(1.0,) * slots, tilt=1.0)

    def after(
        self, reports: Sequence[SlotCosts], slots: int, *, rows: int | None = None, in_turn: bool = True
    ) -> LearnedCosts:
        """Return what is known after an epoch.

        Args:
            reports: what slots measured; of each slot at most one report.
            slots: number of slots in the epoch.
            rows: rows of the epoch, if some slots did not measure theirs; None if all did.
            in_turn: True if rows were dealt in turn, whatever they cost.
        """
        if len({report.slot for report in reports}) < len(reports):
            raise ConfigurationError("two reports of one slot: an execution would count twice")
        state = self.with_slots(slots)
        seen = [report for report in reports if report.sketch.executions]
        if not seen:
            return state
        known = state.sketch if state.known else _sum([report.sketch for report in seen])
        factors = _factors(state.factors, state.sketch, seen)
        fresh = [replace(r.sketch, times=r.sketch.times / factors[r.slot]) for r in seen]
        # What was known before is independent of the new rows. In the first epoch, half of the slots stands for it.
        pair = (known, _sum(fresh)) if state.known else (_sum(fresh[0::2]), _sum(fresh[1::2] or fresh[0::2]))
        count = float(sum(sketch.executions for sketch in fresh) if rows is None else rows)
        weight = SMOOTHING if state.known else 1.0
        spread = state.spread + (0.5 if state.known else 1.0) * (explained_spread(*pair) - state.spread)
        learned = replace(
            state,
            sketch=_blended(state.sketch, _sum(fresh)),
            factors=factors,
            spread=spread,
            rows=state.rows + weight * (count - state.rows),
        )
        return learned._with_tilt(seen, slots) if in_turn else learned

    def _with_tilt(self, seen: Sequence[SlotCosts], slots: int) -> LearnedCosts:
        """Compare how uneven rows were that were dealt in turn with what chance alone gives."""
        random = expected_excess(self.spread, self.rows, slots)
        if len(seen) < slots or random <= 0:
            return self
        loads = np.array([_expected(self.sketch, report.sketch) for report in seen])
        ratio = float(np.clip((loads.max() / loads.mean() - 1) / random, 1.0, 10.0))
        return replace(self, tilt=self.tilt + SMOOTHING * (ratio - self.tilt))

    def text(self) -> str:
        """Return the sketch as text, which takes a few milliseconds."""
        return to_text(self.sketch)

    def to_json(self, text: str | None = None) -> dict[str, Any]:
        """Return what is known as plain values.

        Args:
            text: the sketch as text, if it is at hand; an older one will do.
        """
        rounded = {"factors": [round(f, 4) for f in self.factors], "spread": self.spread, "rows": self.rows}
        return {"sketch": self.text() if text is None else text, **rounded, "tilt": self.tilt}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LearnedCosts:
        """Return what ``to_json`` gave, also after it was written and read as JSON."""
        numbers = {name: float(value[name]) for name in ("spread", "rows", "tilt")}
        return cls(from_text(value["sketch"]), tuple(float(f) for f in value["factors"]), **numbers)


def expected_excess(spread: float, rows: float, slots: int) -> float:
    """Return how much longer the busiest slot takes than the mean if rows are dealt in turn, as a share of the mean.

    The cost of a slot's rows is a sum of many, so it is distributed normally around the mean; the largest of several
    such sums is expected at a quantile of that distribution (Blom 1958).

    Args:
        spread: variance of costs over the square of their mean.
        rows: number of rows.
        slots: number of slots.

    >>> round(expected_excess(spread=1.0, rows=1_000, slots=5), 3), expected_excess(1.0, 1_000, slots=1)
    (0.083, 0.0)
    """
    if slots < 2 or rows <= 0:
        return 0.0
    from statistics import NormalDist  # noqa: PLC0415 - only the driver needs it

    return float(NormalDist().inv_cdf((slots - 0.375) / (slots + 0.25)) * np.sqrt(max(spread, 0.0) * slots / rows))


def explained_spread(one: CostSketch, other: CostSketch) -> float:
    """Return the variance of costs between items, over the square of their mean, from two sketches of different rows.

    What two sketches agree on belongs to the items; noise differs between them and averages out. Items that only one
    has seen count as not predictable.

    >>> from rheostat.elastic.posg.array_sketch import sketch_of
    >>> alike = sketch_of([0, 1] * 50, [3.0, 1.0] * 50, ROWS, COLUMNS)
    >>> explained_spread(alike, alike)  # costs of 3 and 1: variance 1, mean 2
    0.25
    """
    weights = np.minimum(one.frequencies, other.frequencies).astype(np.float64)
    total = float(weights.sum())
    if total == 0:
        return 0.0
    costs = [np.nan_to_num(sketch.ratios()) for sketch in (one, other)]
    means = [float((weights * cost).sum()) / total for cost in costs]
    if min(means) <= 0:
        return 0.0
    covariance = float((weights * (costs[0] - means[0]) * (costs[1] - means[1])).sum()) / total
    covered = total / float(min(one.frequencies.sum(), other.frequencies.sum()))
    return max(covariance, 0.0) / (means[0] * means[1]) * covered


def _blended(known: CostSketch, fresh: CostSketch) -> CostSketch:
    """Return the sketch with the executions of an epoch added; see the module's text about drift."""
    old = known.frequencies.astype(np.float64)
    if known.executions > MEMORY:
        old = np.rint(old * (MEMORY / known.executions))
    weight = np.minimum(old, RECENT)
    both = weight + fresh.frequencies
    mean = np.zeros(known.shape)
    np.divide(weight * np.nan_to_num(known.ratios()) + fresh.times, both, where=both > 0, out=mean)
    counts = old.astype(np.int64) + fresh.frequencies
    return CostSketch(counts, mean * counts, known.seed)


def _factors(before: tuple[float, ...], old: CostSketch, seen: Sequence[SlotCosts]) -> tuple[float, ...]:
    """Return how much longer than the mean each slot takes, from what it took and what was expected of its rows.

    The rows of this epoch count in what is expected. Otherwise a slot with the rows of an item whose cost has changed
    would seem fast or slow.
    """
    if len(seen) < len(before) or len(before) < 2:
        return before
    known = _blended(old, _sum([replace(r.sketch, times=r.sketch.times / before[r.slot]) for r in seen]))
    compared = old.frequencies > 0 if old.executions else known.frequencies > 0
    ratios: dict[int, float] = {}
    for report in seen:
        expected, sketch = _expected(known, report.sketch, compared), report.sketch
        if expected > 0 and sketch.executions >= _ENOUGH:
            ratios[report.slot] = float(np.where(compared, sketch.times, 0.0).sum()) / expected
    if len(ratios) < len(before) or min(ratios.values()) <= 0:
        return before
    mean = float(np.mean(list(ratios.values())))
    moved = [f + SMOOTHING * (ratios[slot] / mean - f) for slot, f in enumerate(before)]
    return tuple(float(np.clip(factor, 0.1, 10.0)) for factor in moved)


def _expected(known: CostSketch, executed: CostSketch, cells: npt.NDArray[np.bool_] | bool = True) -> float:
    """Return the seconds that executions in some cells take by what is known, summed over the rows of the sketch."""
    return float(np.where(cells, executed.frequencies * np.nan_to_num(known.ratios()), 0.0).sum())


def _sum(sketches: Sequence[CostSketch]) -> CostSketch:
    return sketches[0].merged(sketches[1:])
