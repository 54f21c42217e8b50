"""How many cores every executor needs (Elasticutor section 4.1).

Each executor starts with the fewest cores that can keep up, ``floor(lambda / mu) + 1``; then the core that lowers E[T]
most is added, again and again, until E[T] is within the bound or the cores are used up. A further core of an executor
never helps more than the one before it, so the greedy choice is the optimal one, and it is simply the largest of all
gains: here they are computed for all executors at once, a few cores ahead, and the largest are taken.

Cores that do not even suffice to keep up are shared so that the busiest executor is overloaded least. That keeps the
share of the stream that gets through the whole topology as large as it can be, and the answer says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.queueing import erlang_b, offered_load, queue_length

Gains = Callable[[Ints, int], Floats]
"""The next gains of some executors: a row for each, none larger than the one before it."""

_WORTH = 1e-9
"""A core that shortens E[T] by less than this share of the bare service time is left free."""

_MOST = 1e12
"""Cores that no executor asks for: keeps sums of absurd loads within whole numbers."""

_NEARLY = 1 + 1e-9


@dataclass(frozen=True)
class Allocation:
    """Cores for every executor, and what they achieve.

    Attributes:
        cores: how many each executor gets.
        response: E[T] in seconds; infinite if some executor cannot keep up.
        met: True if that is within the bound.
        stable: how many cores it takes until every executor keeps up.
        sustained: the share of the arrivals that every executor can keep up with; 1 if all do.
        overloaded: the executors that cannot keep up.
        unmeasured: the executors whose rates were no usable numbers and had to be guessed.
        reason: the same in words.
    """

    cores: Ints
    response: float
    met: bool
    stable: int
    sustained: float
    overloaded: tuple[int, ...]
    unmeasured: tuple[int, ...]
    reason: str


def allocate(
    arrivals: npt.ArrayLike,
    services: npt.ArrayLike,
    cores: int,
    bound: float,
    external: float | None = None,
) -> Allocation:
    """The fewest cores that keep E[T] within the bound, or the best use of too few.

    Args:
        arrivals: rows per second that reach each executor.
        services: rows per second that one core of each executor can process.
        cores: how many there are.
        bound: the largest E[T] wanted, in seconds.
        external: rows per second that enter the topology; if unknown, E[T] is the mean per executor visited.

    >>> enough = allocate([150.0, 90.0], [100.0, 100.0], cores=8, bound=0.03, external=150.0)
    >>> enough.cores.tolist(), round(enough.response, 4), enough.reason
    ([3, 2], 0.0191, 'E[T] 0.0191 s with 5 of 8 cores, bound 0.03 s')
    >>> short = allocate([390.0, 90.0], [100.0, 100.0], cores=4, bound=0.03, external=390.0)
    >>> short.cores.tolist(), short.reason
    ([3, 1], '4 cores, 5 needed to keep up: executors 0 cannot, 77% of the stream gets through')
    """
    offered, unmeasured = _offered(arrivals, services)
    visits = _visits(arrivals, external)
    least = np.floor(offered).astype(np.int64) + 1
    stable, cores = int(least.sum()), max(int(cores), 0)
    if stable > cores:
        given = share(np.maximum(offered, 1e-9), cores)
    else:
        given = least + _grow(offered, least, cores - stable, bound * visits)[0]
    response = _response(offered, given, visits)
    overloaded = tuple(np.flatnonzero(given <= offered).tolist())
    behind = given < offered
    sustained = float((given[behind] / offered[behind]).min(initial=1.0))
    met = response <= bound * _NEARLY and not overloaded
    used = f"E[T] {response:.3g} s with {given.sum()} of {cores} cores, bound {bound:g} s"
    reason = used if met else f"{used}: no core is left, or none helps"
    if stable > cores:
        who = ", ".join(str(e) for e in overloaded[:8]) + (", ..." if len(overloaded) > 8 else "")
        gets = f"{sustained:.0%} of the stream gets through"
        reason = f"{cores} cores, {stable} needed to keep up: executors {who} cannot, {gets}"
    return Allocation(given, response, bool(met), stable, sustained, overloaded, unmeasured, reason)


def cores_within(
    arrivals: npt.ArrayLike, services: npt.ArrayLike, bound: float, external: float | None = None
) -> int | None:
    """How many cores it takes to keep E[T] within the bound; None if no number does.

    >>> cores_within([150.0, 90.0], [100.0, 100.0], bound=0.03, external=150.0)
    5
    >>> cores_within([150.0], [100.0], bound=0.009, external=150.0) is None
    True
    """
    offered, _ = _offered(arrivals, services)
    visits = _visits(arrivals, external)
    least = np.floor(offered).astype(np.int64) + 1
    more, reached = _grow(offered, least, int(_MOST), bound * visits)
    return int((least + more).sum()) if reached else None


def share(wanted: npt.ArrayLike, cores: int) -> Ints:
    """Share too few cores so that the largest ``wanted / cores`` is as small as it can be.

    Everyone who wants any gets one, as far as they go round; every further core goes where most is wanted per core.

    >>> share([8.0, 2.0, 2.0], 6).tolist(), share([8.0, 2.0, 2.0], 2).tolist()
    ([4, 1, 1], [1, 1, 0])
    """
    wants = np.asarray(wanted, dtype=np.float64)
    given = np.zeros(len(wants), dtype=np.int64)
    first = np.argsort(-wants, kind="stable")[: max(cores, 0)]
    given[first[wants[first] > 0]] = 1
    left, asked = cores - int(given.sum()), given.copy()

    def per_core(rows: Ints, steps: int) -> Floats:
        block: Floats = wants[rows, None] / (asked[rows, None] + np.arange(steps))
        asked[rows] += steps
        return block

    return given + _largest(per_core, np.flatnonzero(given), len(wants), left)[0] if left > 0 else given


def _offered(arrivals: npt.ArrayLike, services: npt.ArrayLike) -> tuple[Floats, tuple[int, ...]]:
    """How many cores each executor keeps busy, and which executors had no usable measurements.

    An executor with rows but no service rate has finished nothing yet. It counts as quick as the others, so that it
    gets cores and can be measured.
    """
    rates, speeds = np.asarray(arrivals, dtype=np.float64), np.asarray(services, dtype=np.float64)
    known_rate = np.isfinite(rates) & (rates >= 0)
    known_speed = (speeds > 0) & ~np.isnan(speeds)
    rates = np.where(known_rate, rates, 0.0)
    usual = float(np.median(speeds[known_speed])) if known_speed.any() else np.inf
    unmeasured = ~known_rate | (~known_speed & (rates > 0))
    offered = np.minimum(offered_load(rates, np.where(known_speed, speeds, usual)), _MOST)
    return offered, tuple(np.flatnonzero(unmeasured).tolist())


def _visits(arrivals: npt.ArrayLike, external: float | None) -> float:
    """The rate by which Elasticutor's equation 1 divides, within what can be divided by."""
    if external is not None and 0 < external < np.inf:
        return max(external, 1e-280)
    rates = np.asarray(arrivals, dtype=np.float64)
    known = np.clip(rates[np.isfinite(rates) & (rates > 0)], 1e-280, 1e280)
    return float(known.sum()) or 1.0


