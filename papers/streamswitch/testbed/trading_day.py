"""StreamSwitch's financial application: a trading day of limit orders on one operator (section 6.1).

The paper does not print how fast its slots are. ``SPEED`` is ours, chosen so that our version, Switch+(0.2), uses about
as many slots on average as the paper's Switch(0.2), 8.4, from runs of Switch+(0.2) alone. A constant cost per order and
100 bytes for an order that waits are ours too; how many wait is the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from papers.streamswitch.testbed.bursts import Restless
from papers.streamswitch.testbed.engines import Flink, Samza
from papers.streamswitch.testbed.named_policies import BUFFERS, FLINK, SAMZA, STATIC, UNBOUNDED, SwitchOutcome, policy
from rheostat.arrays import Floats
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.simulate.continuous.engine import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import Simulation
from rheostat.simulate.success import Success
from rheostat.simulate.trace import Trace
from rheostat.workloads.exchange import DAY, Exchange
from rheostat.workloads.market import TradingDay

SPEED = 216.0
"""Orders per second of a slot, unless told otherwise."""

SHARDS, NODES, CORES = 64, 4, 16
WAITING, WAITING_LAST, ENTRY_BYTES = 370e3, 2e6, 100.0
"""Orders that wait at the opening and at the end, and the size of one."""

ORDER_BYTES = 200
"""Of an order on its way, with its dozen fields. Ours."""

NAME = "auction"
NOON = DAY // 2
"""When the second session opens, in seconds of trading."""

Watcher = Callable[[Interval], None]


@dataclass(frozen=True)
class Part:
    """What is run of the day.

    Attributes:
        begin: when the run begins, in seconds of trading.
        strata: spans that count, each from, to, and the share of the day that it stands for.
    """

    begin: float
    strata: tuple[tuple[float, float, float], ...]

    @property
    def end(self) -> float:
        """When the run ends."""
        return self.strata[-1][1]


BUSY = 1200.0
"""Seconds of the second session that other choices are tried on."""

WHOLE = Part(0.0, ((0.0, NOON, 1 / 2), (NOON, NOON + BUSY, BUSY / DAY), (NOON + BUSY, DAY, 1 / 2 - BUSY / DAY)))
AFTERNOON = Part(NOON - 120.0, ((NOON, DAY, 1.0),))
EARLY = Part(NOON - 120.0, ((NOON, NOON + BUSY, 1.0),))
SAMPLE = Part(NOON - 420.0, ((NOON - 400.0, NOON, 11 / 12), (NOON, NOON + 600.0, 1 / 12)))
"""For the published policies beside each other: a calm part, and the ten minutes after an opening, of which the day has
twenty. DRS as published never works off an opening, and what waits makes a whole day of it take very long."""

SHORT = Part(NOON - 100.0, ((NOON - 80.0, NOON, 29 / 30), (NOON, NOON + 240.0, 1 / 30)))
"""For a quick run: a calm part, and the four minutes after an opening, of which the day has eight."""


@dataclass(frozen=True)
class Day:
    """One run of the trading day.

    Attributes:
        kind: of policy, by its name in the figures.
        margin: its safety margin.
        slots: how many there are in the beginning.
        part: what is run of the day.
        bound: latency bound L in seconds.
        window: seconds over which it holds: T.
        flink: True if treatments wait for barriers.
        restless: True if stocks have bursts of their own.
        rest: seconds between two treatments; None for those that the policy has.
        speed: orders per second of a slot.
        seed: everything random follows from it.
    """

    kind: str
    margin: float = 0.2
    slots: int = 8
    part: Part = WHOLE
    bound: float = 1.0
    window: float = 1.0
    flink: bool = False
    restless: bool = True
    rest: float | None = None
    speed: float = SPEED
    seed: int = 1

    @property
    def name(self) -> str:
        """As in the figures.

        >>> Day("DRS", 0.4).name, Day("Static", slots=8).name
        ('DRS(0.4)', 'Static(8)')
        """
        return f"{self.kind}({self.slots})" if self.kind == STATIC else f"{self.kind}({self.margin:g})"


@lru_cache(maxsize=2)
def market(seed: int = 1, restless: bool = True) -> TradingDay:
    """The orders; drawn once in every process."""
    return (Restless if restless else TradingDay)(Exchange(seed=seed), shards=SHARDS, seed=seed)


@lru_cache(maxsize=1)
def waiting(seed: int = 1) -> tuple[Floats, Floats]:
    """Orders that wait after every second, and every shard's share of them: in proportion to those that came."""
    day = Exchange(seed=seed)
    so_far, popularity = np.cumsum(day.rates()), day.popularity().mean(axis=0)
    shares = np.bincount(np.arange(day.stocks) % SHARDS, weights=popularity, minlength=SHARDS)
    entries: Floats = WAITING + (WAITING_LAST - WAITING) * so_far / so_far[-1]
    return entries, shares.astype(np.float64)


