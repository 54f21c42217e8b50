"""The topology that a user writes. ``start`` plans it, opens its checkpoint and starts a Spark query."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import get_args

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.choices import ExplainFormat, LayoutChoice
from rheostat.durations import Duration, micros
from rheostat.elastic.elysium.live.profile_policies import NodePolicy
from rheostat.elastic.loop.events import EventKind
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.loop.stored_proposal import Setting
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.policy import Elastic, Policy
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import policy_for_spark
from rheostat.elastic.routing.slot_choice import SlotChoice
from rheostat.elastic.routing.table import DEFAULT_SHARDS, MAX_SHARDS, check_shards
from rheostat.errors import ConfigurationError
from rheostat.planning.declarations import declarations
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
from rheostat.spark.executors.executor_client import SparkExecutors
from rheostat.spark.executors.executor_nodes import ExecutorNodes
from rheostat.spark.homes import SlotHomes
from rheostat.spark.hosts import HostWatch, has_executors
from rheostat.spark.input.epoch_streams import streaming_input
from rheostat.spark.map_check import check_map
from rheostat.spark.observer import Observer
from rheostat.spark.output.sink_writers import clean_staging
from rheostat.spark.pacer import Pacer
from rheostat.spark.policy_guard import PolicyGuard
from rheostat.spark.profile_keeper import ProfileKeeper, with_profile
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

_ROOM = 4
"""The most slots per core that a policy may use which scales nodes: slots may take turns."""

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
        nodes: NodeRange | int | None = None,
        shards: int = DEFAULT_SHARDS,
        trigger: str = "0 seconds",
        retain: int = 10,
        drop: Collection[str] = (),
        slo: Latency | None = None,
        policy: Policy | str | None = None,
        policy_limit: Duration = "5 seconds",
        pace: bool | None = None,
        layout: LayoutChoice = "auto",
        history: Path | str | None = None,
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
            nodes: how many Spark executors the query may have, as in ``rh.nodes(min=1, max=8)``, on standalone, YARN or
                Kubernetes. A policy that scales nodes, and ``query.rescale_nodes``, stay in that range. It starts with
                what the checkpoint had, else with what Spark has, within the range. By default the executors are
                Spark's own affair.
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
            history: a recorded load for the forecasts of ``"elysium-proactive"``, instead of the query's own: a
                recording of ``record=``, or a CSV file with times and rows per second.
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
        client, allowed_nodes = SparkExecutors(spark), _node_range(nodes)
        ExecutorNodes(client, allowed_nodes)
        opened = Checkpoint.open(checkpoint, shards, retain)
        try:
            chosen, choice = _policy_and_slots(
                policy, slo, slots, cores, opened.shards, _room(allowed_nodes, cores, len(client.there()))
            )
            resumed = resume(self, opened, slots=choice, drop=drop, spark=spark)
            observer = Observer(
                opened.shards,
                resumed.loads,
                cores,
                began=time.monotonic(),
                components=resumed.plan.components,
                trigger=0.0 if interval is None else micros(trigger) / 1e6,
            )
            log = DecisionLog(opened.folder / "events")
            keeper = ProfileKeeper(opened.folder, self.name)
            note = partial(log.note, EventKind.PROFILE, opened.manifest.epoch + 1)
            known = with_profile(chosen, keeper, declarations(self, resumed.plan), history, note)
            executors = ExecutorNodes(client, allowed_nodes, log.note, log.nodes)
            chosen = _on_nodes(known, allowed_nodes, executors)
            keyed = [c.name for c in resumed.plan.components if c.attributes]
            actuator = SparkActuator(resumed.routing, keyed, executors.wanted)
            setting = Setting(chosen.name, choice.wanted, choice.allowed, None if executors.fixed else allowed_nodes)
            proposals = log.resume(actuator.plan, setting, opened.manifest.epoch)
            if resumed.replan.rerouted:
                tables = ", ".join(resumed.replan.rerouted)
                log.note(EventKind.REPLANNED, opened.manifest.epoch + 1, tables=tables, why=resumed.replan.reason)
            if slo is not None or chosen.name != "static":
                values = {"policy": chosen.name, "promise": str(slo or ""), "slots": choice.allowed or choice.wanted}
                log.note(EventKind.STARTED, opened.manifest.epoch + 1, **values)
            clean_staging(s.sink for s in self.sinks)
            shown: deque[Progress] = deque(maxlen=_HISTORY)
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
                    node_range=allowed_nodes,
                    fixed_nodes=executors.fixed,
                ),
                nodes=executors,
                decision_log=log,
                applied=_applied(resumed.plan, opened, cores),
                promise=slo,
                pacer=None if slo is None or pace is False else _pacer(slo, opened, log),
                on_progress=_recorder(shown, on_progress),
                probe=probe or _no_probe,
                forms=TableForms(layout, tuple(combinable(resumed.plan))),
                keeper=keeper,
                homes=_homes(opened, resumed.plan, log, spark.sparkContext),
            )
            if record is not None:
                job.record(record, complete=True)
            runner = EpochRunner(job, Replanner().before_epoch)
            spark_query = self._start_spark(runner, opened, interval)
            observer.follow(lambda epoch: newest_progress(spark_query, epoch))
            if job.pacer is not None:
                job.pacer.attach(spark_query)
        except BaseException:
            opened.close()
            raise
        return Query(spark_query, runner, shown)

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
    policy: Policy | str | None,
    slo: Latency | None,
    slots: int | tuple[int, int] | None,
    cores: int,
    shards: int,
    room: int = 0,
) -> tuple[Policy, SlotChoice]:
    """The policy of a query, and its slots; up to ``room`` of them if it scales nodes and the user does not say."""
    if slo is not None and not isinstance(slo, Latency):
        raise ConfigurationError(f"slo={slo!r} is not a promise: pass rh.Latency('1 second', over='1 second')")
    chosen = policy_for_spark(policy, slo)
    scales = isinstance(chosen, Elastic)
    if slots is None and room and scales and isinstance(chosen, NodePolicy):
        slots = 1, min(room, shards)
    choice = SlotChoice.of(slots, policy=chosen.name, scales=scales, cores=cores, shards=shards)
    return policy_for_spark(policy, slo, choice.allowed), choice


def _node_range(nodes: NodeRange | int | None) -> NodeRange | None:
    """What ``start(nodes=...)`` allows."""
    if nodes is None or isinstance(nodes, NodeRange):
        return nodes
    if isinstance(nodes, int) and not isinstance(nodes, bool):
        return NodeRange(nodes, nodes)
    raise ConfigurationError(f"nodes={nodes!r} is neither a number nor a range: pass rh.nodes(min=1, max=8)")


def _room(nodes: NodeRange | None, cores: int, there: int) -> int:
    """The most slots of a query that may have so many nodes; 0 if the number of nodes is not its to change."""
    return 0 if nodes is None else _ROOM * nodes.most * max(cores // max(there, 1), 1)


def _on_nodes(policy: Policy, nodes: NodeRange | None, executors: ExecutorNodes) -> Policy:
    """The policy with the range of nodes, if it scales nodes and their number can change."""
    if nodes is None or executors.fixed or not isinstance(policy, NodePolicy):
        return policy
    return policy.on_nodes(nodes.least, nodes.most)


def _applied(plan: PhysicalPlan, checkpoint: Checkpoint, cores: int) -> dict[str, ApplyOperator]:
    """The apply operators, with what the checkpoint has learned of their costs."""
    learned = checkpoint.manifest.learned
    return {
        name: ApplyOperator.resumed(applied.apply, applied.apply.slots or cores, learned.get(name, {}))
        for name, applied in plan.applied.items()
    }


def _homes(checkpoint: Checkpoint, plan: PhysicalPlan, log: DecisionLog, context: SparkContext) -> SlotHomes:
    """The homes of slots. They matter on a cluster whose hosts keep copies of segments, or are not equally fast."""
    if not has_executors(str(context.master)):
        return SlotHomes()
    homes = SlotHomes(
        HostWatch(context).read,
        keeps_copies=not checkpoint.folder.is_local,
        note=lambda epoch, what: log.note(EventKind.HOMES, epoch, what=what),
    )
    homes.resume(checkpoint.manifest, plan)
    return homes


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
