"""How long tuples take while hot spots wander over the nodes and Flux moves shards after them (Enorm section 7.5).

Every node has one core and a queue, in steps of 10 ms: tuples of a step are one batch, which keeps the step of its
arrival until the core has done all of it. Moving state takes a share of the core from the tuples at both ends; sending
partials takes little more than what they leave. Latency is what tuples waited, for the core or for a shard on its way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from papers.enorm.testbed.cost_model import MINUTE, EnormNodes, touched
from papers.enorm.testbed.node_queues import DRAINING, LIMIT, STEP, WIRE, Latencies, Queues
from rheostat.arrays import Floats
from rheostat.errors import RheostatError
from rheostat.planning.enorm.flux import Flux, ShardMove
from rheostat.planning.enorm.migration import Strategy, expanded_keys

KEYS = 50_000
"""Keys of a shard in section 7.5."""

_PAUSE_SECONDS = 60


@dataclass(frozen=True)
class Skew:
    """The experiment's input, with the paper's numbers.

    Attributes:
        load: of every node at first.
        calm: seconds before anything changes.
        rising: seconds in which the shards of a chosen node become busier; then they stay so for ``high`` seconds, the
            next node is chosen and they calm down again while its shards rise.
        extra: by which share they become busier.
        nodes: how many nodes are chosen one after the other. Ours.
        shards: on each node at first. Ours.
        keys: of each shard.
    """

    load: float = 0.7
    calm: float = 300.0
    rising: float = 180.0
    high: float = 120.0
    extra: float = 0.5
    nodes: int = 4
    shards: int = 10
    keys: float = KEYS

    @property
    def seconds(self) -> int:
        """How long the experiment takes."""
        return int(self.calm + self.nodes * (self.rising + self.high))


@dataclass(frozen=True)
class Configuration:
    """How it is adapted: by which strategy, and after how many seconds each time; None for never."""

    name: str
    strategy: Strategy
    period: float | None


CONFIGURATIONS = (
    Configuration("disruptive, every 5 minutes", Strategy.DISRUPTIVE, 300.0),
    Configuration("disruptive, every minute", Strategy.DISRUPTIVE, 60.0),
    Configuration("smooth, every minute", Strategy.SMOOTH, 60.0),
    Configuration("instant, continuously", Strategy.INSTANT, 1.0),
)
"""The paper's three, and smooth migration beside them. Continuously is every second: ours."""


def simulate_skew(configuration: Configuration, skew: Skew, engine: EnormNodes, seed: int) -> Latencies:
    """One run of the experiment.

    >>> short = Skew(calm=10.0, rising=10.0, high=10.0, nodes=1)
    >>> found = simulate_skew(CONFIGURATIONS[-1], short, EnormNodes(), seed=1)
    >>> len(found.mean), found.overall < 0.1
    (30, True)
    """
    rng = np.random.default_rng(seed)
    shards = skew.shards * engine.nodes
    queues = Queues.idle(np.arange(shards) % engine.nodes, engine.nodes, skew.seconds)
    flux = Flux(configuration.period or skew.seconds + 1.0)
    # In the middle of a minute, so that smooth migration has to wait for a new partial window.
    last_round = skew.calm - flux.period + MINUTE / 2
    measured, moved_keys = np.zeros(shards), np.zeros(engine.nodes)
    later: list[ShardMove] = []
    moves = 0
    hot = _HotSpots(skew, rng.permutation(engine.nodes))
    base = skew.load / engine.per_tuple / skew.shards
    for second in range(skew.seconds):
        rates = base * hot.factors(second, queues.routing)
        measured += rates
        if second % MINUTE == 0 and second:
            _send_partials(queues, skew, engine, rates, moved_keys)
            moved_keys[:] = 0
            for move in later:
                queues.routing[move.shard] = move.target
            later = []
        if configuration.period and second >= skew.calm and flux.due(second, last_round):
            for move in flux.moves(queues.routing.tolist(), measured, engine.nodes):
                moves += 1
                if configuration.strategy is Strategy.SMOOTH:
                    later.append(move)
                else:
                    _start(queues, move, configuration.strategy, skew, engine)
                if configuration.strategy is Strategy.INSTANT:
                    over = second % MINUTE / MINUTE
                    moved_keys[move.source] += expanded_keys(skew.keys, rates[move.shard] * MINUTE, over)
            last_round, measured[:] = float(second), 0.0
        arrivals = rng.poisson(rates * STEP, size=(round(1 / STEP), shards)).astype(np.float64)
        if not queues.advance(arrivals, engine.per_tuple, skew.calm):
            raise RheostatError(f"{configuration.name}: queues grew beyond {LIMIT * STEP:.0f} s, nothing keeps up")
    return queues.latencies(moves)


