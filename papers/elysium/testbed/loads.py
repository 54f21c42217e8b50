"""The input loads of ELYSIUM's evaluation (section 5.1), as shares of what four nodes can process.

The paper draws its curves without printing numbers. Their lowest and highest values are chosen here so that ELYSIUM
saves about as many nodes as the paper reports. Recorded loads are played 60 times as fast as recorded, as in the paper:
a second of the run is a minute of the recording. A run plays the two busiest days of a recording; everything before
them is the past that forecasts learn from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.elysium.testbed import curves
from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.workloads.load_traces import Loads, synthetic

MINUTE = 60
LOW, HIGH = 0.15, 0.95
"""Lowest and highest load of the stair and the sine."""
RECORDED_PEAK = 0.85
"""Load of the busiest hour of a recording."""


@dataclass(frozen=True, eq=False)
class LoadCurve:
    """A load to run, in shares of what four nodes can process.

    Attributes:
        name: the name in claims and figures.
        values: load in every second of the run.
        past: load before the run, one value per minute; empty if the policy knows no past.
        start: time at which the run begins on the load's own calendar, in seconds since 1970.
        step: seconds that a minute of the run takes on that calendar; 3600 for recordings.
    """

    name: str
    values: Floats
    past: Floats
    start: float = 0.0
    step: float = 60.0


def all_curves(loads: Loads, quick: bool, seed: int) -> dict[str, LoadCurve]:
    """Return the paper's five curves, by name, and requests to the World Cup site as a sixth."""
    square_seconds, hours = (1800, 24) if quick else (2400, 48)
    curve_list = [
        _periodic_curve("stair", curves.stair(1800, LOW, HIGH), 1800, seed),
        LoadCurve("step", curves.step(900, 0.17, 0.7, 180, 420), np.zeros(0)),
        _periodic_curve("square", curves.square(600, 0.28, 0.88, 600), square_seconds, seed),
        _periodic_curve("sine", curves.sine(750, LOW, HIGH, 750), 1500, seed),
        recorded_curve("twitter", _recording(loads, "twitter_stream", seed), hours),
        recorded_curve("world cup", _recording(loads, "worldcup", seed + 1), hours),
    ]
    return {curve.name: curve for curve in curve_list}


def _periodic_curve(name: str, period: Floats, seconds: int, seed: int, hours: int = 168) -> LoadCurve:
    """Return a curve that repeats one period, with a past of some hours that was measured with a deviation of 2 %.

    The default past is a week. The forecast uses weekday and hour, and learns from the first 70 % of the past: with
    less than a week, the run would fall on weekdays or hours that it has never seen.
    """
    before = hours * 3600 // len(period) * len(period)
    whole = np.tile(period, (before + seconds) // len(period) + 1)
    minutes = whole[:before].reshape(-1, MINUTE).mean(axis=1)
    past = minutes * (1 + 0.02 * np.random.default_rng(seed).standard_normal(len(minutes)))
    return LoadCurve(name, whole[before : before + seconds], past, start=float(before))


def recorded_curve(name: str, series: Series, hours: int) -> LoadCurve:
    """Return the busiest hours of a recording, one second for each of its minutes, and the hours before as the past."""
    per_minute = np.repeat(series.values, max(round(series.step / 60), 1))
    per_minute = per_minute[: len(per_minute) // MINUTE * MINUTE]
    hourly = per_minute.reshape(-1, MINUTE).mean(axis=1)
    total = np.convolve(hourly, np.ones(hours), mode="valid")
    total[: len(hourly) // 2] = 0  # the past must be long enough to learn from
    first = int(total.argmax())
    played = per_minute[first * MINUTE : (first + hours) * MINUTE]
    # Relative errors would be huge in minutes with almost no load, so there is a floor.
    scale = RECORDED_PEAK / hourly[first : first + hours].max()
    values = np.maximum(played, 0.05 * np.median(played)) * scale
    return LoadCurve(name, values, hourly[:first] * scale, series.start + 3600.0 * first, 3600.0)


def _recording(loads: Loads, prefix: str, seed: int) -> Series:
    """Return the load whose name begins with the prefix, or a synthetic one if there is none."""
    return next((s for name, s in loads.series.items() if name.startswith(prefix)), synthetic(21, 60.0, seed))
