"""Sinks, where results go. These are descriptions; ``rheostat.spark.output.sink_writers`` does the writing.

Results are written before the epoch commits. If an epoch is repeated after a crash, its rows replace those of the first
attempt where the sink allows it. Each sink says what it guarantees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from rheostat.errors import TopologyError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["MemorySink", "Sink", "console", "foreach", "format", "memory", "parquet"]

EpochFunction = Callable[["DataFrame", int], None]
"""A function that takes the rows of an epoch and the epoch's number."""


@dataclass(frozen=True)
class ParquetSink:
    """Writes Parquet files, exactly once.

    Every epoch with results becomes a folder ``epoch=N``, which is renamed into place when it is complete. Readers
    see only whole epochs if the filesystem renames atomically (local, HDFS). Reading the folder gives ``epoch`` as a
    partition column.

    Attributes:
        path: the folder.
    """

    path: str


@dataclass(frozen=True)
class ForeachSink:
    """Calls a function with the rows of every epoch. Exactly once if the function is idempotent by epoch.

    Attributes:
        function: called as ``function(df, epoch)``.
    """

    function: EpochFunction = field(compare=False)


@dataclass(frozen=True)
class FormatSink:
    """Writes any Spark batch format.

    With a path, rows go to ``path/epoch=N``, which a repeated epoch overwrites: exactly once, but a reader may see an
    epoch that is still being written. Formats without a path (JDBC, Kafka) are appended to: at least once.

    Attributes:
        format: Spark's name of the format.
        path: the folder; None for a format without one.
        options: options for Spark's writer.
        partition_by: columns by whose values rows go to folders of their own.
    """

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConsoleSink:
    """Prints the first rows of every epoch. A repeated epoch is printed again.

    Attributes:
        rows: how many rows to print per epoch.
    """

    rows: int = 20


class MemorySink:
    """Keeps results in the driver's memory, for tests and notebooks. Exactly once as long as the process lives.

    >>> sink = MemorySink()
    >>> sink.put(0, pa.table({"n": [1]}))
    >>> sink.put(0, pa.table({"n": [1]}))  # the epoch is repeated
    >>> sink.frame()["n"].to_list()
    [1]
    """

    def __init__(self) -> None:
        self._epochs: dict[int, pa.Table] = {}

    def put(self, epoch: int, table: pa.Table) -> None:
        """Set the rows of an epoch, replacing those of an earlier attempt."""
        self._epochs[epoch] = table

    @property
    def epochs(self) -> list[int]:
        """The epochs that have results, in order.

        >>> sink = MemorySink()
        >>> sink.put(3, pa.table({"n": [1]}))
        >>> sink.epochs
        [3]
        """
        return sorted(self._epochs)

    def arrow(self) -> pa.Table:
        """All results so far as an Arrow table, ordered by epoch; without columns if there are none.

        >>> MemorySink().arrow().num_rows
        0
        """
        if not self._epochs:
            return pa.table({})
        return pa.concat_tables([self._epochs[e] for e in self.epochs])

    def frame(self) -> pl.DataFrame:
        """All results so far as a Polars frame, ordered by epoch.

        >>> sink = MemorySink()
        >>> sink.put(0, pa.table({"n": [1, 2]}))
        >>> sink.frame().rows()
        [(1,), (2,)]
        """
        result = pl.from_arrow(self.arrow())
        assert isinstance(result, pl.DataFrame)
        return result


Sink = ParquetSink | ForeachSink | FormatSink | ConsoleSink | MemorySink
"""Any of the sinks, for annotations; the functions below make them."""


def parquet(path: str) -> ParquetSink:
    """Write Parquet files, one folder per epoch, exactly once.

    Args:
        path: the folder.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> stored = source.sink(rh.sinks.parquet(f"{folder}/loans"))
    """
    return ParquetSink(path.rstrip("/"))


def memory() -> MemorySink:
    """Keep results in the driver's memory, for tests and notebooks; read them with ``frame()`` or ``arrow()``.

    >>> t = rh.Topology("lending")
    >>> out = rh.sinks.memory()
    >>> kept = t.source(loans, event_time="ts").sink(out)
    >>> t.start(folder, trigger=rh.AVAILABLE_NOW).await_termination()
    True
    >>> out.epochs, out.frame()["amount"].sum()
    ([0, 1], 1500.0)
    """
    return MemorySink()


def console(rows: int = 20) -> ConsoleSink:
    """Print the first rows of every epoch.

    Args:
        rows: how many rows to print per epoch.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> printed = source.sink(rh.sinks.console(5))
    """
    return ConsoleSink(rows)


def foreach(function: EpochFunction) -> ForeachSink:
    """Call a function with the rows of every epoch. Make it idempotent by epoch: a repeated epoch calls it again.

    Args:
        function: called as ``function(df, epoch)`` on the driver, at least once for every epoch that has rows.

    >>> def replace_epoch(df, epoch):
    ...     df.write.mode("overwrite").json(f"{folder}/loans/epoch={epoch}")
    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> written = source.sink(rh.sinks.foreach(replace_epoch))
    """
    if not callable(function):
        raise TopologyError(f"sinks.foreach() needs a function of (df, epoch), not {function!r}")
    return ForeachSink(function)


def format(name: str, path: str | None = None, *, partition_by: Iterable[str] = (), **options: str) -> FormatSink:
    """Write any Spark batch format.

    Args:
        name: Spark's name of the format.
        path: the folder; leave it out for a format without one, such as ``jdbc``.
        partition_by: columns by whose values rows go to folders of their own, as in ``epoch=3/area=north``.
        options: options for Spark's writer.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> written = source.sink(rh.sinks.format("csv", f"{folder}/loans", partition_by=["area"], header="true"))
    """
    if isinstance(partition_by, str):
        raise TopologyError(f"sinks.format(): partition_by={partition_by!r} must be a list, as in [{partition_by!r}]")
    return FormatSink(name, path.rstrip("/") if path else None, options, tuple(partition_by))


def check_sink(stream: str, sink: object) -> None:
    """Raise ``TopologyError`` if ``sink`` is not a sink."""
    if not isinstance(sink, (ParquetSink, ForeachSink, FormatSink, ConsoleSink, MemorySink)):
        raise TopologyError(f"stream {stream!r}: {sink!r} is not a sink; use one of rh.sinks, such as parquet(...)")
