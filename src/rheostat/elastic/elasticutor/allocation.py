"""How many cores every executor needs (Elasticutor section 4.1).

Each executor starts with the fewest cores that keep up, ``floor(lambda / mu) + 1``. Then the core that lowers E[T] most
is added, again and again, until E[T] is within the bound or no core is left. Each further core of an executor helps
less than the one before, so the greedy choice is optimal: it takes the largest of all gains. Here the gains of all
executors are computed at once, a few cores ahead.

If there are too few cores to keep up, they are shared so that the busiest executor is overloaded least. Then the
largest possible share of the stream gets through the whole topology.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.queueing import erlang_b, offered_load, queue_length

Gains = Callable[[Ints, int], Floats]
"""Takes executors and a number of cores; returns how much each further core helps: a falling row for each executor."""

LEAST_LOAD = 1e-9
"""Load, in cores, of an executor without rows when too few cores are shared, so that it is not left out."""

_WORTH = 1e-9
"""A core that shortens E[T] by less than this share of the mean service time is left free."""

_MAX_LOAD = 1e12
"""Upper limit of an executor's load, in cores, so that sums of absurd loads fit into integers."""

_TOLERANCE = 1 + 1e-9
"""Factor by which E[T] may exceed the bound because of rounding."""

_TINY, _HUGE = 1e-280, 1e280
"""Limits of a rate that is divided by, so that no result overflows."""


@dataclass(frozen=True)
class Allocation:
    """Cores for every executor, and what they achieve.

    Attributes:
        cores: the number of cores of each executor.
        response: E[T] in seconds; infinite if an executor cannot keep up.
        met: True if E[T] is within the bound.
        stable: the number of cores with which every executor keeps up.
        sustained: the share of its arrivals that the most overloaded executor can process; 1 if all keep up.
        overloaded: the executors that cannot keep up.
        unmeasured: the executors without usable rates, which were estimated.
        reason: the result in words and numbers.
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
    """Return the fewest cores that keep E[T] within the bound, or the best use of too few.

    Args:
        arrivals: rows per second that reach each executor.
        services: rows per second that one core of each executor can process.
        cores: the number of cores of the cluster.
        bound: the largest E[T] allowed, in seconds.
        external: rows per second that enter the topology; if None or not usable, E[T] is the mean time per executor.

    >>> enough = allocate([150.0, 90.0], [100.0, 100.0], cores=8, bound=0.03, external=150.0)
    >>> enough.cores.tolist(), round(enough.response, 4), enough.reason
    ([3, 2], 0.0191, 'E[T] 0.0191 s with 5 of 8 cores, bound 0.03 s')
    >>> short = allocate([390.0, 90.0], [100.0, 100.0], cores=4, bound=0.03, external=390.0)
    >>> short.cores.tolist(), short.reason
    ([3, 1], '4 cores, but 5 are needed to keep up: executors 0 fall behind, 77% of the stream gets through')
    """
    offered, unmeasured = _offered(arrivals, services)
    visits = _visits(arrivals, external)
    least = np.floor(offered).astype(np.int64) + 1
    stable, cores = int(least.sum()), max(int(cores), 0)
    if stable > cores:
        given = share(np.maximum(offered, LEAST_LOAD), cores)
    else:
        given = least + _grow(offered, least, cores - stable, bound * visits)[0]
    response = _response(offered, given, visits)
    overloaded = tuple(np.flatnonzero(given <= offered).tolist())
    behind = given < offered
    sustained = float((given[behind] / offered[behind]).min(initial=1.0))
    met = response <= bound * _TOLERANCE and not overloaded
    used = f"E[T] {response:.3g} s with {given.sum()} of {cores} cores, bound {bound:g} s"
    reason = used if met else f"{used}: no core is left, or more cores do not help"
    if stable > cores:
        who = ", ".join(str(e) for e in overloaded[:8]) + (", ..." if len(overloaded) > 8 else "")
        gets = f"{sustained:.0%} of the stream gets through"
        reason = f"{cores} cores, but {stable} are needed to keep up: executors {who} fall behind, {gets}"
    return Allocation(
        cores=given,
        response=response,
        met=bool(met),
        stable=stable,
        sustained=sustained,
        overloaded=overloaded,
        unmeasured=unmeasured,
        reason=reason,
    )


def share(wanted: npt.ArrayLike, cores: int) -> Ints:
    """Share too few cores so that the largest ``wanted / cores`` is as small as possible.

    Every executor that wants cores gets one while there are any, the most wanting first. Each further core goes where
    most is wanted per core.

    Args:
        wanted: how many cores each executor wants.
        cores: the number of cores to share.

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

    return given + _take_largest(per_core, np.flatnonzero(given), len(wants), left)[0] if left > 0 else given


