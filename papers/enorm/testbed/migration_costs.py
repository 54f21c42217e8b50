"""The cost of moving a shard to another node, by three strategies (Enorm sections 4.5 and 5).

*Instant*: the new node starts without state, the old one keeps its partials, and a consolidate merges both later.
*Smooth*: the old node finishes the open windows, the new one takes those that begin later. *Disruptive*: rows wait
while the state is sent. The costs per key are inputs; they are measured elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import exp

from rheostat.errors import TopologyError


class Strategy(StrEnum):
    """How a shard is moved to another node.

    >>> costs = KeyCosts(serialise=10e-6, deserialise=10e-6)
    >>> for keys in (1_000, 10_000_000):  # sending the state takes 0.02 or 200 seconds, windows end in a minute
    ...     choose_strategy([Strategy.SMOOTH, Strategy.DISRUPTIVE], ShardState(keys, remaining=60.0), costs)
    <Strategy.DISRUPTIVE: 'disruptive'>
    <Strategy.SMOOTH: 'smooth'>
    """

    INSTANT = "instant"
    SMOOTH = "smooth"
    DISRUPTIVE = "disruptive"


@dataclass(frozen=True)
class KeyCosts:
    """The costs of moving the state of one key.

    Attributes:
        serialise: seconds of CPU on the old node.
        deserialise: seconds of CPU on the new node, or on the node that merges partials.
        network: seconds of transfer.
        switch: seconds to change the routing of rows; a fixed cost per migration, not per key.

    >>> costs = KeyCosts(serialise=10e-6, deserialise=10e-6, network=5e-6, switch=0.5)
    >>> migration_cost(Strategy.DISRUPTIVE, ShardState(keys=100_000), costs).pause  # 25 us a key and the switch
    3.0
    """

    serialise: float
    deserialise: float
    network: float = 0.0
    switch: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 <= v < float("inf") for v in (self.serialise, self.deserialise, self.network, self.switch)):
            raise TopologyError(f"{self}: every cost must be a number of seconds, 0 or more")


@dataclass(frozen=True)
class ShardState:
    """A shard that is to be moved.

    Attributes:
        keys: the number of keys with state.
        copies: the number of states per key: 1 in a split component, one per partial window in a combined one.
        rate: rows per second.
        execute: seconds of CPU per row.
        remaining: seconds until the last open window ends.
        overlapping: True if windows overlap, so that a row can belong to old and new windows.

    >>> shard = ShardState(keys=50_000, rate=100.0, execute=0.001, remaining=30.0, overlapping=True)
    >>> migration_cost(Strategy.SMOOTH, shard, KeyCosts(10e-6, 10e-6))  # rows of 30 seconds go to both places
    MigrationCost(pause=0.0, completion=30.0, cpu=3.0, duplicated=3000.0)
    """

    keys: float
    copies: float = 1.0
    rate: float = 0.0
    execute: float = 0.0
    remaining: float = 0.0
    overlapping: bool = False


@dataclass(frozen=True)
class MigrationCost:
    """The cost of a migration.

    Attributes:
        pause: seconds during which no row of the shard is processed; the paper calls it latency.
        completion: seconds until the new node does all of the work.
        cpu: seconds of CPU, on all nodes together.
        duplicated: rows that are processed on both nodes.
    """

    pause: float
    completion: float
    cpu: float
    duplicated: float = 0.0


def migration_cost(strategy: Strategy, shard: ShardState, costs: KeyCosts) -> MigrationCost:
    """The cost of one migration.

    Instant migration sends one additional partial per key, later and in the background, so it pauses only for the
    switch; it costs as much CPU as sending the state (section 7.4). Smooth migration has no pause and takes until the
    last open window ends; if windows overlap, rows are processed twice until then.

    >>> costs, shard = KeyCosts(10e-6, 10e-6, 2e-6, switch=0.01), ShardState(50_000, remaining=300.0)
    >>> for strategy in Strategy:
    ...     c = migration_cost(strategy, shard, costs)
    ...     print(f"{strategy}: paused {c.pause:.2f} s, complete after {c.completion:.2f} s, {c.cpu:.2f} s of CPU")
    instant: paused 0.01 s, complete after 0.01 s, 1.00 s of CPU
    smooth: paused 0.00 s, complete after 300.01 s, 0.00 s of CPU
    disruptive: paused 1.11 s, complete after 1.11 s, 1.00 s of CPU
    """
    per_key = costs.serialise + costs.deserialise
    if strategy is Strategy.INSTANT:
        return MigrationCost(costs.switch, costs.switch, shard.keys * per_key)
    if strategy is Strategy.SMOOTH:
        twice = shard.rate * shard.remaining if shard.overlapping else 0.0
        return MigrationCost(0.0, costs.switch + shard.remaining, twice * shard.execute, twice)
    sent = shard.keys * shard.copies
    pause = costs.switch + sent * (per_key + costs.network)
    return MigrationCost(pause, pause, sent * per_key)


def choose_strategy(
    allowed: Iterable[Strategy], shard: ShardState, costs: KeyCosts, pause_bound: float = float("inf")
) -> Strategy:
    """The strategy that completes first among those with a pause within the bound (Enorm section 7.3).

    If all pauses exceed the bound, the strategy with the shortest pause.

    Args:
        allowed: the strategies to choose from.
        shard: the shard that is to be moved.
        costs: the costs per key.
        pause_bound: the longest acceptable pause, in seconds.

    >>> costs, shard = KeyCosts(10e-6, 10e-6, switch=0.01), ShardState(50_000, remaining=300.0)
    >>> combine = (Strategy.SMOOTH, Strategy.DISRUPTIVE)
    >>> choose_strategy(combine, shard, costs).value, choose_strategy(combine, shard, costs, pause_bound=0.5).value
    ('disruptive', 'smooth')
    """
    priced = [(s, migration_cost(s, shard, costs)) for s in allowed]
    if not priced:
        raise TopologyError("no strategy is allowed: pass at least Strategy.DISRUPTIVE, which every component supports")
    within = [p for p in priced if p[1].pause <= pause_bound]
    if within:
        return min(within, key=lambda p: (p[1].completion, p[1].cpu))[0]
    return min(priced, key=lambda p: p[1].pause)[0]


def expanded_keys(keys: float, rows: float, moved_at: float) -> float:
    """The expected number of keys with a partial on both nodes after an instant migration during a pane.

    The paper counts every key of the shard. Here only keys count that have rows both before and after the move, if
    rows are spread over the keys uniformly at random.

    Args:
        keys: the number of keys of the shard.
        rows: the number of rows of the shard in the pane.
        moved_at: the share of the pane that had passed at the move, from 0 to 1.

    >>> [round(expanded_keys(1000, rows, moved_at=0.5)) for rows in (100, 1000, 10_000)]
    [2, 155, 987]
    >>> expanded_keys(1000, 10_000, moved_at=0.0)
    0.0
    """
    if not keys:
        return 0.0
    before, after = (1 - exp(-rows * share / keys) for share in (moved_at, 1 - moved_at))
    return keys * before * after
