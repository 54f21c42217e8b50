"""The metric store: resource use of slots and nodes, and rows between operators, over time (sections 3.2 and 4).

An SQLite database, in a file or in memory; the paper used Derby. The key of a reading is its time and place, so a
reading that is written twice is stored once. If a reading is NaN, every sum that includes it is left out, because a sum
without it would be too low. No call waits for another process for longer than ``timeout`` seconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.profiles.samples import Traffic, Uses
from rheostat.errors import CheckpointError, CheckpointInUseError

CPU, MEMORY, BANDWIDTH = "cpu", "memory", "bandwidth"
"""Resources, in cycles per second, bytes, and bytes per second.

The bandwidth of a slot is what it receives, also from slots of the same node. The bandwidth of a node is what it sends
or receives over the network, whichever is more.
"""

VERSION = 1
_TABLES = {
    "traffic": "time REAL, topology TEXT, upstream TEXT, upstream_slot INT, downstream TEXT, downstream_slot INT, "
    "rate REAL, PRIMARY KEY (topology, time, upstream, upstream_slot, downstream, downstream_slot)",
    "slot_use": "time REAL, topology TEXT, operator TEXT, slot INT, node INT, resource TEXT, amount REAL, "
    "PRIMARY KEY (topology, time, operator, slot, resource)",
    "node_use": "time REAL, node INT, resource TEXT, amount REAL, PRIMARY KEY (time, node, resource)",
    "load": "time REAL, topology TEXT, rate REAL, PRIMARY KEY (topology, time)",
}
_COLUMNS = {"traffic": 7, "slot_use": 7, "node_use": 4, "load": 3}
_SLOTS = """
SELECT CASE WHEN count(t.rate) = count(*) THEN sum(t.rate) END, s.amount FROM slot_use s JOIN traffic t
  ON t.topology = s.topology AND t.time = s.time AND t.downstream = s.operator AND t.downstream_slot = s.slot
WHERE s.topology = ? AND s.operator = ? AND s.resource = ? AND s.time >= ? AND s.time < ?
GROUP BY s.time, s.slot ORDER BY s.time, s.slot"""
_NODES = """
SELECT s.total, n.amount FROM node_use n JOIN
  (SELECT time, node, CASE WHEN count(amount) = count(*) THEN sum(amount) END AS total
   FROM slot_use WHERE resource = ?1 GROUP BY time, node) s
  ON s.time = n.time AND s.node = n.node
