"""How long rows wait and stay: queueing formulas, and the law that micro-batches follow instead.

Continuous engines are networks of queues (Elasticutor section 4.1): every executor is an M/M/k system, the topology a
Jackson network of them. Functions take numbers or arrays, which are broadcast; rates are per second, times in seconds.
A queue that cannot keep up waits without end: the answer is infinite, never an error. Spark's epochs follow the
micro-batch law at the end of this module.

Written by hand because SciPy, which has no Erlang formula either, would come only for its gamma functions.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats

_FLUID = 1e8
"""Servers above which blocking is taken from the fluid limit: the recursion would take long."""


def offered_load(arrivals: npt.ArrayLike, service: npt.ArrayLike) -> Floats:
    """How many servers the arrivals keep busy: arrival rate over the service rate of one server.

    >>> offered_load([3.0, 0.0, 1.0], [2.0, 2.0, 0.0]).tolist()
    [1.5, 0.0, inf]
    """
    rate = np.maximum(np.asarray(arrivals, dtype=np.float64), 0.0)
    speed = np.asarray(service, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(speed > 0, rate / speed, np.where(np.isnan(speed), np.nan, np.inf))


def erlang_b(servers: npt.ArrayLike, offered: npt.ArrayLike) -> Floats:
    """The share of arrivals that find every server busy, if nobody waits (Erlang's B formula).

    The recursion ``B(k) = a B(k-1) / (k + a B(k-1))`` only multiplies and adds positive numbers, and forgets the error
    it starts with. So it starts eight standard deviations below the load, where the fluid limit is good enough, and a
    thousand servers take a few hundred steps.

    >>> erlang_b([0, 1, 2], 1.0).tolist()
    [1.0, 0.5, 0.2]
    """
    shape = np.broadcast_shapes(np.shape(servers), np.shape(offered))
    k = np.broadcast_to(np.floor(np.asarray(servers, dtype=np.float64)), shape).ravel()
    a = np.broadcast_to(np.asarray(offered, dtype=np.float64), shape).ravel()
    # No server blocks everything, no load is never blocked, an endless load always; an unknown one stays unknown.
    blocked = np.where(k < 1, 1.0, np.where(a <= 0, 0.0, np.where(np.isnan(a), np.nan, 1.0)))
    usual = np.flatnonzero((k >= 1) & (a > 0) & np.isfinite(a))
    blocked[usual] = _blocked(k[usual], a[usual])
    return blocked.reshape(shape)


def erlang_c(servers: npt.ArrayLike, offered: npt.ArrayLike) -> Floats:
    """The share of arrivals that have to wait (Erlang's C formula); all of them if the servers cannot keep up.

    >>> erlang_c([1, 2, 3], 0.5).round(4).tolist()
    [0.5, 0.1, 0.0152]
    >>> float(erlang_c(5000, 4990.0).round(4))
    0.8344
    """
    k, a = np.floor(np.asarray(servers, dtype=np.float64)), np.asarray(offered, dtype=np.float64)
    blocked = erlang_b(k, a)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # (k - a) first: near full load that difference is exact, where k - a (1 - B) would lose digits.
        waiting = k * blocked / ((k - a) + a * blocked)
    return np.where(a >= k, 1.0, np.where(a <= 0, 0.0, waiting))


def queue_length(servers: npt.ArrayLike, offered: npt.ArrayLike) -> Floats:
    """Mean number of rows that wait in an M/M/k system, those in service not counted.

    >>> queue_length([1, 2], [0.5, 2.5]).tolist()
    [0.5, inf]
    """
    k, a = np.floor(np.asarray(servers, dtype=np.float64)), np.asarray(offered, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        length = erlang_c(k, a) * a / (k - a)
    return np.where(a <= 0, 0.0, np.where(a >= k, np.inf, length))


def mmk_wait(arrivals: npt.ArrayLike, service: npt.ArrayLike, servers: npt.ArrayLike) -> Floats:
    """Mean time until service begins in an M/M/k system, each server with the given service rate.

    >>> mmk_wait(5.0, 10.0, [1, 2]).round(5).tolist()
    [0.1, 0.00667]
    """
    k, a = np.floor(np.asarray(servers, dtype=np.float64)), offered_load(arrivals, service)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        wait = erlang_c(k, a) / ((k - a) * np.asarray(service, dtype=np.float64))
    return np.where(a >= k, np.inf, np.where(a <= 0, 0.0, wait))


def mmk_sojourn(arrivals: npt.ArrayLike, service: npt.ArrayLike, servers: npt.ArrayLike) -> Floats:
    """Mean time in an M/M/k system, waiting and service: the E[T_j](k_j) of Elasticutor's equation 1.

    >>> mmk_sojourn(5.0, 10.0, [1, 2]).round(5).tolist()
    [0.2, 0.10667]
    """
    return mmk_wait(arrivals, service, servers) + _inverse(service)


def mm1_sojourn(arrivals: npt.ArrayLike, service: npt.ArrayLike) -> Floats:
    """Mean time in an M/M/1 system: ``1 / (mu - lambda)``.

    >>> mm1_sojourn([5.0, 10.0], 10.0).tolist()
    [0.2, inf]
    """
    return mg1_wait(arrivals, service, 1.0) + _inverse(service)


def mg1_wait(arrivals: npt.ArrayLike, service: npt.ArrayLike, variability: npt.ArrayLike) -> Floats:
    """Mean time until service begins in an M/G/1 system (Pollaczek and Khinchine).

    Args:
        variability: variance of the service time over its squared mean: 0 if all rows cost the same, 1 in M/M/1.

    >>> mg1_wait(5.0, 10.0, [0.0, 1.0, 4.0]).tolist()
    [0.05, 0.1, 0.25]
    """
    a, spread = offered_load(arrivals, service), np.asarray(variability, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        wait = a / (1 - a) * (1 + spread) / 2 / np.asarray(service, dtype=np.float64)
    return np.where(a >= 1, np.inf, np.where(a <= 0, 0.0, wait))


def mg1_sojourn(arrivals: npt.ArrayLike, service: npt.ArrayLike, variability: npt.ArrayLike) -> Floats:
    """Mean time in an M/G/1 system, waiting and service.

    >>> float(mg1_sojourn(5.0, 10.0, 0.0).round(3))
    0.15
    """
    return mg1_wait(arrivals, service, variability) + _inverse(service)


def md1_sojourn(arrivals: npt.ArrayLike, service: npt.ArrayLike) -> Floats:
    """Mean time in an M/D/1 system, in which every row costs the same.

    >>> float(md1_sojourn(5.0, 10.0).round(3))
    0.15
    """
    return mg1_sojourn(arrivals, service, 0.0)


def jackson_arrivals(external: npt.ArrayLike, routing: npt.ArrayLike) -> Floats:
    """The arrival rate of every operator: what comes from outside and what the others send it.

    Solves the traffic equations ``lambda_j = gamma_j + sum_i lambda_i P_ij``. Rows of ``routing`` may add up to more
    than one, since operators may send on more rows than they take. A loop that multiplies its own rows has no
    solution: the rates are then infinite.

    Args:
        external: rows per second that reach each operator from outside.
        routing: ``routing[i][j]`` rows that operator i sends to operator j for each row that it takes.

    >>> jackson_arrivals([100.0, 0.0, 0.0], [[0, 1, 0.5], [0, 0.2, 2], [0, 0, 0]]).round(6).tolist()
    [100.0, 125.0, 300.0]
    """
    outside, sends = np.asarray(external, dtype=np.float64), np.asarray(routing, dtype=np.float64)
    try:
        rates = np.linalg.solve(np.eye(len(outside)) - sends.T, outside)
    except np.linalg.LinAlgError:
        return np.full(len(outside), np.inf)
    # A loop with a gain above one is solved by negative rates, which no network has.
    tolerance = 1e-9 * np.abs(rates).max(initial=0.0)
    return np.full(len(outside), np.inf) if (rates < -tolerance).any() else np.maximum(rates, 0.0)


def jackson_sojourn(external: float, arrivals: npt.ArrayLike, sojourns: npt.ArrayLike) -> float:
    """Mean time from a row's arrival until all that it caused has been processed (Elasticutor equation 1).

    Args:
        external: rows per second that enter the topology.

    >>> jackson_sojourn(100.0, [100.0, 50.0], [0.02, 0.1])
    0.07
    """
    rates, times = np.asarray(arrivals, dtype=np.float64), np.asarray(sojourns, dtype=np.float64)
    if not external > 0:
        return 0.0
    # Nobody visits an executor without arrivals, however slow it is.
    visited = rates > 0
    return float((rates[visited] * times[visited]).sum() / external)


def epoch_seconds(overhead: npt.ArrayLike, rho: npt.ArrayLike) -> Floats:
    """How long a back-to-back epoch lasts: the micro-batch law ``D = o / (1 - rho)``.

    Args:
        overhead: seconds that an epoch costs without any row.
        rho: busy seconds of the most loaded slot per second of stream, summed over stages that follow each other.

    >>> epoch_seconds(0.2, [0.0, 0.5, 1.0]).tolist()
    [0.2, 0.4, inf]
    """
    fixed, busy = np.asarray(overhead, dtype=np.float64), np.maximum(np.asarray(rho, dtype=np.float64), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(busy >= 1, np.inf, fixed / (1 - busy))


def epoch_latency(overhead: npt.ArrayLike, rho: npt.ArrayLike) -> Floats:
    """Mean latency of a row under the micro-batch law: half an epoch until its own begins, and that one.

    >>> epoch_latency(0.2, 0.5).round(3).tolist()
    0.6
    """
    return 1.5 * epoch_seconds(overhead, rho)


def largest_rho(overhead: float, bound: float) -> float | None:
    """The highest rho whose mean latency is within the bound; None if even an idle epoch takes longer.

    >>> largest_rho(0.2, 0.6), largest_rho(0.2, 0.2)
    (0.5, None)
    """
    if not (bound > 0 and overhead >= 0):
        return None
    rho = 1 - 1.5 * overhead / bound
    return round(rho, 12) if rho >= 0 else None


def slots_within(work: float, overhead: float, bound: float, imbalance: float = 1.0) -> int | None:
    """The fewest slots that keep mean latency within the bound; None if no number of slots does.

    Args:
        work: busy seconds of all slots together per second of stream, summed over the stages of the job.
        imbalance: largest over mean load of the slots.

    >>> slots_within(work=3.0, overhead=0.2, bound=0.6), slots_within(3.0, 0.2, 0.6, imbalance=1.2)
    (6, 8)
    """
    rho = largest_rho(overhead, bound)
    if rho is None or not math.isfinite(work * imbalance):
        return None
    busy = max(work, 0.0) * max(imbalance, 1.0)
    if busy == 0:
        return 1
    # An epoch shorter than the bound by nothing leaves no room for any row; a bound that cannot fail has all of it.
    return max(1, math.ceil(busy / rho - 1e-9)) if rho > 0 and math.isfinite(busy / rho) else None


def _blocked(k: Floats, a: Floats) -> Floats:
    """Erlang's B for at least one server and some load."""
    low = np.minimum(a, k)
    first = np.floor(np.maximum(low - 8 * np.sqrt(low), 0.0))
    first = np.where(low > _FLUID, np.minimum(k, a), first)
    blocked = np.maximum(1 - first / a, 0.0)
    steps = np.where(low > _FLUID, 0.0, k - first)
    # The longest recursions first, so that those still running are always the front of the arrays.
    order = np.argsort(-steps, kind="stable")
    load, servers, b, ends = a[order], first[order], blocked[order], -steps[order]
    done = 0
    while (running := int(np.searchsorted(ends, -done, side="left"))) and b[:running].any():
        servers[:running] += 1
        flow = load[:running] * b[:running]
        b[:running] = flow / (servers[:running] + flow)
        done += 1
    # What is left has so many servers to spare that the share is below the smallest number.
    blocked[order] = b
    return blocked


def _inverse(rates: npt.ArrayLike) -> Floats:
    rate = np.asarray(rates, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(rate > 0, 1 / rate, np.where(np.isnan(rate), np.nan, np.inf))
