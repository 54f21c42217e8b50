"""The loads of ``rheostat bench autoscale``: a square wave, and a recorded load in fast motion.

A load is the number of cores that would be busy all the time.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.live_loads import KEYS, ROW_SECONDS
from rheostat.arrays import Floats
from rheostat.workloads.live_rows import LiveRows, live_rows
from rheostat.workloads.load_traces import loads as load_traces

NODES = 6
"""Nodes with one core each. The over-provisioned configuration has all of them."""

CALM, PEAK = 0.4, 3.6
"""The least and the highest load: at the peak, all nodes are busy for 60 % of the time."""

CYCLE = 120
"""Seconds of a square wave: half of them calm, half at the peak."""

PAST = 960
"""Seconds before a run that proactive policies know."""

RECORDED = "worldcup98_requests_per_minute"
"""The recorded load; a synthetic one stands in where recorded ones are missing. A minute of it takes a second, as in
ELYSIUM's evaluation (section 5.1)."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A load, second by second, in cores.

    Attributes:
        past: before the run; proactive policies may know it.
        load: during the run.
    """

    past: Floats
    load: Floats

    def rows(self) -> LiveRows:
        """Return the rows of the run."""
        return live_rows(self.load / ROW_SECONDS, keys=KEYS)

    def write_past(self, file: Path) -> None:
        """Write the past as a CSV file for ``start(history=...)``."""
        first = datetime(2026, 1, 1, tzinfo=UTC)
        with file.open("w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["time", "rows_per_s"])
            for second, rate in enumerate((self.past / ROW_SECONDS).tolist()):
                table.writerow([f"{first + timedelta(seconds=second):%Y-%m-%d %H:%M:%S}", rate])


def square(seconds: int) -> Curve:
    """Return waves, each calm first.

    >>> curve = square(120)
    >>> curve.load[[0, 59, 60, 119]].tolist(), len(curve.past) % CYCLE
    ([0.4, 0.4, 3.6, 3.6], 0)
    """
    wave = np.where(np.arange(-PAST, seconds) % CYCLE < CYCLE // 2, CALM, PEAK)
    return Curve(wave[:PAST], wave[PAST:])


def recorded(seconds: int) -> Curve:
    """Return a recorded load, scaled so that the run reaches from calm to peak.

    The run is the span with the largest difference between its least and its highest minute, of spans that begin at
    full hours.

    >>> curve = recorded(240)
    >>> len(curve.load), float(curve.load.min()), float(curve.load.max()), len(curve.past)
    (240, 0.4, 3.6, 960)
    """
    found = load_traces()
    series = found.series.get(RECORDED) or next(iter(found.series.values()))
    minutes = np.interp(
        np.arange(0.0, len(series) * series.step, 60.0), np.arange(len(series)) * series.step, series.values
    )
    starts = range(PAST, len(minutes) - seconds, 60)
    start = max(starts, key=lambda s: float(np.ptp(minutes[s : s + seconds])))
    least, most = minutes[start : start + seconds].min(), minutes[start : start + seconds].max()
    scaled = CALM + (PEAK - CALM) * (minutes[start - PAST : start + seconds] - least) / max(most - least, 1e-9)
    return Curve(np.maximum(scaled[:PAST], 0.0), scaled[PAST:])


LOADS = {"square": square, "recorded": recorded}
"""From the name of a load to its curve."""
