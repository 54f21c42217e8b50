"""How many cores every executor needs in an engine with epochs, by the micro-batch law instead of M/M/k.

Elasticutor's model (section 4.1) does not hold for micro-batches, in which rows wait for the next epoch and not for a
free core. Mean latency is about ``1.5 o / (1 - rho)``, where ``o`` is the overhead of an epoch and ``rho`` the load of
the busiest slot. So each executor gets the fewest cores that keep its slots below the rho that the bound allows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.elastic.elasticutor.allocation import LEAST_LOAD, Allocation, share
from rheostat.elastic.model.queueing import ROUNDING, epoch_latency, largest_rho, offered_load

_FALLBACK_RHO = 0.5
"""The rho to aim at if no number of cores keeps the bound: above it, latency grows fast."""

_BACKLOG_EPOCHS = 2.0
"""Epochs of the allowed length: rows that wait longer are a backlog."""


def usual_wait(overhead: float, bound: float) -> float:
    """Return how many seconds rows may wait without being a backlog: two epochs of the length that the bound allows.

    Rows that wait longer need extra cores. Otherwise cores would be given back while a long epoch is still in progress,
    and epochs would stay long.

    Args:
        overhead: seconds that an epoch costs without any row.
        bound: the largest mean latency allowed, in seconds.

    >>> usual_wait(overhead=0.2, bound=0.6), usual_wait(overhead=0.2, bound=0.2)
    (0.8, 0.8)
    """
    return _BACKLOG_EPOCHS * overhead / (1 - _target_rho(overhead, bound))


def _target_rho(overhead: float, bound: float) -> float:
    """Return the rho that slots should stay below."""
    return largest_rho(overhead, bound) or _FALLBACK_RHO


def allocate_epochs(
    arrivals: npt.ArrayLike, services: npt.ArrayLike, cores: int, bound: float, overhead: float, fewest: int = 1
) -> Allocation:
    """Return the fewest cores that keep mean latency within the bound, or the best use of too few.

    Args:
        arrivals: rows per second that reach each executor.
        services: rows per second that one core of each executor can process.
        cores: the number of cores of the cluster.
        bound: the largest mean latency allowed, in seconds.
        overhead: seconds that an epoch costs without any row.
        fewest: least number of cores of an executor.

    >>> enough = allocate_epochs([300.0, 90.0], [100.0, 100.0], cores=16, bound=1.0, overhead=0.4)
    >>> enough.cores.tolist(), enough.met, enough.reason
    ([8, 3], True, 'latency 0.96 s with 11 of 16 cores, bound 1 s')
    >>> allocate_epochs([300.0, 90.0], [100.0, 100.0], cores=6, bound=1.0, overhead=0.4).cores.tolist()
    [4, 2]
    """
    load = np.nan_to_num(offered_load(arrivals, services), nan=0.0, posinf=1e9)
    rho = largest_rho(overhead, bound)
    wanted = np.maximum(np.ceil(load / _target_rho(overhead, bound) - ROUNDING), float(max(fewest, 1)))
    fits = wanted.sum() <= cores
    given = wanted.astype(np.int64) if fits else share(np.maximum(load, LEAST_LOAD), cores)
    busiest = float((load / np.maximum(given, 1)).max(initial=0.0))
    response = float(epoch_latency(overhead, busiest))
    stable = int(np.maximum(np.floor(load) + 1, 1).sum())
    overloaded = tuple(int(e) for e in np.flatnonzero(load >= np.maximum(given, LEAST_LOAD)))
    reason = f"latency {response:.3g} s with {int(given.sum())} of {cores} cores, bound {bound:g} s"
    if not fits:
        reason += f"; {int(wanted.sum())} cores would keep the bound"
    elif rho is None:
        reason += ": even an epoch without rows takes longer than the bound"
    sustained = min(1.0, 1.0 / busiest) if busiest > 0 else 1.0
    return Allocation(
        cores=given,
        response=response,
        met=response <= bound,
        stable=stable,
        sustained=sustained,
        overloaded=overloaded,
        unmeasured=(),
        reason=reason,
    )