def _response(offered: Floats, cores: Ints, visits: float) -> float:
    """E[T] by Little's law: rows inside, waiting or in service, over the rate at which they come."""
    return float((offered + queue_length(cores, offered)).sum() / visits)


def _grow(offered: Floats, least: Ints, most: int, inside: float) -> tuple[Ints, bool]:
    """Which executors get a further core until no more than ``inside`` rows are inside, and True if that was reached.

    Rows inside are E[T] times a constant, so what lowers one lowers the other.
    """
    waiting = queue_length(least, offered)
    # A queue longer than all that may be inside needs another core in any case, and one is enough to make it shorter.
    # Without it, an executor at the brink would have a gain beside which the others are lost in rounding.
    must = (waiting > inside).astype(np.int64)
    # What is in service stays there, however many cores there are.
    reachable = inside > offered.sum() and must.sum() <= most
    if not reachable:
        must[:] = 0
    start = least + must
    waiting = np.where(must, queue_length(start, offered), waiting)
    excess = float(offered.sum() + waiting.sum()) - inside * _NEARLY if reachable else np.inf
    if excess <= 0:
        return must, True
    gains = _shorter_queues(offered, start, waiting)
    loaded, worth = np.flatnonzero(offered > 0), _WORTH * float(offered.sum())
    more, reached = _largest(gains, loaded, len(offered), most - int(must.sum()), excess, worth)
    return must + more, reached


def _shorter_queues(offered: Floats, least: Ints, waiting: Floats) -> Gains:
    """By how much each further core shortens a queue, one step of Erlang's recursion per core."""
    servers, blocked, length = least.astype(np.float64), erlang_b(least, offered), waiting.copy()

    def gains(rows: Ints, steps: int) -> Floats:
        a, k, b, before = offered[rows], servers[rows], blocked[rows], length[rows]
        block = np.empty((steps, len(rows)))
        for step in range(steps):
            k = k + 1
            flow = a * b
            b = flow / (k + flow)
            after = a * k * b / ((k - a + a * b) * (k - a))
            block[step] = before - after
            before = after
        servers[rows], blocked[rows], length[rows] = k, b, before
        # In theory gains only fall; rounding may lift one by a hair.
        return np.minimum.accumulate(np.maximum(block, 0.0), axis=0).T

    return gains


def _largest(
    gains: Gains, rows: Ints, size: int, most: int, enough: float = np.inf, worth: float = 0.0
) -> tuple[Ints, bool]:
    """How many of each executor's gains are among the largest, at most ``most``, until they add up to ``enough``.

    Looks a few gains ahead for all executors, then further ahead only for those whose last gain would still be taken.
    Of equal gains, those of the first executors are taken.

    Returns:
        the numbers, and whether ``enough`` was reached.
    """
    blocks: list[tuple[Ints, Floats]] = []
    values, cut, number, reached = np.empty(0), worth, 0, False
    steps = 4
    while len(rows) and most > 0:
        block = gains(rows, steps)
        blocks.append((rows, block))
        flat = block.ravel()
        values = np.sort(np.concatenate([values, flat[flat > max(cut, worth)]]))[::-1][:most]
        until = int(np.searchsorted(np.cumsum(values), enough))
        reached = until < len(values)
        number = until + 1 if reached else len(values)
        cut = float(values[number - 1]) if reached or number == most else worth
        rows, steps = rows[block[:, -1] > cut], 2 * steps
    counts = np.zeros(size, dtype=np.int64)
    for who, block in blocks:
        counts[who] += (block > cut).sum(axis=1)
    left = number - int(counts.sum())
    for who, block in blocks:
        tied = who[np.nonzero(block == cut)[0]][: max(left, 0)]
        np.add.at(counts, tied, 1)
        left -= len(tied)
    return counts, reached
