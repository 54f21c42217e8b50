"""The machines and costs of Enorm's evaluation (section 7), and how long its jobs take on them.

A fluid model: nodes give CPU seconds, tuples and keys take them. The paper prints few costs. Those it does print are
taken (18 million tuples in 456 s as one component and 512 s as two, six nodes); the others are ours and are named as
such.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from rheostat.errors import TopologyError
from rheostat.planning.enorm.migration import KeyCosts
from rheostat.planning.enorm.splitting import Form
from rheostat.windows.consolidation import PANE, ConsolidationPlan, plan_consolidation
from rheostat.windows.window import tumbling

TUPLES = 18e6
ONE_COMPONENT, TWO_COMPONENTS = 456.0, 512.0
"""Seconds for these tuples in section 7.7, as one component and as two."""

MINUTE = 60.0
_MICROS = 1_000_000


@dataclass(frozen=True)
class EnormNodes:
    """Six small nodes with one core each, and what things cost there in seconds of CPU.

    Attributes:
        nodes: the paper's number of working nodes.
        per_tuple: everything the simple job does for a tuple: 456 s on six nodes for 18 million of them.
        execute: the part of it that is the user's logic. Ours: the paper says only that it is simple aggregation.
        hop: a tuple that goes to another component. Ours: as much as taking it from the source, which is all of
            ``per_tuple`` but the logic; what the sender does to serialise it is left out, so fusion saves at least
            this.
        per_key: sending one key of a partial result or of state. The 56 s between one and two components are spent on
            it; the least it can be is if every tuple of a minute has a key of its own, and that is taken.
        merge: merging one key of a partial result. Ours: as much as the logic for a tuple.
        wire: seconds on the network for a key. Ours: 100 bytes at 300 Mbit/s.
        switch: seconds until tuples take another way. Ours.

    >>> engine = EnormNodes()
    >>> f"{engine.per_tuple * 1e6:.0f} us a tuple, {engine.hop * 1e6:.0f} us a hop, {engine.per_key * 1e6:.1f} us a key"
    '152 us a tuple, 147 us a hop, 18.7 us a key'
    """

    nodes: int = 6
    per_tuple: float = ONE_COMPONENT * 6 / TUPLES
    execute: float = 5e-6
    per_key: float = (TWO_COMPONENTS - ONE_COMPONENT) * 6 / TUPLES
    merge: float = 5e-6
    wire: float = 100 * 8 / 300e6
    switch: float = 0.01

    @property
    def hop(self) -> float:
        """Sending a tuple to another component."""
        return self.per_tuple - self.execute

    @property
    def key_costs(self) -> KeyCosts:
        """What a migration reckons with."""
        return KeyCosts(self.per_key / 2, self.per_key / 2, self.wire, self.switch)


def simple_job(*minutes: int) -> ConsolidationPlan:
    """The simple job's windows over partials of one minute.

    >>> simple_job(5, 10, 15, 20).merges(3600 * 1_000_000) - 60
    86
    """
    return plan_consolidation(tumbling("1 minute", *(f"{m} minutes" for m in minutes)))


def fast_job_time(engine: EnormNodes, fused: int, operators: int = 4, tuples: float = TUPLES) -> float:
    """Seconds until all tuples have gone through a chain of operators of which so many are fused (section 7.7).

    >>> [round(fast_job_time(EnormNodes(), fused)) for fused in (1, 2, 3, 4)]
    [1824, 1383, 942, 501]
    """
    if not 1 <= fused <= operators:
        raise TopologyError(f"fused={fused}: between 1 and {operators} operators of the chain run together")
    cpu = engine.hop + operators * engine.execute + (operators - fused) * engine.hop
    return tuples * cpu / engine.nodes


def completion_time(
    engine: EnormNodes, plan: ConsolidationPlan, form: Form, keys: float, tuples: float = TUPLES, extra: float = 0.0
) -> float:
    """Seconds until the simple job has processed all tuples, which wait for it from the beginning.

    Minute by minute: partials end with each, are sent if the component is split, and are merged into the windows that
    end.

    Args:
        keys: of one partial result, over all nodes; never more than there were tuples.
        extra: seconds of CPU for something else, such as a migration.

    >>> [round(completion_time(EnormNodes(), simple_job(5), form, keys=1e7)) for form in (Form.COMBINED, Form.SPLIT)]
    [466, 521]
    """
    left, debt, minute = tuples, extra, 0
    while True:
        budget = engine.nodes * MINUTE
        done = min(left, max(0.0, budget - debt) / engine.per_tuple)
        used = debt + done * engine.per_tuple
        left -= done
        if left <= 0 and used <= budget:
            ends = _pane_work(engine, plan, form, min(keys, done), minute)
            return minute * MINUTE + (used + ends) / engine.nodes
        minute += 1
        debt = max(0.0, used - budget) + _pane_work(engine, plan, form, min(keys, done), minute - 1)


def touched(keys: float, tuples: float) -> float:
    """How many of the keys are met by tuples that have evenly random keys.

    >>> round(touched(1000, 1000))
    632
    """
    return keys * (1 - exp(-tuples / keys)) if keys else 0.0


def _pane_work(engine: EnormNodes, plan: ConsolidationPlan, form: Form, keys: float, minute: int) -> float:
    sent = keys * engine.per_key if form is Form.SPLIT else 0.0
    end, pieces = (minute + 1) * int(MINUTE) * _MICROS, 0
    for number, granule in enumerate(plan.granules):
        start = end - granule.window.size
        if number != PANE and start >= 0 and granule.window.latest_start(start) == start:
            pieces += len(plan.cover(number, start))
    return sent + pieces * keys * engine.merge
