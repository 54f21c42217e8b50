"""The topology that a user writes and starts: planned, joined with its checkpoint, handed to Spark."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection

from pyspark.sql.streaming.query import StreamingQuery

from rheostat.choices import ExplainFormat
from rheostat.durations import micros
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import policy_for_spark
from rheostat.elastic.routing.table import DEFAULT_SHARDS, check_shards
from rheostat.planning.physical import plan_physical
from rheostat.planning.view import View, view_of
from rheostat.spark.actuator import SparkActuator
from rheostat.spark.epoch.epoch_runner import EpochRunner
from rheostat.spark.epoch.query_context import Probe, QueryContext
from rheostat.spark.input.epoch_streams import streaming_input
from rheostat.spark.map_check import check_map
from rheostat.spark.observer import Observer
from rheostat.spark.output.sink_writers import clean_staging
from rheostat.spark.progress import Progress
from rheostat.spark.query import Query
from rheostat.spark.resume import first_routing, resume
from rheostat.state.checkpoint import Checkpoint
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

AVAILABLE_NOW = "available now"
"""The trigger that takes what is there, in as many epochs as it needs, and ends."""

_HISTORY = 1000


class Topology(Graph):
    """A DAG of named operators. Begin it with ``source``, end its streams with ``sink``, then ``start`` it.

    >>> t = rh.Topology("lending")
    >>> source = t.source(loans, event_time="ts")
    >>> out = rh.sinks.memory()
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), loans=rh.count()).sink(out)
    >>> query = t.start(folder, trigger=rh.AVAILABLE_NOW)
    >>> query.await_termination()
    True
    >>> out.frame()["loans"].to_list()
    [3]
    """

    def __init__(self, name: str) -> None:
        """An empty topology.

        Args:
            name: what the query is called, too.
        """
        super().__init__(name, check_map)

    def start(
        self,
        checkpoint: str,
        *,
        slots: int | None = None,
        shards: int = DEFAULT_SHARDS,
        trigger: str = "0 seconds",
        retain: int = 10,
        drop: Collection[str] = (),
        policy: Policy | str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        probe: Probe | None = None,
    ) -> Query:
        """Run the topology until it is stopped.

        Args:
            checkpoint: folder for state and progress: a path or a URI that Arrow and Spark can both open. Starting
                again with the same folder goes on exactly where the last run committed.
            slots: tasks per component; by default what the checkpoint has, or as many as Spark has cores. It may differ
                from run to run, and change in a run: ``query.rescale``.
            shards: into how many shards keys are hashed; fixed when the checkpoint is made.
            trigger: how often an epoch begins, as in ``"1 second"``; ``"0 seconds"`` begins one when the last is done,
                ``"available now"`` takes what is there in as many epochs as it needs and ends.
            retain: how many epochs' state to keep, at least 2.
            drop: operators of the checkpoint that are gone for good and whose state may be lost.
            policy: who moves shards between slots at epoch boundaries: ``"balance"`` keeps the busiest slot within 1.2
                times the mean, ``rh.policies.Balance(threshold=1.1, ahead=True)`` with values of your own. By default
                ``"static"``: only ``query.rescale`` and its like move any.
            on_progress: called after every epoch.
            probe: for tests: called with the name of every step of an epoch.

        >>> t = rh.Topology("lending")
        >>> stored = t.source(loans, event_time="ts").sink(rh.sinks.memory())
        >>> t.start(folder, trigger=rh.AVAILABLE_NOW, slots=4).await_termination()
        True
        """
        self.validate()
        check_shards(shards)
        deciding = policy_for_spark(policy)
        interval = None if trigger == AVAILABLE_NOW else f"{micros(trigger) // 1000} milliseconds"
        cores = self._sources[0].frame.sparkSession.sparkContext.defaultParallelism
        owned = Checkpoint.open(checkpoint, shards, retain)
        try:
            begun = resume(self, owned, slots=slots, cores=cores, drop=drop)
            remembered = {name: loads.to_pairs() for name, loads in begun.loads.items()}
            observer = Observer(owned.shards, remembered, cores, began=time.monotonic())
            actuator = SparkActuator(begun.routing, [c.name for c in begun.plan.components if c.attributes])
            clean_staging(s.sink for s in self.sinks)
            history: deque[Progress] = deque(maxlen=_HISTORY)
            job = QueryContext(
                graph=self,
                plan=begun.plan,
                checkpoint=owned,
                recorded=begun.recorded,
                observer=observer,
                actuator=actuator,
                loop=PolicyLoop(deciding, actuator.plan, actuator),
                on_progress=_noted_in(history, on_progress),
                probe=probe or _undisturbed,
            )
            runner = EpochRunner(job)
            started = self._hand_over(runner, owned, interval)
        except BaseException:
            owned.close()
            raise
        return Query(started, runner, job, history)

    def explain(self, format: ExplainFormat = "text", slots: int = 2) -> str:
        """How the topology would run: components, shuffles and how each window is derived.

        Args:
            format: ``text``, or ``mermaid`` for a flowchart.
            slots: how many slots to assume.

        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts")
        >>> windows = rh.tumbling("10 minutes", "30 minutes")
        >>> hours = source.aggregate("areas", by="area", windows=windows, loans=rh.count()).sink(rh.sinks.memory())
        >>> "3 x 10 minutes" in t.explain()
        True
        """
        return self.view(slots).render(format)

    def view(self, slots: int = 2) -> View:
        """The plan as plain values.

        Args:
            slots: how many slots to assume.

        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts")
        >>> hours = source.aggregate("areas", by="area", windows=rh.tumbling("1 hour"), loans=rh.count())
        >>> stored = hours.sink(rh.sinks.memory())
        >>> [c.name for c in t.view().components]
        ['by area']
        """
        self.validate()
        plan = plan_physical(self)
        return view_of(self, plan, first_routing(plan, DEFAULT_SHARDS, slots, slots))

    @property
    def _sources(self) -> list[Source]:
        return [n for n in self.nodes.values() if isinstance(n, Source)]

    def _hand_over(self, runner: EpochRunner, owned: Checkpoint, interval: str | None) -> StreamingQuery:
        """Let Spark call the runner with every epoch's rows; without an interval, until all that is there is done."""
        writer = (
            streaming_input(self._sources)
            .writeStream.foreachBatch(runner)
            .queryName(self.name)
            .option("checkpointLocation", (owned.folder / "spark").spark_uri)
        )
        timed = writer.trigger(availableNow=True) if interval is None else writer.trigger(processingTime=interval)
        return timed.start()


def _noted_in(history: deque[Progress], on_progress: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    """Keeps what an epoch did, and tells the user."""

    def note(progress: Progress) -> None:
        history.append(progress)
        if on_progress is not None:
            on_progress(progress)

    return note


def _undisturbed(step: str) -> None:
    """The probe of every run that is not a test."""
