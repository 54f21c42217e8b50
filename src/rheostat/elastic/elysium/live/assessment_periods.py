"""Epochs summed up to assessment periods: the load, and the use of slots and nodes (ELYSIUM sections 3.2 and 4).

An epoch is too short to decide by. A period ends with the first epoch that ends after a multiple of its length, so that
periods do not drift against the clock and against what repeats in the load. Its load is the mean rate of arrival; the
use of a slot is the share of the period for which it held a core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.live.epoch_use import by_slot, epoch_load
from rheostat.elastic.model.observation import Observation, OperatorObservation

_LONGEST = 1e9
"""Seconds above which the length of an epoch is taken for an error of measurement."""


@dataclass(frozen=True, eq=False)
class PeriodSums:
    """What has been summed up of a period.

    Attributes:
        seconds: length so far.
        rows: rows that arrived.
        span: seconds in which they arrived.
        slots: core seconds of each slot in use, by operator.
        nodes: core seconds by Spark executor.
        behind: rows that the source held back after the last epoch; NaN if unknown.
    """

    seconds: float = 0.0
    rows: float = 0.0
    span: float = 0.0
    slots: Mapping[str, Floats] = field(default_factory=dict)
    nodes: Mapping[str, float] = field(default_factory=dict)
    behind: float = float("nan")

    def after(self, seen: Observation) -> PeriodSums:
        """Return the sums with one more epoch. If the slots of an operator have changed, its use begins anew."""
        rows, span = epoch_load(seen, self.behind)
        known = np.isfinite(rows)
        slots = dict(self.slots)
        nodes = {**dict.fromkeys((name for name in seen.executors if name), 0.0), **self.nodes}
        for name, found in seen.operators.items():
            used = _slot_seconds(found)
            if used is None:
                continue
            before = slots.get(name)
            slots[name] = used + before if before is not None and len(before) == len(used) else used
            executors = [found.executors[s] for s in found.plan.used] if len(found.executors) else []
            for executor, seconds in zip(executors, used.tolist(), strict=False):
                nodes[executor] = nodes.get(executor, 0.0) + seconds
        return PeriodSums(
            self.seconds + seen.seconds,
            self.rows + (rows if known else 0.0),
            self.span + (span if known else 0.0),
            slots,
            nodes,
            seen.behind,
        )


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a period measured.

    Attributes:
        load: rows per second that arrived; NaN if unknown.
        slots: share of a core that each slot in use held, by operator.
        nodes: share of its cores that each node held; empty if unknown.
    """

    load: float
    slots: Mapping[str, tuple[float, ...]]
    nodes: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Assessments:
    """The period that runs, and the last one that has ended.

    Attributes:
        length: seconds of a period.
        sums: the period that runs.
        last: the last period that has ended; None before.
        steps: how many periods the last observation ended: several if its epoch was longer than a period.
        clock: seconds of all epochs so far.

    >>> seen = Observation(time=1.0, seconds=5.0, operators={}, cores=np.array([1]), external=100.0)
    >>> after = Assessments(length=10.0).after(seen).after(seen)
    >>> after.fresh, after.last.load, after.after(seen).fresh
    (True, 100.0, False)
    """

    length: float
    sums: PeriodSums = field(default_factory=PeriodSums)
    last: Assessment | None = None
    steps: int = 0
    clock: float = 0.0

    @property
    def fresh(self) -> bool:
        """True if the last observation ended a period."""
        return self.steps > 0

    def after(self, seen: Observation) -> Assessments:
        """Return the periods after one more epoch; an epoch without a length changes nothing."""
        if not 0 < seen.seconds < _LONGEST:
            return replace(self, steps=0)
        sums, clock = self.sums.after(seen), self.clock + seen.seconds
        steps = int(clock / self.length + 1e-9) - int(self.clock / self.length + 1e-9)
        if not steps:
            return replace(self, sums=sums, steps=0, clock=clock)
        cores = seen.cores[seen.cores > 0]
        each = float(np.median(cores)) if len(cores) else 1.0
        last = Assessment(
            load=sums.rows / sums.span if sums.span > 0 else float("nan"),
            slots={name: tuple((used / sums.seconds).tolist()) for name, used in sums.slots.items()},
            nodes=tuple(used / sums.seconds / each for used in sums.nodes.values()),
        )
        return Assessments(self.length, PeriodSums(behind=sums.behind), last, steps, clock)


def _slot_seconds(seen: OperatorObservation) -> Floats | None:
    """Return the core seconds of every slot in use; None if unknown."""
    if len(seen.work) == len(seen.plan.routing):
        used = by_slot(seen.plan, seen.work)
    elif len(seen.useful) == len(seen.plan.nodes):
        used = seen.useful[seen.plan.used]
    else:
        return None
    return used if ((used >= 0) & (used < _LONGEST)).all() else None
