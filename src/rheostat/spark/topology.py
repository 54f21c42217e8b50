"""The topology that a user writes. ``start`` plans it, opens its checkpoint and starts a Spark query."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from pathlib import Path
from typing import get_args

from pyspark.sql.streaming.query import StreamingQuery

from rheostat.choices import ExplainFormat, LayoutChoice
from rheostat.durations import Duration, micros
from rheostat.elastic.loop.events import EventKind
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.loop.stored_proposal import Setting
from rheostat.elastic.model.policy import Elastic, Policy
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import policy_for_spark
from rheostat.elastic.routing.slot_choice import SlotChoice
from rheostat.elastic.routing.table import DEFAULT_SHARDS, MAX_SHARDS, check_shards
from rheostat.errors import ConfigurationError
from rheostat.planning.feeds import combinable
from rheostat.planning.physical import plan_physical
from rheostat.planning.table_forms import TableForms
from rheostat.planning.tables import PhysicalPlan
from rheostat.planning.view import View, view_of
from rheostat.spark.actuator import SparkActuator
from rheostat.spark.decision_log import DecisionLog
from rheostat.spark.epoch.apply_operator import ApplyOperator
from rheostat.spark.epoch.epoch_runner import EpochRunner
from rheostat.spark.epoch.query_context import Probe, QueryContext
from rheostat.spark.input.epoch_streams import streaming_input
from rheostat.spark.map_check import check_map
from rheostat.spark.observer import Observer
from rheostat.spark.output.sink_writers import clean_staging
from rheostat.spark.pacer import Pacer
from rheostat.spark.policy_guard import PolicyGuard
from rheostat.spark.progress import Progress
from rheostat.spark.query import Query
from rheostat.spark.replanner import Replanner
from rheostat.spark.resume import first_routing, resume
from rheostat.spark.source_progress import newest_progress
from rheostat.state.checkpoint import Checkpoint
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

AVAILABLE_NOW = "available now"
"""The trigger that processes all available input, in as many epochs as it takes, and then ends the query."""

_HISTORY = 1000
"""How many epochs ``Query.progress`` keeps."""


class Topology(Graph):
    """A DAG of named operators. Add sources with ``source``, end streams with ``sink``, then call ``start``.

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
        """Create an empty topology.

        Args:
            name: name of the topology, and of its Spark query.
        """
        super().__init__(name, check_map)

    def start(
        self,
        checkpoint: str,
        *,
        slots: int | tuple[int, int] | None = None,
        shards: int = DEFAULT_SHARDS,
        trigger: str = "0 seconds",
        retain: int = 10,
        drop: Collection[str] = (),
        slo: Latency | None = None,
        policy: Policy | str | None = None,
        policy_limit: Duration = "5 seconds",
        pace: bool | None = None,
        layout: LayoutChoice = "auto",
        record: Path | str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        probe: Probe | None = None,
    ) -> Query:
        """Start the topology as a Spark query, and return its handle.

        Args:
            checkpoint: folder for state and progress: a path or a URI that Arrow and Spark can both open. Starting
                again with the same folder continues after the last committed epoch.
            slots: tasks per component. By default as many as in the checkpoint; in a new checkpoint, as many as Spark
                has cores. It may differ from run to run, and ``query.rescale`` changes it during a run. A pair such as
                ``(1, 16)`` gives the fewest and most that a policy may use: a new checkpoint starts with as many as
                Spark has cores, another one with what it had, both within the range. With a single number such a policy
                may use up to as many as Spark has cores.
            shards: number of shards that keys are hashed into; fixed when the checkpoint is created.
            trigger: how often an epoch begins, as in ``"1 second"``. ``"0 seconds"`` begins each epoch as soon as the
                previous one ends; ``"available now"`` processes all available input and then ends.
            retain: number of epochs whose state is kept, at least 2.
            drop: names of operators whose state in the checkpoint may be deleted, for example because the topology no
                longer has them.
            slo: the promise to keep, such as ``rh.Latency("1 second", over="1 second")``.
            policy: what moves shards and changes the number of slots at epoch boundaries, by name or as an object; see
                ``rh.policies``. The default is ``"streamswitch"`` if there is a promise, otherwise ``"static"``: shards
                then move only when you call ``query.rescale``, ``rebalance`` or ``reassign``. ``"balance"`` keeps the
                busiest slot within 1.2 times the mean.
            policy_limit: how long the policy may take to decide before an epoch; after that, or if it raises, the epoch
                begins without it.
            pace: True to limit the rows of epochs in a backlog, so that they stay near the promise's length; the
                default with a promise. It works with Kafka and file sources.
            layout: who aggregates the rows of windows. ``"split"``: Spark, before anything is sent; ``"combined"``: the
                tasks that keep the state, from rows as they are. The default measures both costs and changes between
                epochs; ``query.decisions()`` says why. Results are the same.
            record: a new file on the driver's machine that records what the policy sees and decides in every epoch, for
                ``rheostat simulate --replay``; ``query.record`` begins a recording later.
            on_progress: called with the ``Progress`` of every epoch.
            probe: for tests: called with the name of each step of an epoch when it is done.

        Raises:
            TopologyError: the topology is not complete.
            ConfigurationError: an option has a value that cannot work.
            CheckpointError: the checkpoint is damaged, has a newer format, or does not fit the topology.
            CheckpointInUseError: another running query owns the checkpoint.

        >>> t = rh.Topology("lending")
        >>> stored = t.source(loans, event_time="ts").sink(rh.sinks.memory())
        >>> t.start(folder, trigger=rh.AVAILABLE_NOW, slots=4).await_termination()
        True
        """
        self.validate()
        check_shards(shards)
        limit = micros(policy_limit) / 1e6
        if not limit > 0:
            raise ConfigurationError(f"policy_limit={policy_limit!r} must be longer than 0")
        if pace and slo is None:
            raise ConfigurationError("pace=True needs a promise: pass slo=rh.Latency('1 second', over='1 second')")
        if layout not in get_args(LayoutChoice):
            raise ConfigurationError(f"layout={layout!r} is not one of {', '.join(map(repr, get_args(LayoutChoice)))}")
        interval = None if trigger == AVAILABLE_NOW else f"{micros(trigger) // 1000} milliseconds"
        spark = self._sources[0].frame.sparkSession
        cores = spark.sparkContext.defaultParallelism
        _policy_and_slots(policy, slo, slots, cores, MAX_SHARDS)  # errors come before anything is written
        opened = Checkpoint.open(checkpoint, shards, retain)
        try:
            chosen, choice = _policy_and_slots(policy, slo, slots, cores, opened.shards)
            resumed = resume(self, opened, slots=choice, drop=drop, spark=spark)
            remembered = {name: loads.to_pairs() for name, loads in resumed.loads.items()}
            observer = Observer(
                opened.shards,
                remembered,
                cores,
                began=time.monotonic(),
                components=resumed.plan.components,
                trigger=0.0 if interval is None else micros(trigger) / 1e6,
            )
            actuator = SparkActuator(resumed.routing, [c.name for c in resumed.plan.components if c.attributes])
            log = DecisionLog(opened.folder / "events")
            setting = Setting(chosen.name, choice.wanted, choice.allowed)
            proposals = log.resume(actuator.plan, setting, opened.manifest.epoch)
            if resumed.replan.rerouted:
                tables = ", ".join(resumed.replan.rerouted)
                log.note(EventKind.REPLANNED, opened.manifest.epoch + 1, tables=tables, why=resumed.replan.reason)
            if slo is not None or chosen.name != "static":
                values = {"policy": chosen.name, "promise": str(slo or ""), "slots": choice.allowed or choice.wanted}
                log.note(EventKind.STARTED, opened.manifest.epoch + 1, **values)
            clean_staging(s.sink for s in self.sinks)
            history: deque[Progress] = deque(maxlen=_HISTORY)
            job = QueryContext(
                graph=self,
                plan=resumed.plan,
                checkpoint=opened,
                recorded=resumed.recorded,
                observer=observer,
                actuator=actuator,
                loop=PolicyLoop(
                    chosen,
                    actuator.plan,
                    actuator,
                    allowed=choice.allowed,
                    resumed=proposals,
                    guard=PolicyGuard(limit),
                ),
                decision_log=log,
                applied=_applied(resumed.plan, opened, cores),
                promise=slo,
                pacer=None if slo is None or pace is False else _pacer(slo, opened, log),
                on_progress=_recorder(history, on_progress),
                probe=probe or _no_probe,
                forms=TableForms(layout, tuple(combinable(resumed.plan))),
            )
            if record is not None:
                job.record(record, complete=True)
            runner = EpochRunner(job, Replanner().before_epoch)
            spark_query = self._start_spark(runner, opened, interval)
            observer.follow(lambda: newest_progress(spark_query))
            if job.pacer is not None:
                job.pacer.attach(spark_query)
        except BaseException:
            opened.close()
            raise
        return Query(spark_query, runner, history)

    def explain(self, format: ExplainFormat = "text", slots: int = 2) -> str:
        """A description of how the topology would run: components, shuffles and how each window is derived.

        Args:
            format: ``text``, or ``mermaid`` for a flowchart.
            slots: number of slots per component to assume.

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
            slots: number of slots per component to assume.

        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts")
        >>> hours = source.aggregate("areas", by="area", windows=rh.tumbling("1 hour"), loans=rh.count())
        >>> stored = hours.sink(rh.sinks.memory())
        >>> [c.name for c in t.view().components]
        ['by area']
        """
        self.validate()
        plan = plan_physical(self)
        return view_of(self, plan, first_routing(plan, DEFAULT_SHARDS, SlotChoice(slots, slots)))

    @property
    def _sources(self) -> list[Source]:
        return [n for n in self.nodes.values() if isinstance(n, Source)]

    def _start_spark(self, runner: EpochRunner, checkpoint: Checkpoint, interval: str | None) -> StreamingQuery:
        """Start the Spark query that calls the runner with every micro-batch.

        Args:
            runner: runs the epochs.
            checkpoint: the checkpoint, for the logs of the Spark query.
            interval: time between two epochs, in Spark's words; None to process all available input and end.
        """
        writer = (
            streaming_input(self._sources)
            .writeStream.foreachBatch(runner)
            .queryName(self.name)
            .option("checkpointLocation", (checkpoint.folder / "spark").spark_uri)
        )
        if interval is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=interval).start()


