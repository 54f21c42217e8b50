"""Recorded load curves, read from a folder, or a synthetic stand-in with days, weeks and bursts.

The folder is ``load`` in the one that the environment variable ``RHEOSTAT_DATA`` names. Every CSV file in it is a load:
the first column is a time (``YYYY-MM-DD HH:MM:SS``) or a number of minutes, the second an amount. What was not recorded
(a missing time, or an empty minute in a file whose other columns are empty too) gets the value before it.
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
NUMBERED_FROM = datetime(2021, 8, 1, tzinfo=UTC).timestamp()
"""When a file begins whose first column only counts minutes."""


@dataclass(frozen=True)
class Loads:
    """Load curves by name, and where they come from.

    Attributes:
        series: each load by its name.
        recorded: True if recorded, False if synthetic.
        note: one sentence for a report.
    """

    series: dict[str, Series]
    recorded: bool
    note: str


def folder(data: Path | None = None) -> Path | None:
    """The folder with recorded loads, in the one given or the one that the environment names; None if there is none."""
    root = data or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    found = root / "load" if root is not None else None
    return found if found is not None and any(found.glob("*.csv")) else None


def loads(data: Path | None = None, seed: int = 1) -> Loads:
    """Every recorded load, or synthetic ones if there are none."""
    where = folder(data)
    if where is None:
        made = {f"synthetic {kind}": synthetic(days, step, seed + n) for n, (kind, days, step) in enumerate(_KINDS)}
        return Loads(made, False, f"{VARIABLE} names no folder with recorded loads: using synthetic ones")
    found = {path.stem: read(path) for path in sorted(where.glob("*.csv"))}
    return Loads(found, True, f"{len(found)} recorded loads")


def read(path: Path) -> Series:
    """One recorded load, with its gaps filled."""
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
    return filled(times[~missing], amounts[~missing, 0], float(values[counts.argmax()]), float(times[-1]))


def filled(times: Floats, amounts: Floats, step: float, last: float) -> Series:
    """Values at equal distances from the first time to ``last``; where one is missing it gets the one before it.

    >>> filled(np.array([0.0, 60.0, 240.0]), np.array([1.0, 2.0, 5.0]), step=60.0, last=300.0).values
    array([1., 2., 2., 2., 5., 5.])
    """
    wanted = times[0] + step * np.arange(round((last - times[0]) / step) + 1)
    position = np.searchsorted(times, wanted + step / 2) - 1
    return Series(amounts[position], float(times[0]), step)


def synthetic(days: int, step: float, seed: int, bursts: float = 1.5) -> Series:
    """A load with a daily and a weekly cycle, slow drift, noise, and bursts that rise fast and fade.

    Args:
        bursts: how many a day has on average.

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


_KINDS = (("minutes", 21, 60.0), ("five minutes", 42, 300.0), ("half hours", 140, 1800.0))


def _seconds(text: str) -> float:
    """Seconds since 1970 of a time, or of a number of minutes."""
    if text.isdigit():
        return NUMBERED_FROM + 60.0 * int(text)
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