WHERE n.resource = ?1 AND n.time >= ?2 AND n.time < ?3 ORDER BY n.time, n.node"""


@dataclass(frozen=True)
class Batch:
    """Readings that are written together; each is a tuple in the column order of its table.

    Attributes:
        traffic: (time, topology, upstream operator, its slot, downstream operator, its slot, rows per second).
        slots: (time, topology, operator, slot, node, resource, amount).
        nodes: (time, node, resource, amount).
        loads: (time, topology, rows per second of input).
    """

    traffic: Sequence[tuple[float, str, str, int, str, int, float]] = ()
    slots: Sequence[tuple[float, str, str, int, int, str, float]] = ()
    nodes: Sequence[tuple[float, int, str, float]] = ()
    loads: Sequence[tuple[float, str, float]] = ()


class MetricStore:
    """Stores and returns readings.

    Args:
        path: the SQLite file; None to keep the readings in memory.
        timeout: seconds to wait for a lock of another process.

    >>> with MetricStore() as store:
    ...     store.record(Batch(traffic=[(0.0, "t", "", 0, "a", 0, 5.0), (0.0, "t", "a", 0, "b", 0, 10.0)],
    ...                        slots=[(0.0, "t", "b", 0, 0, CPU, 2e9)]))
    ...     store.slot_uses("t", "b")
    Uses(given=array([10.]), used=array([2.e+09]))
    """

    def __init__(self, path: Path | None = None, timeout: float = 5.0) -> None:
        self._name = str(path) if path is not None else "in memory"
        self._timeout = timeout
        with self._explained():
            self._connection = sqlite3.connect(path or ":memory:", timeout=timeout, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def record(self, batch: Batch) -> None:
        """Write all readings of a batch, or none if that fails."""
        parts = {"traffic": batch.traffic, "slot_use": batch.slots, "node_use": batch.nodes, "load": batch.loads}
        with self._explained(), self._transaction():
            for table, rows in parts.items():
                marks = ", ".join("?" * _COLUMNS[table])
                self._connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)

    def traffic(self, topology: str, since: float = -np.inf, until: float = np.inf) -> Traffic:
        """Return the rows per second between operators, summed over their slots."""
        return Traffic.of(
            *self._rows(
                "SELECT time, upstream, downstream, CASE WHEN count(rate) = count(*) THEN sum(rate) END FROM traffic "
                "WHERE topology = ? AND time >= ? AND time < ? "
                "GROUP BY time, upstream, downstream ORDER BY time, upstream, downstream",
                (topology, since, until),
            )
        )

    def slot_uses(
        self, topology: str, operator: str, resource: str = CPU, since: float = -np.inf, until: float = np.inf
    ) -> Uses:
        """Return input rate and resource use of every slot of an operator, for all times that have both."""
        return _uses(self._rows(_SLOTS, (topology, operator, resource, since, until)))

    def node_uses(self, resource: str = CPU, since: float = -np.inf, until: float = np.inf) -> Uses:
        """Return the use of all slots on a node together, and of the node itself, for all times that have both."""
        return _uses(self._rows(_NODES, (resource, since, until)))

    def loads(
        self,
        topology: str,
        step: float = 60.0,
        since: float = -np.inf,
        until: float = np.inf,
        origin: float = 0.0,
    ) -> Series:
        """Return the mean input load of every step of time; a step without a reading gets the value before it.

        Args:
            topology: whose input load.
            step: seconds of a step.
            since: ignore readings before this time.
            until: ignore readings from this time on.
            origin: the time at which some step begins; all others begin whole steps before or after it.
        """
        rows = self._rows(
            "SELECT CAST(floor((time - ?4) / ?1) AS INT), avg(rate) FROM load WHERE topology = ?2 AND time < ?3 "
            "AND time >= ?5 AND abs(rate) < 9e999 GROUP BY 1 ORDER BY 1",
            (step, topology, until, origin, since),
        )
        if not rows:
            return Series(np.zeros(0), origin, step)
        numbers, rates = (np.array(column) for column in zip(*rows, strict=True))
        steps = np.arange(numbers[0], numbers[-1] + 1)
        latest = np.searchsorted(numbers, steps, side="right") - 1
        return Series(rates[latest].astype(np.float64), origin + float(numbers[0] * step), step)

    def forget(self, before: float) -> int:
        """Delete all readings before a time, and return how many there were."""
        with self._explained(), self._transaction():
            return sum(
                self._connection.execute(f"DELETE FROM {table} WHERE time < ?", (before,)).rowcount for table in _TABLES
            )

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepare(self) -> None:
        with self._explained():
            version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
            if version > VERSION:
                raise CheckpointError(
                    f"the metric store {self._name} has format {version}, but this version of Rheostat reads formats "
                    f"up to {VERSION}: use a newer Rheostat, or another file"
                )
            if version < VERSION:
                # With a write-ahead log, readers and a writer do not wait for each other.
                self._connection.execute("PRAGMA journal_mode = WAL")
                with self._transaction():
                    for table, columns in _TABLES.items():
                        self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns}) WITHOUT ROWID")
                    self._connection.execute(f"PRAGMA user_version = {VERSION}")
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._explained():
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of SQLite into errors that name the store and say what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise CheckpointInUseError(
                    f"the metric store {self._name} was locked by another process for more than {self._timeout:g} "
                    "seconds: stop that process, or pass a longer timeout"
                ) from error
            raise CheckpointError(
                f"the metric store {self._name} cannot be used: {error}; check that its folder exists and is writable"
            ) from error
        except sqlite3.ProgrammingError:
            raise  # a mistake of the caller: a row with too few columns, or a closed store
        except sqlite3.DatabaseError as error:
            raise CheckpointError(
                f"the metric store {self._name} is damaged or not an SQLite file: {error}; delete it, or use another "
                "file"
            ) from error


def _uses(rows: list[tuple[Any, ...]]) -> Uses:
    given, used = zip(*rows, strict=True) if rows else ((), ())
    return Uses.of(given, used)