class _HotSpots:
    """Which shards are busier than at first, and by how much."""

    def __init__(self, skew: Skew, order: npt.NDArray[np.int64]) -> None:
        self._skew, self._order = skew, order
        self._chosen: list[npt.NDArray[np.bool_]] = []

    def factors(self, second: float, routing: npt.NDArray[np.int64]) -> Floats:
        skew, since = self._skew, second - self._skew.calm
        turn = int(since // (skew.rising + skew.high))
        if since >= 0 and turn == len(self._chosen):
            self._chosen.append(routing == self._order[turn % len(self._order)])
        factors = np.ones(len(routing))
        for number, mine in enumerate(self._chosen):
            age = since - number * (skew.rising + skew.high)
            up = min(1.0, age / skew.rising)
            down = min(1.0, max(0.0, age - skew.rising - skew.high) / skew.rising)
            factors += skew.extra * (up - down) * mine
        return factors


def _send_partials(queues: Queues, skew: Skew, engine: EnormNodes, rates: Floats, moved: Floats) -> None:
    """A minute ends: all partials are serialised where they are, and deserialised by consolidates on all nodes."""
    for node in range(engine.nodes):
        keys = sum(touched(skew.keys, rate * MINUTE) for rate in rates[queues.routing == node]) + moved[node]
        queues.partials[node] += keys * engine.per_key / 2
        queues.partials[:] += keys * engine.per_key / 2 / engine.nodes


def _start(queues: Queues, move: ShardMove, strategy: Strategy, skew: Skew, engine: EnormNodes) -> None:
    """Tuples of the shard wait from now on, for the switch alone or also for its state."""
    instant = strategy is Strategy.INSTANT
    state = 0.0 if instant else skew.keys
    half = state * engine.per_key / 2
    phase = WIRE if instant else DRAINING
    queues.leave(move.shard, move.target, phase, (half, engine.switch + state * engine.wire, half))


def simulate_pause(strategy: Strategy, keys: float, engine: EnormNodes, seed: int, load: float = 0.7) -> float:
    """Seconds for which a shard's tuples wait when one random shard moves between two loaded nodes (section 7.2).

    >>> [round(simulate_pause(s, 50_000, EnormNodes(), seed=1), 2) for s in (Strategy.INSTANT, Strategy.DISRUPTIVE)]
    [0.01, 2.03]
    """
    rng = np.random.default_rng(seed)
    skew = Skew(load=load, keys=keys)
    shards = skew.shards * engine.nodes
    queues = Queues.idle(np.arange(shards) % engine.nodes, engine.nodes, _PAUSE_SECONDS)
    rates = np.full(shards, load / engine.per_tuple / skew.shards)
    shard = int(rng.integers(shards))
    target = int((queues.routing[shard] + rng.integers(1, engine.nodes)) % engine.nodes)
    for second in range(_PAUSE_SECONDS):
        if second == 1:
            _start(queues, ShardMove(shard, int(queues.routing[shard]), target), strategy, skew, engine)
        arrivals = rng.poisson(rates * STEP, size=(round(1 / STEP), shards)).astype(np.float64)
        if not queues.advance(arrivals, engine.per_tuple, 0.0):
            break
        if pause := queues.pause(shard):
            return pause
    raise RheostatError(f"moving {keys:.0f} keys took longer than {_PAUSE_SECONDS} s: the nodes are too busy for it")