def _offered(arrivals: npt.ArrayLike, services: npt.ArrayLike) -> tuple[Floats, tuple[int, ...]]:
    """Return the number of cores that each executor keeps busy, and the executors without usable rates.

    An executor with rows but no service rate has completed nothing yet. It is taken to be as fast as the others, so
    that it gets cores and can be measured.
    """
    rates, speeds = np.asarray(arrivals, dtype=np.float64), np.asarray(services, dtype=np.float64)
    known_rate = np.isfinite(rates) & (rates >= 0)
    known_speed = (speeds > 0) & ~np.isnan(speeds)
    rates = np.where(known_rate, rates, 0.0)
    median = float(np.median(speeds[known_speed])) if known_speed.any() else np.inf
    unmeasured = ~known_rate | (~known_speed & (rates > 0))
    offered = np.minimum(offered_load(rates, np.where(known_speed, speeds, median)), _MAX_LOAD)
    return offered, tuple(np.flatnonzero(unmeasured).tolist())


def _visits(arrivals: npt.ArrayLike, external: float | None) -> float:
    """Return the rate that Elasticutor's equation 1 divides by: that of the topology, or the sum of all executors."""
    if external is not None and 0 < external < np.inf:
        return max(external, _TINY)
    rates = np.asarray(arrivals, dtype=np.float64)
    measured = np.clip(rates[np.isfinite(rates) & (rates > 0)], _TINY, _HUGE)
    return float(measured.sum()) or 1.0


def _response(offered: Floats, cores: Ints, visits: float) -> float:
    """Return E[T] by Little's law: rows in the system, waiting or in service, over the rate at which they arrive."""
    return float((offered + queue_length(cores, offered)).sum() / visits)


def _grow(offered: Floats, least: Ints, most: int, inside: float) -> tuple[Ints, bool]:
    """Return how many further cores each executor gets, and True if at most ``inside`` rows are then in the system.

    E[T] is the number of rows in the system over a constant, so lowering one lowers the other.

    Args:
        offered: the number of cores that each executor keeps busy.
        least: the number of cores that each executor has so far.
        most: the number of cores left.
        inside: the number of rows that may be in the system, waiting or in service.
    """
    waiting = queue_length(least, offered)
    # An executor whose own queue is longer than ``inside`` needs another core in any case, and one shortens the queue
    # enough. Without it, an executor near full load would have so large a gain that the others are lost in rounding.
    must = (waiting > inside).astype(np.int64)
    # More cores shorten queues, but not the service itself.
    reachable = inside > offered.sum() and must.sum() <= most
    if not reachable:
        must[:] = 0
    start = least + must
    waiting = np.where(must, queue_length(start, offered), waiting)
    excess = float(offered.sum() + waiting.sum()) - inside * _TOLERANCE if reachable else np.inf
    if excess <= 0:
        return must, True
    gains = _shorter_queues(offered, start, waiting)
    loaded, worth = np.flatnonzero(offered > 0), _WORTH * float(offered.sum())
    more, reached = _take_largest(gains, loaded, len(offered), most - int(must.sum()), excess, worth)
    return must + more, reached


def _shorter_queues(offered: Floats, least: Ints, waiting: Floats) -> Gains:
    """Return the gains of further cores: how much each one shortens the queue, by one step of Erlang's recursion."""
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
        # In theory gains only fall, but rounding may raise one slightly.
        return np.minimum.accumulate(np.maximum(block, 0.0), axis=0).T

    return gains


def _take_largest(
    gains: Gains, rows: Ints, size: int, most: int, enough: float = np.inf, worth: float = 0.0
) -> tuple[Ints, bool]:
    """Take the largest gains, at most ``most`` of them, until they add up to ``enough``.

    Computes a few gains for all executors, then more only for those whose last gain would still be taken. Of equal
    gains, those of the first executors are taken.

    Args:
        gains: the gains of executors.
        rows: the executors that take part.
        size: the number of all executors.
        most: the largest number of gains to take.
        enough: the sum to reach.
        worth: gains up to this value are not taken.

    Returns:
        The number of gains taken of each executor, and True if their sum reached ``enough``.
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
