"""What moving a shard from one place to another costs, by three strategies (Enorm sections 4.5 and 5).

*Instant*: the new place begins with nothing, the old one keeps its partials, and a consolidate merges both later.
*Smooth*: the old place finishes the windows that are open, the new one takes those that begin later. *Disruptive*: rows
wait while the state is sent. Seconds, rows and keys go in and come out; what a key costs is measured elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import exp

from rheostat.errors import TopologyError


class Strategy(StrEnum):
    """How a shard's work goes to another place.

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
    """What one key of state costs on its way.

    Attributes:
        serialise: seconds of CPU at the old place.
        deserialise: seconds of CPU at the new place, or where partials are merged.
        network: seconds on the wire.
        switch: seconds until rows take another way, however large the state is.

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
            raise TopologyError(f"{self}: every cost is in seconds, 0 or more")


@dataclass(frozen=True)
class ShardState:
    """What is known of a shard that is to be moved.

    Attributes:
        keys: how many keys have state.
        copies: how many states each key has: 1 in a split component, one per partial window in a combined one.
        rate: rows per second.
        execute: seconds of CPU per row.
        remaining: seconds until the last window that is open now ends.
        overlapping: True if windows begin before others end, so that rows belong to old and new windows.

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
    """What a migration costs.

    Attributes:
        pause: seconds during which no row of the shard is processed; what the paper calls latency.
        completion: seconds until the new place does everything.
        cpu: seconds of CPU, wherever they are spent.
        duplicated: rows that are processed at both places.
    """

    pause: float
    completion: float
    cpu: float
    duplicated: float = 0.0


def migration_cost(strategy: Strategy, shard: ShardState, costs: KeyCosts) -> MigrationCost:
    """The cost of one migration.

    Instant migration sends one more partial per key, later and beside the rows, so it pauses only for the switch; it
    costs as much CPU as sending the state (section 7.4). Smooth migration pauses nothing and takes until the last open
    window ends; where windows overlap, rows are processed twice meanwhile.

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
    """The strategy that is complete first without pausing longer than the bound (Enorm section 7.3).

    If every strategy pauses longer, the one that pauses least.

    >>> costs, shard = KeyCosts(10e-6, 10e-6, switch=0.01), ShardState(50_000, remaining=300.0)
    >>> combine = (Strategy.SMOOTH, Strategy.DISRUPTIVE)
    >>> choose_strategy(combine, shard, costs).value, choose_strategy(combine, shard, costs, pause_bound=0.5).value
    ('disruptive', 'smooth')
    """
    priced = [(s, migration_cost(s, shard, costs)) for s in allowed]
    if not priced:
        raise TopologyError("no strategy is allowed: disruptive migration is possible for every component, allow it")
    within = [p for p in priced if p[1].pause <= pause_bound]
    if within:
        return min(within, key=lambda p: (p[1].completion, p[1].cpu))[0]
    return min(priced, key=lambda p: p[1].pause)[0]


def expanded_keys(keys: float, rows: float, moved_at: float) -> float:
    """How many keys have a partial at both places after an instant migration in the middle of a pane.

    The paper counts every key of the shard. Of keys that rows meet evenly at random, only those count that had a row
    before the move and another one after it.

    Args:
        rows: of the shard in the pane.
        moved_at: which share of the pane was over.

    >>> [round(expanded_keys(1000, rows, moved_at=0.5)) for rows in (100, 1000, 10_000)]
    [2, 155, 987]
    >>> expanded_keys(1000, 10_000, moved_at=0.0)
    0.0
    """
    if not keys:
        return 0.0
    before, after = (1 - exp(-rows * share / keys) for share in (moved_at, 1 - moved_at))
    return keys * before * after
