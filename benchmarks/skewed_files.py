"""The input of the benchmarks: Parquet files of rows with skewed keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "ts timestamp, key bigint, value bigint"
START = 1_767_225_600_000_000
"""Event time of the first row in microseconds: 2026-01-01 00:00 UTC."""

SLACK = "10 seconds"
"""Delay of the watermark on both sides of the window benchmarks."""


@dataclass(frozen=True)
class SkewedFiles:
    """Rows (ts, key, value) with Zipf-distributed keys, sorted by time within and across files.

    Attributes:
        rows: number of rows in all files together.
        files: number of files.
        keys: number of distinct keys.
        minutes: minutes of event time that the rows span.
        skew: exponent of the Zipf distribution; 0 is uniform.
        seed: seed of all random numbers.
    """

    rows: int
    files: int = 8
    keys: int = 10_000
    minutes: float = 240
    skew: float = 1.0
    seed: int = 1

    def write(self, folder: Path, done: Callable[[int], None] = lambda _: None) -> None:
        """Write the files; ``done`` is called after each file with the number of rows written so far."""
        folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(self.seed)
        weights = 1 / np.arange(1, self.keys + 1) ** self.skew
        share = np.cumsum(weights / weights.sum())
        names = rng.permutation(self.keys)  # popular keys get random numbers
        span = round(self.minutes * 60_000_000) // self.files
        written = 0
        for number in range(self.files):
            count = self.rows * (number + 1) // self.files - written
            ranks = np.searchsorted(share, rng.random(count)).clip(0, self.keys - 1)
            times = START + number * span + np.sort(rng.integers(0, span, count))
            path = folder / f"{number:05d}.parquet"
            write_rows(path, times, names[ranks], rng.integers(0, 1_000, count), number)
            written += count
            done(written)


def write_rows(
    path: Path,
    times: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
    order: int,
) -> None:
    """Write one file.

    Args:
        path: the file.
        times: event times in microseconds since 1970.
        keys: the keys.
        values: the values.
        order: place of the file among all files; sets the modification time, by which Spark orders files.
    """
    columns = {"ts": pa.array(times, pa.timestamp("us", tz="UTC")), "key": keys, "value": values}
    pq.write_table(pa.table(columns), path)
    os.utime(path, (1_000_000_000 + order, 1_000_000_000 + order))


def stream(spark: Any, data: Path, files_per_epoch: int = 1) -> Any:
    """Return the files of a folder as a streaming DataFrame."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_per_epoch).parquet(str(data))
