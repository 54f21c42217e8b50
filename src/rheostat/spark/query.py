"""A running query: what ``start`` returns."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from rheostat.elastic.routing.balance import THRESHOLD
from rheostat.planning.view import View, view_of
from rheostat.spark.epoch.epoch import EpochRunner
from rheostat.spark.epoch.job import Job
from rheostat.spark.progress import Progress
from rheostat.spark.stage.stage import explained


@dataclass(frozen=True)
class Status:
    """How a query is doing.

    Attributes:
        state: ``running``, ``stopped`` or ``failed``.
        epoch: the newest committed epoch; -1 before the first.
        rows: rows since the checkpoint was made; ``results`` likewise.
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
    """Handle of a running query."""

    def __init__(self, spark_query: StreamingQuery, runner: EpochRunner, job: Job, history: deque[Progress]) -> None:
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
        """How the query runs, as plain values."""
        return view_of(self._job.graph, self._job.plan, self._job.actuator.routing)

    @property
    def routing(self) -> dict[str, tuple[int, ...]]:
        """Per component, the slot of every shard in the newest epoch."""
        return self._job.actuator.routing

    def rescale(self, slots: int, component: str | None = None) -> None:
        """Use another number of slots from the next epoch on, without a stop.

        Args:
            slots: how many, between one and the number of shards.
            component: only in this one; in every component that has keys by default. ``explain`` names them.
        """
        self._job.loop.inbox.rescale(slots, component)

    def rebalance(self, component: str | None = None, threshold: float = THRESHOLD) -> None:
        """Move shards from the most to the least loaded slots at the next epoch (Elasticutor section 3.1).

        Args:
            threshold: how much more than the mean the busiest slot may have.
        """
        self._job.loop.inbox.rebalance(threshold, component)

    def reassign(self, component: str, routing: Sequence[int]) -> None:
        """Give every shard of a component a slot of your own choice from the next epoch on."""
        self._job.loop.inbox.reassign(component, tuple(routing))

    @property
    def is_active(self) -> bool:
        """Whether epochs still run."""
        return not self._ended.is_set()

    @property
    def progress(self) -> list[Progress]:
        """What the last epochs did, oldest first."""
        return list(self._history)

    @property
    def status(self) -> Status:
        """How the query is doing."""
        manifest = self._checkpoint.manifest
        sources = manifest.sources.values()
        return Status(
            "running" if self.is_active else "stopped" if self.exception() is None else "failed",
            manifest.epoch,
            manifest.totals.get("rows", 0),
            manifest.totals.get("results", 0),
            manifest.state_bytes,
            sum(s.late for s in sources),
            sum(s.dropped for s in sources),
            sum(s.nulls for s in sources),
            dict(manifest.watermarks),
        )

    def explain(self, format: str = "text") -> str:
        """Components, shuffles and how each window is derived, as ``text`` or ``mermaid``."""
        return self.view.render(format)

    def exception(self) -> BaseException | None:
        """What ended the query, if it failed: an error of Rheostat's that names the operator, or Spark's own."""
        error = self._spark_query.exception()
        if error is None:
            return None
        return self._runner.failure or explained(error)

    def stop(self, timeout: float = 60.0) -> None:
        """End the query. An epoch under way is given up; it will be repeated when the query is started again."""
        self._runner.give_up()
        self._spark_query.stop()
        if not self._ended.wait(timeout):
            raise TimeoutError(f"query {self.name!r} did not stop within {timeout} s")

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query ends; whether it did within ``timeout`` seconds. A failed query's error is raised."""
        if not self._ended.wait(timeout):
            return False
        error = self.exception()
        if error is not None:
            raise error
        return True

    def await_epoch(self, epoch: int, timeout: float = 60.0) -> bool:
        """Wait until an epoch is committed; whether it was within ``timeout`` seconds."""
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