def state(day: Day, time: float) -> Floats:
    """Bytes of state by shard.

    >>> round(state(Day("Switch"), 14_400.0).sum() / 1e6)
    200
    """
    entries, shares = waiting(day.seed)
    sizes: Floats = entries[min(int(time), len(entries) - 1)] * ENTRY_BYTES * shares
    return sizes


def engine(day: Day) -> Samza:
    """The operator on the paper's four machines."""
    given = (
        Job((Operator(NAME, SHARDS, 1 / day.speed),)),
        Cluster(NODES, CORES),
        market(day.seed, day.restless),
        Plan({NAME: OperatorPlan.even(SHARDS, day.slots, NODES)}, NODES),
        day.seed,
        # Nothing is decided on fixed slots, so it is enough to look at them every second.
        Timing(0.1, 1.0 if day.kind == STATIC else 0.1),
        Costs(queue=UNBOUNDED, pair_sync=FLINK if day.flink else SAMZA),
        policy(day.kind, day.margin).pause,
    )
    made = (
        Flink(*given, room=SHARDS, time=day.part.begin, in_flight=BUFFERS // ORDER_BYTES)
        if day.flink
        else Samza(*given, room=SHARDS, time=day.part.begin)
    )
    made.state_of(NAME, state(day, day.part.begin))
    return made


class Strata:
    """Success by the spans of the day that count."""

    def __init__(self, day: Day) -> None:
        self._strata = day.part.strata
        self._success = [Success(SHARDS, day.bound, day.window) for _ in self._strata]

    def look(self, seen: Interval) -> None:
        """One interval more."""
        now, observed = seen.observation.time - 1e-9, seen.observation.operators[NAME]
        for (begin, end, _), kept in zip(self._strata, self._success, strict=True):
            if begin < now <= end:
                kept.add(
                    seen.done[NAME], seen.waited[NAME], observed.arrived > observed.completed, seen.observation.seconds
                )

    def rates(self) -> list[Floats]:
        """By stratum and shard."""
        return [kept.rates() for kept in self._success]


def simulated(day: Day, *watchers: Watcher, running: Samza | None = None) -> tuple[Trace, list[Floats]]:
    """A run, and the success rates by stratum and shard."""
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
class Traded:
    """What is kept of a run: as of any run, and the success rates by stratum and shard."""

    outcome: SwitchOutcome
    strata: list[Floats]

    @property
    def early(self) -> float:
        """The success rate of the first part of the second session, of a run of the whole day."""
        return float(self.strata[1].mean())

    @property
    def afternoon(self) -> float:
        """The success rate of the second session, of a run of the whole day."""
        share = BUSY / (DAY - NOON)
        return float(share * self.strata[1].mean() + (1 - share) * self.strata[2].mean())


def weighed(day: Day, trace: Trace, rates: list[Floats]) -> SwitchOutcome:
    """A run as a whole, every stratum with its weight."""
    weights = np.array([weight for *_, weight in day.part.strata])
    spans = [(trace.time > begin + 1e-9) & (trace.time <= end + 1e-9) for begin, end, _ in day.part.strata]
    slots = float(sum(w * trace.slots[NAME][span].mean() for w, span in zip(weights, spans, strict=True)))
    return SwitchOutcome.of(day.name, trace, weights @ np.array(rates), slots, day.part.strata[0][0])


def traded(day: Day) -> Traded:
    """A run, and what is kept of it."""
    trace, rates = simulated(day)
    return Traded(weighed(day, trace, rates), rates)
