"""How many cores every executor needs where rows come in epochs: the micro-batch law instead of M/M/k.

Elasticutor's model (section 4.1) does not hold on Spark: rows wait for epochs, not for single cores. There latency is
about ``1.5 o / (1 - rho)``, with ``rho`` the load of the busiest slot. So each executor gets the fewest cores that keep
its slots below the rho that the bound allows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.elastic.elasticutor.allocation import Allocation, share
from rheostat.elastic.model.queueing import epoch_latency, largest_rho, offered_load

_HALF = 0.5
"""The rho that is aimed at if no number of cores keeps the bound: beyond it latency soon doubles."""


_SLACK = 2.0
"""Times what the law says that an epoch may take before the rows that wait for the next one count as a backlog."""


def usual_wait(overhead: float, bound: float) -> float:
    """Seconds of rows that may wait for the next epoch without being a backlog: two epochs as long as the bound allows.

    Whoever gave cores back as soon as rates allow it, while a long epoch is still being worked off, would keep epochs
    long.

    >>> usual_wait(overhead=0.2, bound=0.6), usual_wait(overhead=0.2, bound=0.2)
    (0.8, 0.8)
    """
    return _SLACK * overhead / (1 - _aim(overhead, bound))


def _aim(overhead: float, bound: float) -> float:
    """The rho that slots are kept below."""
    return largest_rho(overhead, bound) or _HALF


def allocate_epochs(
    arrivals: npt.ArrayLike, services: npt.ArrayLike, cores: int, bound: float, overhead: float
) -> Allocation:
    """The fewest cores that keep mean latency within the bound, or the best use of too few.

    Args:
        arrivals: rows per second that reach each executor.
        services: rows per second that one core of each can process.
        cores: how many there are.
        bound: the largest mean latency wanted, in seconds.
        overhead: seconds that an epoch costs without any row.

    >>> found = allocate_epochs([300.0, 90.0], [100.0, 100.0], cores=16, bound=1.0, overhead=0.4)
    >>> found.cores.tolist(), found.met, found.reason
    ([8, 3], True, 'latency 0.96 s with 11 of 16 cores, bound 1 s')
    >>> allocate_epochs([300.0, 90.0], [100.0, 100.0], cores=6, bound=1.0, overhead=0.4).cores.tolist()
    [4, 2]
    """
    load = np.nan_to_num(offered_load(arrivals, services), nan=0.0, posinf=1e9)
    rho = largest_rho(overhead, bound)
    wanted = np.maximum(np.ceil(load / _aim(overhead, bound) - 1e-9), 1.0)
    fits = wanted.sum() <= cores
    given = wanted.astype(np.int64) if fits else share(np.maximum(load, 1e-9), cores)
    busiest = float((load / np.maximum(given, 1)).max(initial=0.0))
    response = float(epoch_latency(overhead, busiest))
    stable = int(np.maximum(np.floor(load) + 1, 1).sum())
    behind = tuple(int(e) for e in np.flatnonzero(load >= np.maximum(given, 1e-9)))
    reason = f"latency {response:.3g} s with {int(given.sum())} of {cores} cores, bound {bound:g} s"
    if not fits:
        reason += f"; {int(wanted.sum())} cores would keep it"
    elif rho is None:
        reason += ": an epoch without rows takes longer than that"
    sustained = min(1.0, 1.0 / busiest) if busiest > 0 else 1.0
    return Allocation(given, response, response <= bound, stable, sustained, behind, (), reason)
