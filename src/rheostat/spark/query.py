"""The handle of a running query, as ``Topology.start`` returns it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from rheostat.choices import ExplainFormat
from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.loop.events import EventKind
from rheostat.elastic.model.roster import ClusterNode
from rheostat.elastic.model.slo import Slo
from rheostat.elastic.routing.balance import THRESHOLD
from rheostat.errors import ConfigurationError
from rheostat.planning import compatibility
from rheostat.planning.physical import plan_physical
from rheostat.planning.view import View, view_of
from rheostat.spark.epoch.epoch_runner import EpochRunner
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.progress import Progress
from rheostat.spark.resume import figures_in
from rheostat.spark.stage.stage import explain_error


@dataclass(frozen=True, kw_only=True)
class Status:
    """The state of a query in numbers.

    Attributes:
        state: ``running``, ``stopped`` or ``failed``.
        epoch: the newest committed epoch; -1 before the first.
        rows: rows read since the checkpoint was created.
        results: result rows since the checkpoint was created.
        state_bytes: size of the state after the newest epoch, in bytes.
        late: rows that missed at least one window, since the checkpoint was created.
        dropped: rows that missed every window, since the checkpoint was created.
        nulls: rows without event time, since the checkpoint was created.
        watermarks: by source, the watermark in microseconds since 1970; None before the first row.

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
    """A running query, as ``Topology.start`` returns it.

    In the examples of its methods, ``query`` counts loans per area and hour in two small files.

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

    def __init__(self, spark_query: StreamingQuery, runner: EpochRunner, history: deque[Progress]) -> None:
        self.name = runner.query.graph.name
        self._runner = runner
        self._spark_query = spark_query
        self._checkpoint = runner.query.checkpoint
        self._history = history
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name=f"rheostat-{self.name}", daemon=True).start()

    @property
    def _job(self) -> QueryContext:
        """The query as its newest epoch ran it; epochs may plan it anew."""
        return self._runner.query

    @property
    def view(self) -> View:
        """The plan of the query with its current routing, as plain values.

        >>> [component.name for component in query.view.components]
        ['by area']
        """
        dealing = {name: operator.words for name, operator in self._job.applied.items()}
        job, manifest = self._job, self._checkpoint.manifest
        plan = job.plan
        if figures := figures_in(plan, manifest):
            measured = plan_physical(job.graph, compatibility.pins(job.recorded, job.graph), figures)
            plan = replace(plan, notes=measured.notes)
        return view_of(job.graph, plan, job.actuator.routing, dealing, job.forms.combined(manifest.forms))

    @property
    def routing(self) -> dict[str, tuple[int, ...]]:
        """By component, the slot of every shard in the newest epoch.

        >>> len(query.routing["by area"])
        256
        """
        return self._job.actuator.routing

    def rescale(self, slots: int, component: str | None = None) -> None:
        """Change the number of slots from the next epoch on, without stopping the query.

        Args:
            slots: new number of slots per component, from 1 to the number of shards.
            component: the component to rescale, as ``explain`` names it, or an apply operator, whose number lasts until
                the query ends; by default every component with keys.

        >>> query.rescale(slots=4)
        """
        if component is not None and component in self._job.applied:
            self._job.applied[component].rescale(slots)
            return
        self._job.loop.inbox.rescale(slots, component)

    def rescale_nodes(self, nodes: int) -> None:
        """Change the number of nodes, which are Spark executors, from the next epoch on.

        More of them come when the cluster has started them; fewer are left at once, those first whose cached state is
        worth least. ``query.decisions()`` and ``rheostat inspect`` tell what came of it.

        Args:
            nodes: the number of executors, within the range that the query was started with.

        Raises:
            ConfigurationError: the number cannot change, or is not in the range.

        >>> query.rescale_nodes(2)
        Traceback (most recent call last):
        ...
        rheostat.errors.ConfigurationError: nodes=2: local[2] is one node, whose number of cores is fixed
        """
        control = self._job.loop.control
        if control.fixed_nodes:
            raise ConfigurationError(f"nodes={nodes}: {control.fixed_nodes}")
        if control.node_range is not None and control.node_range.clip(nodes) != nodes:
            raise ConfigurationError(f"nodes={nodes}: the query was started with nodes={control.node_range}")
        self._job.loop.inbox.rescale_nodes(nodes)

    @property
    def nodes(self) -> tuple[ClusterNode, ...]:
        """The nodes that were there when the newest epoch began: executor, host and cores of each.

        >>> [(node.name, node.cores) for node in query.nodes]
        [('driver', 2)]
        """
        return self._job.nodes.roster.there

    def rebalance(self, component: str | None = None, threshold: float = THRESHOLD) -> None:
        """Move shards from the most to the least loaded slots at the next epoch (Elasticutor section 3.1).

        Args:
            component: the component to rebalance, as ``explain`` names it; by default every component with keys.
            threshold: largest allowed load of a slot, as a multiple of the mean load.

        >>> query.rebalance(threshold=1.5)
        """
        self._job.loop.inbox.rebalance(threshold, component)

    def reassign(self, component: str, routing: Sequence[int]) -> None:
        """Set the slot of every shard of a component from the next epoch on.

        Args:
            component: name of the component, as in ``explain``.
            routing: the slot of every shard, in the order of the shards.

        >>> query.reassign("by area", [shard % 3 for shard in range(256)])
        """
        self._job.loop.inbox.reassign(component, tuple(routing))

    def record(self, path: Path | str) -> None:
        """Record what the policy sees and decides, from the next epoch on.

        ``rheostat simulate --replay`` answers what other policies or numbers of slots would have done. To repeat the
        policy's own decisions exactly, record from the first epoch on, with ``start(record=...)``.

        Args:
            path: a new file on the driver's machine, which gets one line of JSON per epoch.

        Raises:
            ConfigurationError: the file exists or cannot be written, or a recording is under way.

        >>> query.record(f"{folder}/run.jsonl")
        >>> query.stop()
        """
        self._job.record(path, complete=False)

    def decisions(self) -> list[Decision]:
        """The last 1,000 decisions of the policy and of users, also those of earlier runs, oldest first.

        >>> query.rescale(slots=4)
        >>> [decision.slots for decision in query.decisions()]
        []
        """
        return self._job.decision_log.decisions

    def pause_policy(self, reason: str = "") -> None:
        """Take over from the policy: it goes on learning, but decides nothing until ``resume_policy`` or a restart.

        ``rescale``, ``rebalance`` and ``reassign`` work as before. A change that the policy has begun is completed.

        Args:
            reason: why, for the event log.

        >>> query.pause_policy("the nightly load is coming")
        >>> query.policy_paused
        True
        """
        if not self._job.loop.paused:
            self._job.loop.paused = True
            self._job.decision_log.note(EventKind.PAUSED, self._checkpoint.manifest.epoch + 1, reason=reason)

    def resume_policy(self) -> None:
        """Let the policy decide again.

        >>> query.pause_policy()
        >>> query.resume_policy()
        >>> query.policy_paused
        False
        """
        if self._job.loop.paused:
            self._job.loop.paused = False
            self._job.decision_log.note(EventKind.CONTINUED, self._checkpoint.manifest.epoch + 1)

    @property
    def policy_paused(self) -> bool:
        """True while a person has taken over from the policy.

        >>> query.policy_paused
        False
        """
        return self._job.loop.paused

    @property
    def is_active(self) -> bool:
        """True until the query has ended.

        >>> query.is_active
        True
        """
        return not self._ended.is_set()

    @property
    def progress(self) -> list[Progress]:
        """The progress of the last 1,000 epochs, oldest first.

        >>> query.await_epoch(1)
        True
        >>> [(progress.epoch, progress.rows) for progress in query.progress[:2]]
        [(0, 3), (1, 2)]
        """
        return list(self._history)

    @property
    def status(self) -> Status:
        """The state of the query in numbers.

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

    def slo(self) -> Slo:
        """How well the promise has been kept since the query started, and at what price.

        Latency is from the arrival of a row to the commit of its epoch. Without a promise, or if no row has an arrival
        time, the success rate is NaN.

        >>> query.await_epoch(1)
        True
        >>> query.slo().epochs > 0, query.slo().to_dict()["success_rate"]
        (True, None)
        """
        return self._job.meter.read()

    def explain(self, format: ExplainFormat = "text") -> str:
        """A description of how the query runs: components, shuffles and how each window is derived.

        Args:
            format: ``text``, or ``mermaid`` for a flowchart.

        >>> "by area: 2 slots" in query.explain()
        True
        """
        return self.view.render(format)

    def exception(self) -> BaseException | None:
        """The error that ended the query; None if it runs or was stopped.

        It is a ``RheostatError`` that names the operator where that is known, and otherwise Spark's own error.

        >>> print(query.exception())
        None
        """
        error = self._spark_query.exception()
        if error is None:
            return self._runner.late_failure
        return self._runner.failure or explain_error(error)

    def stop(self, timeout: float = 60.0) -> None:
        """Stop the query. The current epoch is abandoned, and repeated when the query is started again.

        Args:
            timeout: seconds to wait for the query to end.

        Raises:
            TimeoutError: the query did not end within the timeout.

        >>> query.stop()
        >>> query.is_active
        False
        """
        self._runner.expect_stop()
        self._spark_query.stop()
        if self._job.epilogue.is_here:  # called by on_progress, which the query waits for before it ends
            return
        if not self._ended.wait(timeout):
            raise TimeoutError(f"query {self.name!r} did not stop within {timeout} s")

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query ends. True if it ended before the timeout; if it failed, its error is raised.

        Args:
            timeout: seconds to wait; None to wait for ever.

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
        """Wait until an epoch is committed and in ``progress``. True if it was; False if the timeout came first.

        If the query ends before that epoch, this returns False; if it fails, its error is raised.

        Args:
            epoch: number of the epoch, counted from 0 since the checkpoint was created.
            timeout: seconds to wait.

        >>> query.await_epoch(1)
        True
        """
        deadline = time.monotonic() + timeout
        while self._reported < epoch:
            if self._ended.wait(0.02) and self._checkpoint.manifest.epoch < epoch:
                self.await_termination()
                return False
            if self._ended.is_set() or time.monotonic() > deadline:
                return self._checkpoint.manifest.epoch >= epoch
        return True

    @property
    def _reported(self) -> int:
        """The newest epoch that ``progress`` has, or that was committed before the query started."""
        return self._history[-1].epoch if self._history else self._runner.resumed

    def _watch(self) -> None:
        """Release the checkpoint as soon as Spark's query ends, with or without an error."""
        try:
            with suppress(Exception):  # exception() returns it
                self._spark_query.awaitTermination()
        finally:
            self._runner.end()
            with suppress(Exception):  # what was learned is worth less than an orderly end
                self._job.keep_profile(now=True)
            self._job.recorder.close()
            self._job.nodes.close()
            self._checkpoint.close()
            self._ended.set()

    def __repr__(self) -> str:
        return f"Query({self.name!r}, {self.status.state}, epoch {self._checkpoint.manifest.epoch})"
