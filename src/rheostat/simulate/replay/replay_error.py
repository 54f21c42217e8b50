"""How far the replay of what really ran is from it: what an answer about other policies can be trusted with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.record.recording import Recording
from rheostat.simulate.replay.run_figures import RunFigures


@dataclass(frozen=True)
class ReplayError:
    """Differences between a recorded run and its replay with the same plans.

    Attributes:
        epoch_seconds: median relative error of the length of epochs. Epochs are compared that ran at the same time.
        latency: median relative error of the mean latency of epochs; NaN if it was not measured.
        success: success rate of the replay minus that of the run; NaN without a promise.
        slot_seconds: relative error of slots times seconds.
    """

    epoch_seconds: float
    latency: float
    success: float
    slot_seconds: float

    @classmethod
    def between(
        cls, recorded: Recording, replayed: Recording, promise: Latency | None = None, warm_up: float = 0.0
    ) -> ReplayError:
        """Return the errors of a replay.

        Args:
            recorded: the run.
            replayed: its replay with the same plans.
            promise: the promise to judge both by; None to measure no success.
            warm_up: seconds from the start of the query in which epochs do not count.
        """
        ran = [t.observation for t in recorded.turns if t.observation.busy > 0 and t.observation.time > warm_up]
        again = [t.observation for t in replayed.turns]
        ends = np.array([seen.time for seen in again])
        middles = np.array([seen.time - seen.busy / 2 for seen in ran])
        same = np.clip(np.searchsorted(ends, middles), 0, len(again) - 1)
        one, other = (RunFigures.of(run, promise, warm_up) for run in (recorded, replayed))
        return cls(
            epoch_seconds=_median_error(_values(ran, "busy"), _values(again, "busy")[same]),
            latency=_median_error(_latencies(ran), _latencies(again)[same]),
            success=other.success - one.success,
            slot_seconds=other.slot_seconds / one.slot_seconds - 1 if one.slot_seconds > 0 else float("nan"),
        )


def _values(epochs: Sequence[Observation], name: str) -> Floats:
    return np.array([getattr(seen, name) for seen in epochs], dtype=np.float64)


def _latencies(epochs: Sequence[Observation]) -> Floats:
    return np.array([seen.latency.mean for seen in epochs], dtype=np.float64)


def _median_error(measured: Floats, simulated: Floats) -> float:
    """Return the median of relative errors where both values are known; NaN if there are none.

    >>> _median_error(np.array([1.0, 2.0, np.nan]), np.array([1.1, 2.0, 3.0]))
    0.05
    """
    known = np.isfinite(measured) & np.isfinite(simulated) & (measured > 0)
    errors = np.abs(simulated[known] / measured[known] - 1)
    return round(float(np.median(errors)), 6) if known.any() else float("nan")
