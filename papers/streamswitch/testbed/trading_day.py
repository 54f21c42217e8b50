"""StreamSwitch's financial application: a trading day of limit orders on one operator (section 6.1).

The paper does not print the speed of its slots. We chose ``SPEED`` so that our version, Switch+(0.2), uses about 8.4
slots on average, as the paper's Switch(0.2) does; only runs of Switch+(0.2) were used for that. The constant cost of an
order and the 100 bytes of an order that waits in the book are ours too. The number of orders that wait is the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from papers.streamswitch.testbed.bursts import BurstyDay
from papers.streamswitch.testbed.engines import Flink, Samza
from papers.streamswitch.testbed.named_policies import BUFFERS, FLINK, SAMZA, STATIC, UNBOUNDED, SwitchOutcome, policy
from rheostat.arrays import Floats
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.success import Success
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import Simulation
from rheostat.simulate.trace import Trace
from rheostat.workloads.exchange import DAY, Exchange
from rheostat.workloads.market import TradingDay

SPEED = 216.0
"""Orders per second that a slot processes, by default."""

SHARDS, NODES, CORES = 64, 4, 16
WAITING, WAITING_LAST, ENTRY_BYTES = 370e3, 2e6, 100.0
"""Orders in the book at the beginning and at the end of the day, and the bytes of one."""

ORDER_BYTES = 200
"""Bytes of an order in flight, with its dozen fields. Ours."""

NAME = "auction"
NOON = DAY // 2
"""Opening of the second session, in seconds of trading."""

Watcher = Callable[[Interval], None]


@dataclass(frozen=True)
class Part:
    """The part of the day that a run simulates.

    Attributes:
        begin: beginning of the run, in seconds of trading.
        strata: spans that count, each as (begin, end, share of the day that it stands for).
    """

    begin: float
    strata: tuple[tuple[float, float, float], ...]

    @property
    def end(self) -> float:
        """End of the run, in seconds of trading."""
        return self.strata[-1][1]


BUSY = 1200.0
"""First seconds of the second session, on which other choices of ours are run."""

WHOLE = Part(0.0, ((0.0, NOON, 1 / 2), (NOON, NOON + BUSY, BUSY / DAY), (NOON + BUSY, DAY, 1 / 2 - BUSY / DAY)))
AFTERNOON = Part(NOON - 120.0, ((NOON, DAY, 1.0),))
EARLY = Part(NOON - 120.0, ((NOON, NOON + BUSY, 1.0),))
SAMPLE = Part(NOON - 420.0, ((NOON - 400.0, NOON, 11 / 12), (NOON, NOON + 600.0, 1 / 12)))
"""For the published policies: a calm part, and the ten minutes after one of the day's two openings. DRS as published
never works off the backlog of an opening, which makes a whole day very long to simulate."""

SHORT = Part(NOON - 100.0, ((NOON - 80.0, NOON, 29 / 30), (NOON, NOON + 240.0, 1 / 30)))
"""For a quick run: a calm part, and the four minutes after one of the day's two openings."""


@dataclass(frozen=True)
class Day:
    """One run of the trading day.

    Attributes:
        kind: policy, by its name in the figures.
        margin: safety margin epsilon of the policy.
        slots: number of slots at the beginning.
        part: part of the day to simulate.
        bound: latency bound L in seconds.
        window: length T of a window in seconds.
        flink: True to run on Flink, where treatments wait for barriers; False for Samza.
        bursts: True if single stocks have bursts.
        rest: seconds of rest after a treatment; None for the policy's default.
        speed: orders per second that a slot processes.
        seed: seed of all random numbers.
    """

    kind: str
    margin: float = 0.2
    slots: int = 8
    part: Part = WHOLE
    bound: float = 1.0
    window: float = 1.0
    flink: bool = False
    bursts: bool = True
    rest: float | None = None
    speed: float = SPEED
    seed: int = 1

    @property
    def name(self) -> str:
        """Name of the run in the figures.

        >>> Day("DRS", 0.4).name, Day("Static", slots=8).name
        ('DRS(0.4)', 'Static(8)')
        """
        return f"{self.kind}({self.slots})" if self.kind == STATIC else f"{self.kind}({self.margin:g})"


@lru_cache(maxsize=2)
def market(seed: int = 1, bursts: bool = True) -> TradingDay:
    """Return the orders of the day; generated once per process."""
    return (BurstyDay if bursts else TradingDay)(Exchange(seed=seed), shards=SHARDS, seed=seed)


