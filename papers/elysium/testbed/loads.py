"""The input loads of ELYSIUM's evaluation (section 5.1), as shares of what four nodes can do.

The paper draws its curves without figures. Their lows and highs are chosen here so that ELYSIUM saves about as many
nodes as the paper says. Recorded loads are played at 60 times their speed, as in the paper: a minute of the record is a
second of the run. Of every record the two busiest days are played, and what lies before them is the past.
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
RECORDED_PEAK = 0.85
"""What the busiest hour of a recorded load is, relative to what four nodes can do."""


@dataclass(frozen=True, eq=False)
class LoadCurve:
    """A load to run.

    Attributes:
        values: by second.
        past: by minute of the run, for what lies before it; empty if the policy is not to know any.
        start: when the run begins on the load's own calendar, in seconds since 1970, and ``step`` of a minute of it.
    """

    name: str
    values: Floats
    past: Floats
    start: float = 0.0
    step: float = 60.0


def all_curves(loads: Loads, quick: bool, seed: int) -> dict[str, LoadCurve]:
    """The paper's five curves, with the recorded tweets, and the World Cup's requests as a sixth."""
    square = 2400 if not quick else 1800
    found = [
        _repeated("stair", curves.stair(1800, LOW, HIGH), 1800, seed),
        LoadCurve("step", curves.step(900, 0.17, 0.7, 180, 420), np.zeros(0)),
        _repeated("square", curves.square(600, 0.28, 0.88, 600), square, seed),
        _repeated("sine", curves.sine(750, LOW, HIGH, 750), 1500, seed),
        recorded("twitter", _find(loads, "twitter_stream", seed), 24 if quick else 48),
        recorded("world cup", _find(loads, "worldcup", seed + 1), 24 if quick else 48),
    ]
    return {curve.name: curve for curve in found}


def _repeated(name: str, period: Floats, seconds: int, seed: int, hours: int = 168) -> LoadCurve:
    """A curve that has gone on for hours before the run, as measured then, with a deviation of 2 %.

    A week, unless told otherwise: the forecast sees the weekday and the hour, and learns from the first 70 % only. With
    less it would have to guess what a weekday or an hour is like that it has never seen.
    """
    before = hours * 3600 // len(period) * len(period)
    whole = np.tile(period, (before + seconds) // len(period) + 1)
    minutes = whole[:before].reshape(-1, MINUTE).mean(axis=1)
    past = minutes * (1 + 0.02 * np.random.default_rng(seed).standard_normal(len(minutes)))
    return LoadCurve(name, whole[before : before + seconds], past, start=float(before))


def recorded(name: str, series: Series, hours: int) -> LoadCurve:
    """The busiest days of a recorded load, a minute of it in every second."""
    per_minute = np.repeat(series.values, max(round(series.step / 60), 1))
    per_minute = per_minute[: len(per_minute) // MINUTE * MINUTE]
    hourly = per_minute.reshape(-1, MINUTE).mean(axis=1)
    total = np.convolve(hourly, np.ones(hours), mode="valid")
    total[: len(hourly) // 2] = 0  # the past must be long enough to learn from
    first = int(total.argmax())
    played = per_minute[first * MINUTE : (first + hours) * MINUTE]
    # A record with next to nothing in some minutes would make every relative error there huge.
    scale = RECORDED_PEAK / hourly[first : first + hours].max()
    values = np.maximum(played, 0.05 * np.median(played)) * scale
    return LoadCurve(name, values, hourly[:first] * scale, series.start + 3600.0 * first, 3600.0)


def _find(loads: Loads, prefix: str, seed: int) -> Series:
    """The record whose name begins so, or a synthetic one."""
    return next((s for name, s in loads.series.items() if name.startswith(prefix)), synthetic(21, 60.0, seed))