def _policy_and_slots(
    policy: Policy | str | None, slo: Latency | None, slots: int | tuple[int, int] | None, cores: int, shards: int
) -> tuple[Policy, SlotChoice]:
    """The policy of a query, and its slots."""
    if slo is not None and not isinstance(slo, Latency):
        raise ConfigurationError(f"slo={slo!r} is not a promise: pass rh.Latency('1 second', over='1 second')")
    chosen = policy_for_spark(policy, slo)
    scales = isinstance(chosen, Elastic)
    choice = SlotChoice.of(slots, policy=chosen.name, scales=scales, cores=cores, shards=shards)
    return policy_for_spark(policy, slo, choice.allowed), choice


def _applied(plan: PhysicalPlan, checkpoint: Checkpoint, cores: int) -> dict[str, ApplyOperator]:
    """The apply operators, with what the checkpoint has learned of their costs."""
    learned = checkpoint.manifest.learned
    return {
        name: ApplyOperator.resumed(applied.apply, applied.apply.slots or cores, learned.get(name, {}))
        for name, applied in plan.applied.items()
    }


def _pacer(slo: Latency, checkpoint: Checkpoint, log: DecisionLog) -> Pacer:
    """What limits the rows of epochs, and notes in the log what it does."""
    return Pacer(slo, checkpoint.folder / "spark", lambda epoch, what: log.note(EventKind.PACED, epoch, what=what))


def _recorder(history: deque[Progress], on_progress: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    """A function that adds the progress of an epoch to the history, and then calls the user's ``on_progress``."""

    def record(progress: Progress) -> None:
        history.append(progress)
        if on_progress is not None:
            on_progress(progress)

    return record


def _no_probe(step: str) -> None:
    """Do nothing: the probe of every run that is not a test."""
