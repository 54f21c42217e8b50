"""Queueing formulas: how long rows wait, in continuous engines and in micro-batches.

A continuous engine is modelled as a network of queues (Elasticutor section 4.1): every executor is an M/M/k system, and
the topology is a Jackson network of them. Spark's epochs follow the micro-batch law at the end of this module.

Functions take numbers or arrays, which are broadcast. Rates are per second, times in seconds. A queue that cannot keep
up has an infinite wait; this is never an error. SciPy has no Erlang formulas, so they are written out here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats

_FLUID = 1e8
"""Number of servers above which Erlang's B is taken from its fluid limit, because the recursion would take too long."""

_EPOCHS_OF_LATENCY = 1.5
"""Mean latency of a row in epochs: half an epoch until its own epoch begins, and its own epoch."""

ROUNDING = 1e-9
"""Share of a slot or core that is not rounded up to a whole one."""


def offered_load(arrivals: npt.ArrayLike, service: npt.ArrayLike) -> Floats:
    """Return the number of servers that the arrivals keep busy: arrival rate over the service rate of one server.

    >>> offered_load([3.0, 0.0, 1.0], [2.0, 2.0, 0.0]).tolist()
    [1.5, 0.0, inf]
    """
    rate = np.maximum(np.asarray(arrivals, dtype=np.float64), 0.0)
    speed = np.asarray(service, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(speed > 0, rate / speed, np.where(np.isnan(speed), np.nan, np.inf))


def erlang_b(servers: npt.ArrayLike, offered: npt.ArrayLike) -> Floats:
    """Return the share of arrivals that find all servers busy, in a system without a queue (Erlang's B formula).

    The recursion ``B(k) = a B(k-1) / (k + a B(k-1))`` is stable, and an error in its first value fades. So it can start
    from the fluid limit, eight standard deviations below the load, and a thousand servers take a few hundred steps.

    Args:
        servers: the number of servers, rounded down.
        offered: the offered load, in servers.

    >>> erlang_b([0, 1, 2], 1.0).tolist()
    [1.0, 0.5, 0.2]
    """
    shape = np.broadcast_shapes(np.shape(servers), np.shape(offered))
    k = np.broadcast_to(np.floor(np.asarray(servers, dtype=np.float64)), shape).ravel()
    a = np.broadcast_to(np.asarray(offered, dtype=np.float64), shape).ravel()
    # Without a server everything is blocked, without load nothing; an infinite load is blocked, a NaN load stays NaN.
    blocked = np.where(k < 1, 1.0, np.where(a <= 0, 0.0, np.where(np.isnan(a), np.nan, 1.0)))
    regular = np.flatnonzero((k >= 1) & (a > 0) & np.isfinite(a))
    blocked[regular] = _erlang_b(k[regular], a[regular])
    return blocked.reshape(shape)


def erlang_c(servers: npt.ArrayLike, offered: npt.ArrayLike) -> Floats:
    """Return the share of arrivals that have to wait (Erlang's C formula); 1 if the servers cannot keep up.

    Args:
        servers: the number of servers, rounded down.
        offered: the offered load, in servers.

    >>> erlang_c([1, 2, 3], 0.5).round(4).tolist()
    [0.5, 0.1, 0.0152]
    >>> float(erlang_c(5000, 4990.0).round(4))
    0.8344
    """
    k, a = np.floor(np.asarray(servers, dtype=np.float64)), np.asarray(offered, dtype=np.float64)
    blocked = erlang_b(k, a)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # (k - a) comes first, because near full load this difference is exact and k - a (1 - B) would lose digits.
        waiting = k * blocked / ((k - a) + a * blocked)
    return np.where(a >= k, 1.0, np.where(a <= 0, 0.0, waiting))


def queue_length(servers: npt.ArrayLike, offered: npt.ArrayLike) -> Floats:
    """Return the mean number of rows that wait in an M/M/k system, without those in service.

    Args:
        servers: the number of servers, rounded down.
        offered: the offered load, in servers.

    >>> queue_length([1, 2], [0.5, 2.5]).tolist()
    [0.5, inf]
    """
    k, a = np.floor(np.asarray(servers, dtype=np.float64)), np.asarray(offered, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        length = erlang_c(k, a) * a / (k - a)
    return np.where(a <= 0, 0.0, np.where(a >= k, np.inf, length))


def mmk_wait(arrivals: npt.ArrayLike, service: npt.ArrayLike, servers: npt.ArrayLike) -> Floats:
    """Return the mean time until service begins in an M/M/k system.

    Args:
        arrivals: rows per second that arrive.
        service: rows per second that one server processes.
        servers: the number of servers, rounded down.

    >>> mmk_wait(5.0, 10.0, [1, 2]).round(5).tolist()
    [0.1, 0.00667]
    """
    k, a = np.floor(np.asarray(servers, dtype=np.float64)), offered_load(arrivals, service)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        wait = erlang_c(k, a) / ((k - a) * np.asarray(service, dtype=np.float64))
    return np.where(a >= k, np.inf, np.where(a <= 0, 0.0, wait))


def mmk_sojourn(arrivals: npt.ArrayLike, service: npt.ArrayLike, servers: npt.ArrayLike) -> Floats:
    """Return the mean time in an M/M/k system, waiting and service: E[T_j](k_j) in Elasticutor's equation 1.

    >>> mmk_sojourn(5.0, 10.0, [1, 2]).round(5).tolist()
    [0.2, 0.10667]
    """
    return mmk_wait(arrivals, service, servers) + _inverse(service)


def epoch_seconds(overhead: npt.ArrayLike, rho: npt.ArrayLike) -> Floats:
    """Return the length of epochs that follow each other without a pause: the micro-batch law ``D = o / (1 - rho)``.

    Args:
        overhead: seconds that an epoch costs without any row.
        rho: busy seconds of the most loaded slot per second of stream, summed over the stages of the job.

    >>> epoch_seconds(0.2, [0.0, 0.5, 1.0]).tolist()
    [0.2, 0.4, inf]
    """
    fixed, busy = np.asarray(overhead, dtype=np.float64), np.maximum(np.asarray(rho, dtype=np.float64), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(busy >= 1, np.inf, fixed / (1 - busy))


def epoch_latency(overhead: npt.ArrayLike, rho: npt.ArrayLike) -> Floats:
    """Return the mean latency of a row under the micro-batch law: one and a half epochs.

    >>> epoch_latency(0.2, 0.5).round(3).tolist()
    0.6
    """
    return _EPOCHS_OF_LATENCY * epoch_seconds(overhead, rho)


def largest_rho(overhead: float, bound: float) -> float | None:
    """Return the highest rho that keeps mean latency within the bound; None if an epoch without rows takes too long.

    >>> largest_rho(0.2, 0.6), largest_rho(0.2, 0.2)
    (0.5, None)
    """
    if not (bound > 0 and overhead >= 0):
        return None
    rho = 1 - _EPOCHS_OF_LATENCY * overhead / bound
    return round(rho, 12) if rho >= 0 else None


def _erlang_b(k: Floats, a: Floats) -> Floats:
    """Return Erlang's B for at least one server and a finite load above 0."""
    low = np.minimum(a, k)
    first = np.floor(np.maximum(low - 8 * np.sqrt(low), 0.0))
    first = np.where(low > _FLUID, np.minimum(k, a), first)
    blocked = np.maximum(1 - first / a, 0.0)
    steps = np.where(low > _FLUID, 0.0, k - first)
    # The longest recursions come first, so that those still running are always at the front of the arrays.
    order = np.argsort(-steps, kind="stable")
    load, servers, b, ends = a[order], first[order], blocked[order], -steps[order]
    done = 0
    while (running := int(np.searchsorted(ends, -done, side="left"))) and b[:running].any():
        servers[:running] += 1
        flow = load[:running] * b[:running]
        b[:running] = flow / (servers[:running] + flow)
        done += 1
    # The loop ends early if all remaining values are 0: with so many spare servers, B is below the smallest float.
    blocked[order] = b
    return blocked


def _inverse(rates: npt.ArrayLike) -> Floats:
    """Return the mean seconds between events of the given rates; infinite for rate 0."""
    rate = np.asarray(rates, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(rate > 0, 1 / rate, np.where(np.isnan(rate), np.nan, np.inf))
