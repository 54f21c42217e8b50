"""Queries of NEXMark at a rate that is a sine, on Flink: the setting of StreamSwitch's sections 6.3 to 6.5.

Rates and speeds are a tenth of the paper's. The paper does not say by what the rows are partitioned. The sources that
were published with the system give every row its running number as key and switch NEXMark's hot keys off, so rows
spread evenly over the shards; so they do here. They arrive at random, and every row of a query costs the same: what a
query computes is not simulated, so without hot keys queries differ by their rates and speeds alone. The generator's own
hot auctions are there to be tried: then every tenth row is kept of the full stream, so that they follow each other as
fast as they would, with as much work for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from papers.streamswitch.testbed.engines import Flink
from papers.streamswitch.testbed.named_policies import BUFFERS, FLINK, STATIC, SWITCH, UNBOUNDED, SwitchOutcome, policy
from rheostat.arrays import Floats
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.simulate.continuous.engine import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import LatencyBound, Simulation
from rheostat.workloads.arrivals import Workload
from rheostat.workloads.draws import Shards
from rheostat.workloads.nexmark import BID_BYTES, Nexmark, Query
from rheostat.workloads.sinusoid import Sinusoid

THINNED = 0.1
"""Share of the paper's rows that is simulated."""

BASE = 30_000.0
SHARDS, NODES, CORES = 64, 4, 16
MARGIN = 0.2
STATE = 100_000.0
"""Bytes of a shard's state. Ours; a tenth of it would change little, for it goes over the network in a millisecond."""

NAME = "query"
KINDS = ("scale in", "balance", "scale out")

IN_FLIGHT = round(THINNED * BUFFERS / BID_BYTES)
"""Rows that can be on their way to a slot."""

COST = f"cost of a treatment ({FLINK:g} s, for the 0.5 s of the calmest waves)"
"""What was chosen after seeing results, for every claim about waves."""

SHORT_STOPS = (
    f"no more than {IN_FLIGHT} rows are on their way to a slot here, so a barrier waits for a third of a second at "
    "most and treatments do not become as long as the paper's"
)
"""Why the simulator cannot show what follows from long treatments."""


@dataclass(frozen=True, eq=False)
class Thinned(Nexmark):
    """A share of the rows, ``scale``, of a stream that is drawn at its full rate.

    >>> full, tenth = Nexmark("q5"), Thinned("q5", scale=0.1)
    >>> [len(w.between(0.0, 1.0)) // 1000 for w in (full, tenth)]
    [29, 2]
    >>> hot = [int(np.bincount(w.between(10.0, 10.02).shards, minlength=64).argmax()) for w in (full, tenth)]
    >>> hot[0] == hot[1]
    True
    """

    def _place(self, rng: np.random.Generator, index: int, rows: Floats) -> Shards:
        return super()._place(rng, index, rows / self.scale)


