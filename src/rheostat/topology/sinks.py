"""Sinks: where results go. Descriptions only; ``rheostat.spark.output.sink_writers`` writes them.

Every sink is written before the epoch commits, and is idempotent by epoch: if an epoch is repeated after a crash, its
rows replace what the first attempt left. What that guarantees in the end depends on the sink; see each one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from rheostat.errors import TopologyError


@dataclass(frozen=True)
class ParquetSink:
    """Exactly once. One directory ``epoch=N`` per epoch that has results, moved into place when it is complete.

    Readers see whole epochs on filesystems with an atomic rename (local, HDFS). ``epoch`` appears as a partition
    column when the folder is read.
    """

    path: str


@dataclass(frozen=True)
class ForeachSink:
    """Calls ``function(df, epoch)`` with the epoch's rows. Exactly once if the function is idempotent by epoch."""

    function: Callable[[Any, int], None] = field(compare=False)


@dataclass(frozen=True)
class FormatSink:
    """Any Spark batch format.

    With a path, rows go to ``path/epoch=N`` and are overwritten when an epoch is repeated: exactly once, but a reader
    may see an epoch that is still being written. Formats without a path (JDBC, Kafka) are appended to: at least once.
    """

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ConsoleSink:
    """Prints the first rows of every epoch. A repeated epoch is printed again."""

    rows: int = 20


class MemorySink:
    """Keeps results in the driver, for tests and notebooks. Exactly once while the process lives.

    >>> sink = MemorySink()
    >>> sink.put(0, pa.table({"n": [1]}))
    >>> sink.put(0, pa.table({"n": [1]}))  # the epoch is repeated
    >>> sink.frame()["n"].to_list()
    [1]
    """

    def __init__(self) -> None:
        self._epochs: dict[int, pa.Table] = {}

    def put(self, epoch: int, table: pa.Table) -> None:
        """Set an epoch's rows, in place of any earlier attempt."""
        self._epochs[epoch] = table

    @property
    def epochs(self) -> list[int]:
        """Epochs that have results."""
        return sorted(self._epochs)

    def arrow(self) -> pa.Table:
        """All results so far, in order of epoch."""
        if not self._epochs:
            return pa.table({})
        return pa.concat_tables([self._epochs[e] for e in self.epochs])

    def frame(self) -> pl.DataFrame:
        """All results so far, as a Polars frame."""
        result = pl.from_arrow(self.arrow())
        assert isinstance(result, pl.DataFrame)
        return result


Sink = ParquetSink | ForeachSink | FormatSink | ConsoleSink | MemorySink


def parquet(path: str) -> ParquetSink:
    """Parquet files by epoch under ``path``, exactly once."""
    return ParquetSink(path.rstrip("/"))


def memory() -> MemorySink:
    """Results in the driver's memory; read them with ``frame()``."""
    return MemorySink()


def console(rows: int = 20) -> ConsoleSink:
    """Print the first rows of every epoch."""
    return ConsoleSink(rows)


def foreach(function: Callable[[Any, int], None]) -> ForeachSink:
    """Hand every epoch's rows to ``function(df, epoch)``; make it idempotent by epoch."""
    if not callable(function):
        raise TopologyError(f"sinks.foreach() needs a function of (df, epoch), not {function!r}")
    return ForeachSink(function)


def format(name: str, path: str | None = None, **options: str) -> FormatSink:
    """Any Spark batch format, such as ``format("csv", "out", header="true")``."""
    return FormatSink(name, path.rstrip("/") if path else None, options)
