"""Latency while hot spots move from node to node and Flux moves shards (Enorm sections 7.2 and 7.5).

Every node has one core and one queue (``node_queues``), in steps of 10 ms. Moving state takes a share of the core at
both nodes; sending partials takes a small share besides idle time. The latency of a tuple is the time for which it
waits, for the core or for its shard that is being moved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from papers.enorm.testbed.cost_model import MINUTE, EnormNodes, touched
from papers.enorm.testbed.flux import Flux, ShardMove
from papers.enorm.testbed.migration_costs import Strategy, expanded_keys
from papers.enorm.testbed.node_queues import DRAINING, LIMIT, STEP, WIRE, Latencies, Queues
from rheostat.arrays import Floats
from rheostat.errors import RheostatError

KEYS = 50_000
"""Keys of a shard in section 7.5."""

_PAUSE_SECONDS = 60


@dataclass(frozen=True)
class Skew:
    """The input of the experiment, with the paper's numbers.

    After a calm time, nodes become hot one after the other: the rates of a node's shards rise, stay high, and fall
    again while the shards of the next node rise.

    Attributes:
        load: load of every node at the beginning, as a share of its core.
        calm: seconds before the first node becomes hot.
        rising: seconds in which rates rise, and in which they fall.
        high: seconds in which rates stay high.
        extra: share by which rates rise.
        nodes: number of nodes that become hot. Ours.
        shards: shards on each node at the beginning. Ours.
        keys: keys of each shard.
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
        """Length of the experiment."""
        return int(self.calm + self.nodes * (self.rising + self.high))


@dataclass(frozen=True)
class Configuration:
    """How shards are moved.

    Attributes:
        name: name in the figure.
        strategy: how a shard moves.
        period: seconds between two rounds of Flux; None to move no shard.
    """

    name: str
    strategy: Strategy
    period: float | None


CONFIGURATIONS = (
    Configuration("disruptive, every 5 minutes", Strategy.DISRUPTIVE, 300.0),
    Configuration("disruptive, every minute", Strategy.DISRUPTIVE, 60.0),
    Configuration("smooth, every minute", Strategy.SMOOTH, 60.0),
    Configuration("instant, continuously", Strategy.INSTANT, 1.0),
)
"""The paper's three, and smooth migration. Ours: continuously means every second."""


def simulate_skew(configuration: Configuration, skew: Skew, engine: EnormNodes, seed: int) -> Latencies:
    """Run the experiment and return the latencies.

    >>> short = Skew(calm=10.0, rising=10.0, high=10.0, nodes=1)
    >>> found = simulate_skew(CONFIGURATIONS[-1], short, EnormNodes(), seed=1)
    >>> len(found.mean), found.overall < 0.1
    (30, True)
    """
    rng = np.random.default_rng(seed)
    shards = skew.shards * engine.nodes
    queues = Queues.idle(np.arange(shards) % engine.nodes, engine.nodes, skew.seconds)
    flux = Flux(configuration.period or skew.seconds + 1.0)
    # Rounds are in the middle of a minute, so smooth migration has to wait for the next partial window.
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
            raise RheostatError(
                f"{configuration.name}: a queue is longer than {LIMIT * STEP:.0f} s, lower the load of the skew"
            )
    return queues.latencies(moves)


class _HotSpots:
    """The shards that have become hot, and how hot they are."""

    def __init__(self, skew: Skew, order: npt.NDArray[np.int64]) -> None:
        self._skew, self._order = skew, order
        self._chosen: list[npt.NDArray[np.bool_]] = []

    def factors(self, second: float, routing: npt.NDArray[np.int64]) -> Floats:
        """Return the rate of every shard relative to its rate at the beginning."""
        skew, since = self._skew, second - self._skew.calm
        turn = int(since // (skew.rising + skew.high))
        if since >= 0 and turn == len(self._chosen):
            self._chosen.append(routing == self._order[turn % len(self._order)])
        factors = np.ones(len(routing))
        for number, hot in enumerate(self._chosen):
            age = since - number * (skew.rising + skew.high)
            up = min(1.0, age / skew.rising)
            down = min(1.0, max(0.0, age - skew.rising - skew.high) / skew.rising)
            factors += skew.extra * (up - down) * hot
        return factors


def _send_partials(queues: Queues, skew: Skew, engine: EnormNodes, rates: Floats, moved: Floats) -> None:
    """Add the work at the end of a minute: nodes serialise their partials, and all nodes deserialise them."""
    for node in range(engine.nodes):
        keys = sum(touched(skew.keys, rate * MINUTE) for rate in rates[queues.routing == node]) + moved[node]
        queues.partials[node] += keys * engine.per_key / 2
        queues.partials[:] += keys * engine.per_key / 2 / engine.nodes


def _start(queues: Queues, move: ShardMove, strategy: Strategy, skew: Skew, engine: EnormNodes) -> None:
    """Begin to move a shard: its tuples wait for the switch and, unless migration is instant, for its state."""
    instant = strategy is Strategy.INSTANT
    state = 0.0 if instant else skew.keys
    half = state * engine.per_key / 2
    phase = WIRE if instant else DRAINING
    queues.leave(move.shard, move.target, phase, (half, engine.switch + state * engine.wire, half))


def simulate_pause(strategy: Strategy, keys: float, engine: EnormNodes, seed: int, load: float = 0.7) -> float:
    """Return the seconds for which a random shard pauses while it moves between two loaded nodes (section 7.2).

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
    raise RheostatError(f"moving {keys:.0f} keys took longer than {_PAUSE_SECONDS} s at load={load:g}: lower the load")
