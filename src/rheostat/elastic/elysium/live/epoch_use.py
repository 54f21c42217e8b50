"""What one epoch tells about its operators: the readings that profiles are learned from (ELYSIUM section 3.2).

The paper reads the CPU of processes. A task of Spark has its core for as long as it runs, whether it computes or waits
for a service. So the use of a slot is the time for which it holds a core: its useful seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan

_MOST = 1e15
"""Rows, seconds or bytes above which a reading is taken for an error of measurement."""


@dataclass(frozen=True, eq=False)
class OperatorUse:
    """What one epoch measured of an operator, by slot that is in use.

    Attributes:
        rows: rows that each slot received.
        seconds: core seconds that each slot held.
        cpu: of these, seconds of computing in all slots; NaN if not measured.
        memory: bytes of memory of the largest slot at its peak; NaN if not measured.

    >>> OperatorUse(np.array([10.0, 30.0]), np.array([1.0, 3.0])).total
    (40.0, 4.0)
    """

    rows: Floats
    seconds: Floats
    cpu: float = float("nan")
    memory: float = float("nan")

    @property
    def total(self) -> tuple[float, float]:
        """Rows and core seconds of all slots."""
        return float(self.rows.sum()), float(self.seconds.sum())


def operator_use(seen: OperatorObservation, before: Floats | None = None) -> OperatorUse | None:
    """Return what an epoch measured of an operator; None if rows or seconds are unknown or make no sense.

    Args:
        seen: the observation.
        before: rows completed before the epoch, by shard, for engines that only count them since the start.

    >>> rows, work = np.array([10.0, 20.0, 30.0, 40.0]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> use = operator_use(OperatorObservation(
    ...     plan=OperatorPlan.even(4, 2), arrived=rows, completed=rows, useful=np.zeros(2), work=work, rows=rows))
    >>> use.rows.tolist(), use.seconds.tolist()
    ([30.0, 70.0], [3.0, 7.0])
    """
    plan, shards = seen.plan, len(seen.plan.routing)
    rows = seen.rows
    if not len(rows) and before is not None and len(before) == shards == len(seen.completed):
        rows = seen.completed - before
    if not sensible(rows, shards):
        return None
    if sensible(seen.work, shards):
        seconds = by_slot(plan, seen.work)
    elif sensible(seen.useful, len(plan.nodes)):
        seconds = seen.useful[plan.used]
    else:
        return None
    return OperatorUse(by_slot(plan, rows), seconds, _sum(seen.cpu_seconds), _peak(seen.memory))


def by_slot(plan: OperatorPlan, by_shard: Floats) -> Floats:
    """Return the sums of values by shard, for every slot that is in use."""
    sums: Floats = np.bincount(plan.routing, weights=by_shard, minlength=len(plan.nodes))[plan.used].astype(np.float64)
    return sums


def epoch_load(seen: Observation, behind: float = float("nan")) -> tuple[float, float]:
    """Return rows that arrived and the seconds in which they did, as freshly as known; NaN if unknown.

    The epoch that begins now says what arrived last. Where it is not known, it is what the last epoch read, within the
    time in which that arrived: the epoch itself may have taken longer. If a source holds back more rows than before,
    these have arrived too; if fewer, that many rows are old ones.

    Args:
        seen: the observation.
        behind: rows that the source held back an epoch earlier; NaN if unknown.

    >>> seen = Observation(time=1.0, seconds=2.0, operators={}, cores=np.array([1]), external=100.0, span=1.0)
    >>> epoch_load(seen)
    (200.0, 1.0)
    """
    more = seen.behind - behind if np.isfinite(seen.behind - behind) else 0.0
    rows, span = seen.next_rows, seen.next_span
    if not (0 <= rows < _MOST and 0 < span < _MOST):
        rate = seen.external if np.isnan(seen.wanted) or np.isfinite(seen.behind) else seen.wanted
        rows, span = rate * seen.seconds, seen.span if 0 < seen.span < _MOST else seen.seconds
    if not (0 <= rows < _MOST and 0 < span < _MOST):
        return float("nan"), float("nan")
    return max(float(rows + more), 0.0), float(span)


def waiting_rows(seen: Observation) -> float:
    """Return the rows that have arrived and are in no completed epoch; 0 if unknown.

    >>> waiting_rows(Observation(
    ...     time=1.0, seconds=1.0, operators={}, cores=np.array([1]), next_rows=50.0, behind=200.0))
    250.0
    """
    known = [v for v in (seen.next_rows, seen.behind) if 0 <= v < _MOST]
    if known:
        return float(sum(known))
    backlog = [o.arrived - o.completed for o in seen.operators.values() if o.arrived.shape == o.completed.shape]
    waiting = float(sum(np.sum(b) for b in backlog if np.isfinite(b).all()))
    return waiting if 0 <= waiting < _MOST else 0.0


def sensible(values: Floats, size: int) -> bool:
    """Return True if there are ``size`` values, at least one, and none is negative, unknown or absurdly large."""
    return len(values) == size > 0 and bool(((values >= 0) & (values < _MOST)).all())


def _sum(values: Floats) -> float:
    known = values[np.isfinite(values)] if len(values) else values
    return float(known.sum()) if len(known) else float("nan")


def _peak(values: Floats) -> float:
    known = values[np.isfinite(values)] if len(values) else values
    return float(known.max()) if len(known) else float("nan")
