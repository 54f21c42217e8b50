"""Textbook laws that tests compare with: queues with one server, and networks of queues."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def mm1_sojourn(arrivals: float, service: float) -> float:
    """The mean time in an M/M/1 system."""
    return 1 / (service - arrivals) if arrivals < service else np.inf


def md1_sojourn(arrivals: float, service: float) -> float:
    """The mean time in an M/D/1 system, in which every row costs the same: half the wait of M/M/1."""
    return (mm1_sojourn(arrivals, service) + 1 / service) / 2


def jackson_sojourn(external: float, arrivals: npt.ArrayLike, sojourns: npt.ArrayLike) -> float:
    """E[T] of a network: each executor's mean time, weighted by its visits (Elasticutor equation 1)."""
    rates, times = np.asarray(arrivals, dtype=np.float64), np.asarray(sojourns, dtype=np.float64)
    visited = rates > 0  # an executor without arrivals does not count, even if its time is infinite
    return float((rates[visited] * times[visited]).sum() / external)
