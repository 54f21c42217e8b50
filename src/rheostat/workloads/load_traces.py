"""Recorded load curves, read from a folder, or synthetic ones with daily and weekly cycles and bursts.

The environment variable ``RHEOSTAT_DATA`` names a folder, and loads are the CSV files in its subfolder ``load``. The
first column is a time (``YYYY-MM-DD HH:MM:SS``) or a number of minutes, the second one an amount. Missing times get the
value before them. So do rows in which all amounts are 0, in files with more than one column of amounts.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Series
from rheostat.errors import ConfigurationError

VARIABLE = "RHEOSTAT_DATA"
"""The environment variable that names the folder of recorded data."""

NUMBERED_FROM = datetime(2021, 8, 1, tzinfo=UTC).timestamp()
"""Start of files whose first column counts minutes, in seconds since 1970."""

_SYNTHETIC = (("minutes", 21, 60.0), ("five minutes", 42, 300.0), ("half hours", 140, 1800.0))
"""Names of the synthetic loads, their lengths in days, and their steps in seconds."""


@dataclass(frozen=True)
class Loads:
    """Load curves by name, and where they come from.

    Attributes:
        series: the loads by name.
        recorded: True if they are recorded, False if they are synthetic.
        note: where they come from, as a text for reports.
    """

    series: dict[str, Series]
    recorded: bool
    note: str


def folder(data: Path | None = None) -> Path | None:
    """Return the folder of recorded loads, or None if there is none.

    Args:
        data: folder of recorded data; by default the one that ``RHEOSTAT_DATA`` names.
    """
    root = data or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    load = root / "load" if root is not None else None
    return load if load is not None and any(load.glob("*.csv")) else None


def loads(data: Path | None = None, seed: int = 1) -> Loads:
    """Return all recorded loads, or synthetic ones if there are none.

    Args:
        data: see ``folder``.
        seed: seed of synthetic loads.
    """
    where = folder(data)
    if where is None:
        made = {f"synthetic {name}": synthetic(days, step, seed + n) for n, (name, days, step) in enumerate(_SYNTHETIC)}
        return Loads(made, False, f"{VARIABLE} names no folder with recorded loads: using synthetic ones")
    recorded = {path.stem: read(path) for path in sorted(where.glob("*.csv"))}
    return Loads(recorded, True, f"{len(recorded)} recorded loads")


def read(path: Path) -> Series:
    """Return the load of a file, with its gaps filled."""
    with path.open(newline="") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        records = [row for row in rows if row]
    if len(header) < 2 or not records:
        raise ConfigurationError(f"{path} is not a load: it needs a header, and rows with a time and an amount")
    try:
        times = np.array([_seconds(row[0]) for row in records])
        amounts = np.array([[float(cell) for cell in row[1:]] for row in records])
    except ValueError as error:
        raise ConfigurationError(f"{path} is not a load: {error}") from error
    steps = np.diff(times)
    if not len(steps) or steps.min() <= 0:
        raise ConfigurationError(f"{path} is not a load: it needs at least two times, in ascending order")
    values, counts = np.unique(steps, return_counts=True)
    missing = (amounts == 0).all(axis=1) & (np.arange(len(amounts)) > 0) & (amounts.shape[1] > 1)
    return fill_gaps(times[~missing], amounts[~missing, 0], float(values[counts.argmax()]), float(times[-1]))


def fill_gaps(times: Floats, amounts: Floats, step: float, last: float) -> Series:
    """Return one value per step, from the first time to ``last``; a missing value is the one before it.

    >>> fill_gaps(np.array([0.0, 60.0, 240.0]), np.array([1.0, 2.0, 5.0]), step=60.0, last=300.0).values
    array([1., 2., 2., 2., 5., 5.])
    """
    grid = times[0] + step * np.arange(round((last - times[0]) / step) + 1)
    position = np.searchsorted(times, grid + step / 2) - 1
    return Series(amounts[position], float(times[0]), step)


def synthetic(days: int, step: float, seed: int, bursts: float = 1.5) -> Series:
    """Return a load with a daily and a weekly cycle, slow drift, noise, and bursts that rise fast and fade.

    Args:
        days: length in days.
        step: seconds between two values.
        seed: seed of all random numbers.
        bursts: mean number of bursts per day.

    >>> load = synthetic(days=14, step=300.0, seed=1)
    >>> len(load), bool(load.values.min() >= 0)
    (4032, True)
    """
    rng = np.random.default_rng(seed)
    count = round(days * DAY / step)
    time = step * np.arange(count)
    day = 0.55 - 0.45 * np.cos(2 * np.pi * (time / DAY - 0.15))
    week = np.where(time % WEEK < 5 * DAY, 1.0, 0.7)
    drift = np.exp(np.cumsum(rng.normal(0.0, 0.01 * np.sqrt(step / DAY) * 10, count)))
    load = 1000 * (0.15 + day) * week * drift
    for start in rng.uniform(0, days * DAY, rng.poisson(bursts * days)):
        height, width = rng.lognormal(np.log(0.8), 0.6), rng.uniform(600, 5400)
        after = np.maximum(time - start, 0.0)
        shape = np.minimum(after / 300, 1.0) * np.exp(-after / width)
        load = load * (1 + height * shape)
    return Series(rng.poisson(load).astype(np.float64), 0.0, step)


def _seconds(text: str) -> float:
    """Return seconds since 1970 of a time, or of a number of minutes since ``NUMBERED_FROM``."""
    if text.isdigit():
        return NUMBERED_FROM + 60.0 * int(text)
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
