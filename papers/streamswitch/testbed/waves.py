"""NEXMark queries on Flink whose rate is a sine wave: the setting of StreamSwitch's sections 6.3 to 6.5.

Rates and speeds are a tenth of the paper's. The paper does not say how rows are partitioned. The sources that were
published with the system use a running number as key and switch NEXMark's hot keys off, so rows spread evenly over the
shards, as they do here. Rows arrive at random (Poisson) and all cost the same: what a query computes is not simulated,
so without hot keys queries differ only by rate and speed.

With ``hot=True``, rows are keyed by NEXMark's hot auctions or sellers. The stream is then generated at its full rate
and every tenth row is kept, so that one hot key follows another as fast as in the full stream.
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
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import LatencyBound, Simulation
from rheostat.workloads.arrivals import Workload
from rheostat.workloads.draws import Shards
from rheostat.workloads.nexmark import Nexmark, Query
from rheostat.workloads.nexmark_events import BID_BYTES
from rheostat.workloads.sinusoid import Sinusoid

THINNED = 0.1
"""Share of the paper's rows that is simulated."""

BASE = 30_000.0
SHARDS, NODES, CORES = 64, 4, 16
MARGIN = 0.2
STATE = 100_000.0
"""Bytes of a shard's state. Ours; a tenth would change little, since the transfer takes only a millisecond."""

NAME = "query"
KINDS = ("scale in", "balance", "scale out")

IN_FLIGHT = round(THINNED * BUFFERS / BID_BYTES)
"""Highest number of rows in flight to a slot."""

COST = f"{FLINK:g} s for a treatment, set for the paper's 0.5 s under the calmest waves"
"""Our choice after seeing results, in every claim about waves."""

SHORT_STOPS = (
    f"at most {IN_FLIGHT} rows are in flight to a slot here, so a barrier waits for at most a third of a second and "
    "treatments do not become as long as the paper's"
)
"""Why the simulator cannot show the effects of long treatments."""


@dataclass(frozen=True, eq=False)
class Thinned(Nexmark):
    """A stream that is generated at its full rate, of whose rows only the share ``scale`` is kept.

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
        query: the query; it decides which keys are hot if ``hot`` is True.
        speed: rows per second that a slot processes, before scaling down.
        amplitude: amplitude of the rate around 30 thousand rows/s, before scaling down.
        period: period of the rate, in seconds.
        seconds: length of the run after the warm-up.
        warm_up: seconds at the beginning that do not count.
        alert: latency threshold l in seconds.
        interval: seconds delta between two examinations.
        delay: seconds added to every treatment.
        factor: speed of slots of the other type, relative to ``speed``.
        share: probability that a new slot is of the other type.
        hot: True if rows are keyed by auction or seller, and some keys are hot.
        kind: policy, by its name in the figures.
        slots: number of slots at the beginning; 0 for as many as the mean rate needs.
        seed: seed of all random numbers.
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
        """Name of the run in the figures."""
        return f"{STATIC}({self.slots})" if self.kind == STATIC else f"{self.kind}({MARGIN:g})"

    def load(self) -> Workload:
        """Return the rows that arrive, a tenth of the paper's."""
        shape = BASE, self.amplitude, self.period, SHARDS
        if self.hot:
            return Thinned(self.query, *shape, scale=THINNED, seed=self.seed)
        return Sinusoid(*shape, scale=THINNED, seed=self.seed)


@dataclass(frozen=True, eq=False)
class WaveResult:
    """The result of a run.

    Attributes:
        outcome: the result that all runs have.
        mixed: share of slots of the other type among the slots in use, over time.
    """

    outcome: SwitchOutcome
    mixed: float


class Types:
    """The types of the slots: every new slot gets a random type."""

    def __init__(self, engine: Flink, wave: Wave) -> None:
        self._engine, self._wave = engine, wave
        self._rng = np.random.default_rng([wave.seed, 12])
        self._other = self._rng.random(engine.room) < wave.share
        self._used = self._in_use()
        self._seconds = np.zeros(2)
        self._set_speeds()

    def look(self, seen: Interval) -> None:
        """Add one interval: slots that were given up get a new random type, for the next slot with their number."""
        if self._wave.share == 0.0:
            return
        used = self._in_use()
        gone = self._used & ~used
        if gone.any():
            self._other[gone] = self._rng.random(int(gone.sum())) < self._wave.share
            self._set_speeds()
        self._used = used
        if seen.observation.time > self._wave.warm_up:
            self._seconds += np.count_nonzero(used & self._other), np.count_nonzero(used)

    @property
    def mixed(self) -> float:
        """Share of slots of the other type among the slots in use, over time."""
        return float(self._seconds[0] / max(self._seconds[1], 1.0))

    def _set_speeds(self) -> None:
        self._engine.speeds_of(NAME, np.where(self._other, self._wave.factor, 1.0))

    def _in_use(self) -> npt.NDArray[np.bool_]:
        used = np.zeros(self._engine.room, dtype=bool)
        for plan in (self._engine.observed, self._engine.plan):
            used[plan.operators[NAME].used] = True
        return used


def run_wave(wave: Wave) -> WaveResult:
    """Run the query and return the result."""
    job = Job((Operator(NAME, SHARDS, 1 / (THINNED * wave.speed), state_bytes=STATE),))
    speed = wave.speed * (1 + wave.share * (wave.factor - 1))
    slots = wave.slots or math.ceil(BASE / ((1 - MARGIN) * speed))
    decides = policy(wave.kind, MARGIN, alert=wave.alert)
    engine = Flink(
        job=job,
        cluster=Cluster(NODES, CORES),
        workload=wave.load(),
        plan=Plan({NAME: OperatorPlan.even(SHARDS, slots, NODES)}, NODES),
        seed=wave.seed,
        timing=Timing(min(0.1, wave.interval), wave.interval),
        costs=Costs(queue=UNBOUNDED, pair_sync=FLINK + wave.delay),
        pause=decides.pause,
        room=SHARDS,
        in_flight=IN_FLIGHT,
    )
    types = Types(engine, wave)
    simulation = Simulation(engine, decides, bound=LatencyBound(), warm_up=wave.warm_up)
    trace = simulation.run(wave.warm_up + wave.seconds, types.look)
    used = trace.mean_slots(warm_up=wave.warm_up)
    return WaveResult(SwitchOutcome.of(wave.name, trace, trace.success[NAME], used, wave.warm_up), types.mixed)


def mean(found: Sequence[WaveResult], value: Callable[[WaveResult], float]) -> float:
    """Return the mean of a value over runs that differ only in their seed."""
    return float(np.mean([value(each) for each in found]))


def rate(found: WaveResult) -> float:
    """Return the success of a run."""
    return found.outcome.rate


def slots(found: WaveResult) -> float:
    """Return the mean number of slots of a run."""
    return found.outcome.slots


def events(found: WaveResult) -> float:
    """Return the number of treatments of a run."""
    return float(found.outcome.events)


def treatments_of(kind: str) -> Callable[[WaveResult], float]:
    """Return a function that gives the number of treatments of one kind."""
    return lambda found: float(found.outcome.treatments[kind])
