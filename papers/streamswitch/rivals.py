"""DRS as it was published, for StreamSwitch's comparison: under overload it has no plan (StreamSwitch section 6).

Where no number of slots within the limits keeps the bound, the published DRS changes nothing, and at the exchange's
openings that is so for many seconds. ``rheostat.elastic.baselines.drs`` asks for all slots instead, and keeps slots
while rows still wait, which the published DRS does not look at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rheostat.elastic.baselines.drs import balanced, drs
from rheostat.elastic.model.plan import Action
from rheostat.elastic.policies import StreamSwitch
from rheostat.elastic.streamswitch.diagnose import nothing, slot_health
from rheostat.elastic.streamswitch.diagnosis import Diagnosis, Health, Limits
from rheostat.elastic.streamswitch.readings import Readings


def published_drs(readings: Readings, limits: Limits) -> Diagnosis:
    """As ``drs``, but nothing is done where no number of slots is enough.

    >>> flooded = Readings.of((0, 0), (9000, 9000), (1000,), (9.0,))
    >>> [rule(flooded, Limits(max_slots=4)).action.value for rule in (drs, published_drs)]
    ['scale out', 'nothing']
    """
    found = drs(readings, limits, patient=False)
    if found.feasible or found.action == Action.NOTHING:
        return found
    worst = Health(int(slot_health(readings, limits).max()))
    return nothing(readings, worst, (f"no number of slots up to {limits.max_slots} keeps the bound: no plan",), False)


def published_drs_lb(readings: Readings, limits: Limits) -> Diagnosis:
    """The same; while the number of slots stays, the worst severe slot gives shards to another.

    >>> flooded = Readings.of((0, 0, 0, 1), (9000, 9000, 9000, 1), (1000, 1000), (9.0, 0.0))
    >>> published_drs_lb(flooded, Limits(max_slots=4)).action.value
    'balance'
    """
    return balanced(published_drs(readings, limits), readings, limits)


@dataclass(frozen=True)
class PublishedDrs(StreamSwitch):
    """DRS with StreamSwitch's choice of shards."""

    name: str = "drs, published"
    rule: ClassVar[Callable[[Readings, Limits], Diagnosis]] = staticmethod(published_drs)


@dataclass(frozen=True)
class PublishedDrsLb(StreamSwitch):
    """DRS with StreamSwitch's choice of shards, and its balancing."""

    name: str = "drs-lb, published"
    rule: ClassVar[Callable[[Readings, Limits], Diagnosis]] = staticmethod(published_drs_lb)