@lru_cache(maxsize=1)
def waiting(seed: int = 1) -> tuple[Floats, Floats]:
    """Return the orders in the book after every second, and the share of every shard.

    The book grows in proportion to the orders that have arrived.
    """
    day = Exchange(seed=seed)
    so_far, popularity = np.cumsum(day.rates()), day.popularity().mean(axis=0)
    shares = np.bincount(np.arange(day.stocks) % SHARDS, weights=popularity, minlength=SHARDS)
    entries: Floats = WAITING + (WAITING_LAST - WAITING) * so_far / so_far[-1]
    return entries, shares.astype(np.float64)


def state(day: Day, time: float) -> Floats:
    """Return the bytes of state by shard.

    >>> round(state(Day("Switch"), 14_400.0).sum() / 1e6)
    200
    """
    entries, shares = waiting(day.seed)
    sizes: Floats = entries[min(int(time), len(entries) - 1)] * ENTRY_BYTES * shares
    return sizes


def engine(day: Day) -> Samza:
    """Return an engine that runs the operator on the paper's four machines."""
    # A barrier of Flink waits behind the rows in the network buffers.
    query = partial(Flink, in_flight=BUFFERS // ORDER_BYTES) if day.flink else Samza
    made = query(
        job=Job((Operator(NAME, SHARDS, 1 / day.speed),)),
        cluster=Cluster(NODES, CORES),
        workload=market(day.seed, day.bursts),
        plan=Plan({NAME: OperatorPlan.even(SHARDS, day.slots, NODES)}, NODES),
        seed=day.seed,
        # With fixed slots nothing is decided, so it is enough to observe them every second.
        timing=Timing(0.1, 1.0 if day.kind == STATIC else 0.1),
        costs=Costs(queue=UNBOUNDED, pair_sync=FLINK if day.flink else SAMZA),
        pause=policy(day.kind, day.margin).pause,
        room=SHARDS,
        time=day.part.begin,
    )
    made.state_of(NAME, state(day, day.part.begin))
    return made


class Strata:
    """Measures success in each stratum of the day."""

    def __init__(self, day: Day) -> None:
        self._strata = day.part.strata
        self._success = [Success(SHARDS, day.bound, day.window) for _ in self._strata]

    def look(self, seen: Interval) -> None:
        """Add one interval."""
        now, observed = seen.observation.time - 1e-9, seen.observation.operators[NAME]
        for (begin, end, _), kept in zip(self._strata, self._success, strict=True):
            if begin < now <= end:
                kept.add(
                    seen.done[NAME], seen.waited[NAME], observed.arrived > observed.completed, seen.observation.seconds
                )

    def rates(self) -> list[Floats]:
        """Return success by stratum and shard."""
        return [kept.rates() for kept in self._success]


def simulate(day: Day, *watchers: Watcher, running: Samza | None = None) -> tuple[Trace, list[Floats]]:
    """Run the day and return its trace, and success by stratum and shard.

    Args:
        day: the run.
        watchers: called with every interval.
        running: the engine to use; None for a new one.
    """
    made, strata = running or engine(day), Strata(day)
    minute = round(60 / made.timing.interval)

    def look(seen: Interval) -> None:
        if seen.observation.epoch % minute == 0:
            made.state_of(NAME, state(day, made.time))
        strata.look(seen)
        for watcher in watchers:
            watcher(seen)

    decides = policy(day.kind, day.margin, day.bound, day.window, day.rest)
    return Simulation(made, decides).run(day.part.end, look), strata.rates()


@dataclass(frozen=True, eq=False)
class DayResult:
    """The result of a run of the day.

    Attributes:
        outcome: the result that all runs have.
        strata: success by stratum and shard.
    """

    outcome: SwitchOutcome
    strata: list[Floats]

    @property
    def early(self) -> float:
        """Success in the first part of the second session; only for runs of the whole day."""
        return float(self.strata[1].mean())

    @property
    def afternoon(self) -> float:
        """Success in the second session; only for runs of the whole day."""
        share = BUSY / (DAY - NOON)
        return float(share * self.strata[1].mean() + (1 - share) * self.strata[2].mean())


def weighted_outcome(day: Day, trace: Trace, rates: list[Floats]) -> SwitchOutcome:
    """Return the result of a run, in which every stratum has the weight of the part of the day it stands for."""
    weights = np.array([weight for *_, weight in day.part.strata])
    spans = [(trace.time > begin + 1e-9) & (trace.time <= end + 1e-9) for begin, end, _ in day.part.strata]
    slots = float(sum(w * trace.slots[NAME][span].mean() for w, span in zip(weights, spans, strict=True)))
    return SwitchOutcome.of(day.name, trace, weights @ np.array(rates), slots, day.part.strata[0][0])


def run_day(day: Day) -> DayResult:
    """Run the day and return its result."""
    trace, rates = simulate(day)
    return DayResult(weighted_outcome(day, trace, rates), rates)
