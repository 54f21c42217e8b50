"""The load of a recorded run, period by period, for forecasts and for learning thresholds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.assessment_periods import Assessments
from rheostat.elastic.model.observation import Observation


def loads_of(observations: Iterable[Observation], period: float) -> Series:
    """Return the rows per second of every assessment period of a run.

    Args:
        observations: what every epoch of the run measured, in order.
        period: least seconds of a period.

    >>> def seen(rate):
    ...     return Observation(time=1.0, seconds=5.0, operators={}, cores=np.array([1]), external=rate)
    >>> loads_of([seen(100.0), seen(200.0), seen(300.0), seen(300.0), seen(7.0)], period=10.0).values.tolist()
    [150.0, 300.0]
    """
    assessments, found = Assessments(period), list[float]()
    for observation in observations:
        assessments = assessments.after(observation)
        if assessments.fresh and assessments.last is not None and np.isfinite(assessments.last.load):
            found.extend([assessments.last.load] * assessments.steps)
    return Series(np.array(found), 0.0, period)


def resampled(load: Series, step: float) -> Series:
    """Return a load at other time steps: means of several values, or values in between.

    >>> resampled(Series(np.array([1.0, 3.0, 5.0, 7.0]), step=5.0), 10.0).values.tolist()
    [2.0, 6.0]
    >>> resampled(Series(np.array([1.0, 3.0]), step=20.0), 10.0).values.tolist()
    [1.0, 2.0, 3.0, 3.0]
    """
    if step == load.step or len(load) < 2:
        return Series(load.values, load.start, step)
    if step > load.step:
        edges = np.arange(0, len(load) * load.step / step + 1e-9) * step / load.step
        total = np.r_[0.0, np.cumsum(load.values)]
        at = np.interp(edges, np.arange(len(total)), total)
        return Series(np.diff(at) * load.step / step, load.start, step)
    times = np.arange(round(len(load) * load.step / step)) * step
    return Series(np.interp(times, np.arange(len(load)) * load.step, load.values), load.start, step)