@dataclass(frozen=True)
class Wave:
    """One run of a query.

    Attributes:
        query: decides which keys are hot.
        speed: rows per second of a slot.
        amplitude: of the rate around 30 thousand rows a second.
        period: of the rate, in seconds.
        seconds: how long it lasts after the warm-up.
        warm_up: seconds that do not count.
        alert: seconds of the latency threshold l.
        interval: seconds between two examinations: delta.
        delay: seconds added to every treatment.
        factor: how fast slots of the other type are.
        share: of new slots that are of the other type.
        hot: True if rows are keyed by auction, or by seller, and some keys are hot.
        kind: of policy, by its name in the figures.
        slots: how many there are in the beginning; 0 for as many as the mean rate needs.
        seed: everything random follows from it.
    """

    query: Query
    speed: float
    amplitude: float
    period: float
    seconds: float
    warm_up: float
    alert: float = 0.1
    interval: float = 0.1
    delay: float = 0.0
    factor: float = 1.0
    share: float = 0.0
    hot: bool = False
    kind: str = SWITCH
    slots: int = 0
    seed: int = 1

    @property
    def name(self) -> str:
        """Of the policy."""
        return f"{STATIC}({self.slots})" if self.kind == STATIC else f"{self.kind}({MARGIN:g})"

    def load(self) -> Workload:
        """The rows, a tenth of the paper's."""
        shape = BASE, self.amplitude, self.period, SHARDS
        if self.hot:
            return Thinned(self.query, *shape, scale=THINNED, seed=self.seed)
        return Sinusoid(*shape, scale=THINNED, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Ridden:
    """What is kept of a run.

    Attributes:
        outcome: as of any run.
        mixed: share of the slots' time that slots of the other type had.
    """

    outcome: SwitchOutcome
    mixed: float


class Types:
    """Which slots are of the other type: drawn anew whenever one is begun."""

    def __init__(self, engine: Flink, wave: Wave) -> None:
        self._engine, self._wave = engine, wave
        self._rng = np.random.default_rng([wave.seed, 12])
        self._other = self._rng.random(engine.room) < wave.share
        self._used = self._now()
        self._seconds = np.zeros(2)
        self._tell()

    def look(self, seen: Interval) -> None:
        """Slots that are gone leave their number to others, of a type of their own."""
        if self._wave.share == 0.0:
            return
        used = self._now()
        gone = self._used & ~used
        if gone.any():
            self._other[gone] = self._rng.random(int(gone.sum())) < self._wave.share
            self._tell()
        self._used = used
        if seen.observation.time > self._wave.warm_up:
            self._seconds += np.count_nonzero(used & self._other), np.count_nonzero(used)

    @property
    def mixed(self) -> float:
        """Share of the other type in the slots used, over time."""
        return float(self._seconds[0] / max(self._seconds[1], 1.0))

    def _tell(self) -> None:
        self._engine.speeds_of(NAME, np.where(self._other, self._wave.factor, 1.0))

    def _now(self) -> npt.NDArray[np.bool_]:
        used = np.zeros(self._engine.room, dtype=bool)
        for plan in (self._engine.observed, self._engine.plan):
            used[plan.operators[NAME].used] = True
        return used


def ride(wave: Wave) -> Ridden:
    """One run."""
    job = Job((Operator(NAME, SHARDS, 1 / (THINNED * wave.speed), state_bytes=STATE),))
    speed = wave.speed * (1 + wave.share * (wave.factor - 1))
    slots = wave.slots or math.ceil(BASE / ((1 - MARGIN) * speed))
    decides = policy(wave.kind, MARGIN, alert=wave.alert)
    engine = Flink(
        job,
        Cluster(NODES, CORES),
        wave.load(),
        Plan({NAME: OperatorPlan.even(SHARDS, slots, NODES)}, NODES),
        wave.seed,
        Timing(min(0.1, wave.interval), wave.interval),
        Costs(queue=UNBOUNDED, pair_sync=FLINK + wave.delay),
        decides.pause,
        room=SHARDS,
        in_flight=IN_FLIGHT,
    )
    types = Types(engine, wave)
    simulation = Simulation(engine, decides, bound=LatencyBound(), warm_up=wave.warm_up)
    trace = simulation.run(wave.warm_up + wave.seconds, types.look)
    used = trace.mean_slots(warm_up=wave.warm_up)
    return Ridden(SwitchOutcome.of(wave.name, trace, trace.success[NAME], used, wave.warm_up), types.mixed)


def mean(found: Sequence[Ridden], value: Callable[[Ridden], float]) -> float:
    """Over runs that differ in their seed alone."""
    return float(np.mean([value(each) for each in found]))


def rate(found: Ridden) -> float:
    """Its success rate."""
    return found.outcome.rate


def slots(found: Ridden) -> float:
    """Its slots on average."""
    return found.outcome.slots


def events(found: Ridden) -> float:
    """Its treatments."""
    return float(found.outcome.events)


def treated(kind: str) -> Callable[[Ridden], float]:
    """Its treatments of one kind."""
    return lambda found: float(found.outcome.treatments[kind])
