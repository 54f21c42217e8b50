"""The costs of Enorm's evaluation (section 7), and how long its jobs take.

A fluid model: nodes provide seconds of CPU, tuples and keys consume them. The paper prints few costs: 18 million tuples
take 456 s as one component and 512 s as two, on six nodes. All other costs are ours and marked as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from papers.enorm.testbed.migration_costs import KeyCosts
from rheostat.errors import ConfigurationError
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
    """Six small nodes with one core each, and costs in seconds of CPU if not said otherwise.

    Attributes:
        nodes: number of working nodes, the paper's.
        per_tuple: whole cost of a tuple in the simple job, from 456 s on six nodes for 18 million tuples.
        execute: cost of the user's logic for a tuple, a part of ``per_tuple``. Ours: the paper says only that it is a
            simple aggregation.
        per_key: cost of sending one key of a partial result or of state. It explains the 56 s between one and two
            components. We take the lowest possible value: every tuple of a minute has a key of its own.
        merge: cost of merging one key of a partial result. Ours: as much as ``execute``.
        wire: seconds on the network for one key. Ours: 100 bytes at 300 Mbit/s.
        switch: seconds to switch the partitioner, until tuples go to another place. Ours.

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
        """Cost of sending a tuple to another component. Ours: as much as receiving it from the source.

        The sender's serialisation is left out, so fusion saves at least this.
        """
        return self.per_tuple - self.execute

    @property
    def key_costs(self) -> KeyCosts:
        """Costs of a key, for the cost of a migration."""
        return KeyCosts(self.per_key / 2, self.per_key / 2, self.wire, self.switch)


def simple_job(*minutes: int) -> ConsolidationPlan:
    """Return the plan of the simple job: windows of so many minutes over partials of one minute.

    >>> simple_job(5, 10, 15, 20).merges(3600 * 1_000_000) - 60
    86
    """
    return plan_consolidation(tumbling("1 minute", *(f"{m} minutes" for m in minutes)))


def fast_job_time(engine: EnormNodes, fused: int, operators: int = 4, tuples: float = TUPLES) -> float:
    """Return the seconds in which a chain of operators, some of them fused, processes all tuples (section 7.7).

    Args:
        engine: costs.
        fused: number of operators that are fused into one component; 1 for none.
        operators: number of operators in the chain.
        tuples: number of tuples.

    >>> [round(fast_job_time(EnormNodes(), fused)) for fused in (1, 2, 3, 4)]
    [1824, 1383, 942, 501]
    """
    if not 1 <= fused <= operators:
        raise ConfigurationError(f"fused={fused}: give a number between 1 and {operators}, the operators of the chain")
    cpu = engine.hop + operators * engine.execute + (operators - fused) * engine.hop
    return tuples * cpu / engine.nodes


def completion_time(
    engine: EnormNodes, plan: ConsolidationPlan, form: Form, keys: float, tuples: float = TUPLES, extra: float = 0.0
) -> float:
    """Return the seconds in which the simple job processes all tuples, which are all there at the beginning.

    Every minute, partials end. They are sent if the component is split, and are merged into the windows that end.

    Args:
        engine: costs.
        plan: windows of the job.
        form: split or combined.
        keys: keys of one partial result over all nodes; at most as many as tuples in the minute are counted.
        tuples: number of tuples.
        extra: seconds of CPU for other work, such as migrations.

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
    """Return how many of the keys occur if every tuple has a random key.

    >>> round(touched(1000, 1000))
    632
    """
    return keys * (1 - exp(-tuples / keys)) if keys else 0.0


def _pane_work(engine: EnormNodes, plan: ConsolidationPlan, form: Form, keys: float, minute: int) -> float:
    """Return the seconds of CPU for sending and merging partials at the end of a minute."""
    sent = keys * engine.per_key if form is Form.SPLIT else 0.0
    end, pieces = (minute + 1) * int(MINUTE) * _MICROS, 0
    for number, granule in enumerate(plan.granules):
        start = end - granule.window.size
        if number != PANE and start >= 0 and granule.window.latest_start(start) == start:
            pieces += len(plan.cover(number, start))
    return sent + pieces * keys * engine.merge
