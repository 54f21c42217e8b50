"""A running query: what ``start`` returns."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from rheostat.choices import ExplainFormat
from rheostat.elastic.routing.balance import THRESHOLD
from rheostat.planning.view import View, view_of
from rheostat.spark.epoch.epoch_runner import EpochRunner
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.progress import Progress
from rheostat.spark.stage.stage import explain_error


@dataclass(frozen=True, kw_only=True)
class Status:
    """How a query is doing.

    Attributes:
        state: ``running``, ``stopped`` or ``failed``.
        epoch: the newest committed epoch; -1 before the first.
        rows: rows since the checkpoint was made.
        results: result rows since the checkpoint was made.
        state_bytes: size of the state that the newest epoch needs.
        late: rows that missed a window since the checkpoint was made.
        dropped: rows that missed every window since the checkpoint was made.
        nulls: rows without event time since the checkpoint was made.
        watermarks: per source, the watermark in microseconds since 1970; None before the first row.

    >>> query.await_epoch(1)
    True
    >>> query.status.state, query.status.rows
    ('running', 5)
    """

    state: str
    epoch: int
    rows: int
    results: int
    state_bytes: int
    late: int
    dropped: int
    nulls: int
    watermarks: dict[str, int | None]


class Query:
    """A running query: what ``Topology.start`` returns.

    In the examples of its methods, ``query`` counts loans per area and hour, over two small files.

    Attributes:
        name: the topology's name.

    >>> t = rh.Topology("lending")
    >>> stored = t.source(loans, event_time="ts").sink(rh.sinks.memory())
    >>> query = t.start(folder, trigger=rh.AVAILABLE_NOW)
    >>> query.await_termination()
    True
    >>> query
    Query('lending', stopped, epoch 1)
    """

    def __init__(
        self, spark_query: StreamingQuery, runner: EpochRunner, job: QueryContext, history: deque[Progress]
    ) -> None:
        self.name = job.graph.name
        self._runner = runner
        self._job = job
        self._spark_query = spark_query
        self._checkpoint = job.checkpoint
        self._history = history
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name=f"rheostat-{self.name}", daemon=True).start()

    @property
    def view(self) -> View:
        """How the query runs, as plain values.

        >>> [component.name for component in query.view.components]
        ['by area']
        """
        return view_of(self._job.graph, self._job.plan, self._job.actuator.routing)

    @property
    def routing(self) -> dict[str, tuple[int, ...]]:
        """Per component, the slot of every shard in the newest epoch.

        >>> len(query.routing["by area"])
        256
        """
        return self._job.actuator.routing

    def rescale(self, slots: int, component: str | None = None) -> None:
        """Use another number of slots from the next epoch on, without a stop.

        Args:
            slots: how many, between one and the number of shards.
            component: only in this one; in every component that has keys by default. ``explain`` names them.

        >>> query.rescale(slots=4)
        """
        self._job.loop.inbox.rescale(slots, component)

    def rebalance(self, component: str | None = None, threshold: float = THRESHOLD) -> None:
        """Move shards from the most to the least loaded slots at the next epoch (Elasticutor section 3.1).

        Args:
            component: only in this one; in every component that has keys by default.
            threshold: the busiest slot may have this many times the mean.

        >>> query.rebalance(threshold=1.5)
        """
        self._job.loop.inbox.rebalance(threshold, component)

    def reassign(self, component: str, routing: Sequence[int]) -> None:
        """Give every shard of a component a slot of your own choice from the next epoch on.

        Args:
            component: as ``explain`` names it.
            routing: the slot of every shard.

        >>> query.reassign("by area", [shard % 3 for shard in range(256)])
        """
        self._job.loop.inbox.reassign(component, tuple(routing))

    @property
    def is_active(self) -> bool:
        """True until the query has ended.

        >>> query.is_active
        True
        """
        return not self._ended.is_set()

    @property
    def progress(self) -> list[Progress]:
        """What the last 1,000 epochs did, oldest first.

        >>> query.await_epoch(1)
        True
        >>> [(progress.epoch, progress.rows) for progress in query.progress[:2]]
        [(0, 3), (1, 2)]
        """
        return list(self._history)

    @property
    def status(self) -> Status:
        """How the query is doing, in numbers.

        >>> query.await_epoch(0)
        True
        >>> query.status.late
        0
        """
        manifest = self._checkpoint.manifest
        sources = manifest.sources.values()
        return Status(
            state="running" if self.is_active else "stopped" if self.exception() is None else "failed",
            epoch=manifest.epoch,
            rows=manifest.totals.get("rows", 0),
            results=manifest.totals.get("results", 0),
            state_bytes=manifest.state_bytes,
            late=sum(s.late for s in sources),
            dropped=sum(s.dropped for s in sources),
            nulls=sum(s.nulls for s in sources),
            watermarks=dict(manifest.watermarks),
        )

    def explain(self, format: ExplainFormat = "text") -> str:
        """Components, shuffles and how each window is derived.

        Args:
            format: ``text``, or ``mermaid`` for a flowchart.

        >>> "by area: 2 slots" in query.explain()
        True
        """
        return self.view.render(format)

    def exception(self) -> BaseException | None:
        """What ended the query, if it failed: an error of Rheostat's that names the operator, or Spark's own.

        >>> print(query.exception())
        None
        """
        error = self._spark_query.exception()
        if error is None:
            return None
        return self._runner.failure or explain_error(error)

    def stop(self, timeout: float = 60.0) -> None:
        """End the query. An epoch under way is given up; it will be repeated when the query is started again.

        Args:
            timeout: seconds to wait for the end; a ``TimeoutError`` is raised after that.

        >>> query.stop()
        >>> query.is_active
        False
        """
        self._runner.give_up()
        self._spark_query.stop()
        if not self._ended.wait(timeout):
            raise TimeoutError(f"query {self.name!r} did not stop within {timeout} s")

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query ends: True if it did, False if the timeout came first. A failed query's error is raised.

        Args:
            timeout: seconds to wait; None waits for ever.

        >>> query.await_termination(timeout=0.1)
        False
        """
        if not self._ended.wait(timeout):
            return False
        error = self.exception()
        if error is not None:
            raise error
        return True

    def await_epoch(self, epoch: int, timeout: float = 60.0) -> bool:
        """Wait until an epoch is committed: True if it was, False if the timeout or the query's end came first.

        Args:
            epoch: its number; epochs are counted from 0 since the checkpoint was made.
            timeout: seconds to wait.

        >>> query.await_epoch(1)
        True
        """
        deadline = time.monotonic() + timeout
        while self._checkpoint.manifest.epoch < epoch:
            if self._ended.wait(0.02) and self._checkpoint.manifest.epoch < epoch:
                self.await_termination()
                return False
            if time.monotonic() > deadline:
                return False
        return True

    def _watch(self) -> None:
        """Give the checkpoint up as soon as Spark's query has ended, however it ended."""
        try:
            with suppress(Exception):  # kept by Spark, and told by exception()
                self._spark_query.awaitTermination()
        finally:
            self._checkpoint.close()
            self._ended.set()

    def __repr__(self) -> str:
        return f"Query({self.name!r}, {self.status.state}, epoch {self._checkpoint.manifest.epoch})"
