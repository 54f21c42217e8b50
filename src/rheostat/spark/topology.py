"""Starting a query: plan the topology, own the checkpoint, hand the epochs to Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from rheostat.durations import micros
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import policy_for_spark
from rheostat.elastic.routing.balance import rescale
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.table import DEFAULT_SHARDS, check_shards, even_routing
from rheostat.errors import TopologyError
from rheostat.planning import compatibility
from rheostat.planning.physical import PhysicalPlan, plan_physical
from rheostat.planning.view import View, view_of
from rheostat.spark.actuator import SparkActuator
from rheostat.spark.epoch.epoch import EpochRunner
from rheostat.spark.epoch.job import Job, Probe
from rheostat.spark.input.lineage import rewrites, stateful_step
from rheostat.spark.input.rows import streaming_input
from rheostat.spark.observer import Observer
from rheostat.spark.output.sinks import clean_staging
from rheostat.spark.progress import Progress
from rheostat.spark.query import Query
from rheostat.state.checkpoint import Checkpoint
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

AVAILABLE_NOW = "available now"
_HISTORY = 1000


class Topology(Graph):
    """A DAG of named operators. Write it with ``source``, then ``start`` it.

    >>> t = Topology("lending")
    """

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
        """
        self.validate()
        check_shards(shards)
        deciding = policy_for_spark(policy)
        interval = None if trigger == AVAILABLE_NOW else f"{micros(trigger) // 1000} milliseconds"
        sources = [n for n in self.nodes.values() if isinstance(n, Source)]
        owned = Checkpoint.open(checkpoint, shards, retain)
        try:
            kept = {n: e for n, e in owned.manifest.topology.items() if n not in drop}
            pins = compatibility.pins(kept, self)
            plan = plan_physical(self, pins)
            compatibility.check(kept, self, plan)
            owned.forget_tables(except_for=compatibility.kept_tables(kept, self))
            cores = sources[0].frame.sparkSession.sparkContext.defaultParallelism
            loads = {c.name: ShardLoads.of(owned.shards, owned.manifest.loads.get(c.name, ())) for c in plan.components}
            routing = _routing(plan, owned.shards, slots, min(cores, owned.shards), owned.manifest.routing, loads)
            observer = Observer(owned.shards, {n: known.to_pairs() for n, known in loads.items()}, cores)
            actuator = SparkActuator(routing, [c.name for c in plan.components if c.attributes])
            loop = PolicyLoop(deciding, actuator.plan, actuator)
            for table in (*plan.tables, *plan.keyed):
                owned.table_folder(table).create()
            clean_staging(s.sink for s in self.sinks)
            history: deque[Progress] = deque(maxlen=_HISTORY)

            def note(progress: Progress) -> None:
                history.append(progress)
                if on_progress is not None:
                    on_progress(progress)

            recorded = compatibility.record(self, plan, kept)
            job = Job(self, plan, owned, recorded, observer, actuator, loop, note, probe or _undisturbed)
            runner = EpochRunner(job)
            writer = (
                streaming_input(sources)
                .writeStream.foreachBatch(runner)
                .queryName(self.name)
                .option("checkpointLocation", (owned.folder / "spark").spark_uri)
            )
            if interval is None:
                started = writer.trigger(availableNow=True).start()
            else:
                started = writer.trigger(processingTime=interval).start()
        except BaseException:
            owned.close()
            raise
        return Query(started, runner, job, history)

    def check_map(self, name: str, given: Any, mapped: Any, time_columns: Iterable[str]) -> None:
        """Refuse a map that groups, sorts or drops duplicates, or that moves rows in time."""
        if (stateful := stateful_step(given, mapped)) is not None:
            raise TopologyError(
                f"operator {name!r} is a map, and maps work row by row, but its plan contains {stateful}: "
                "use compute for aggregates, and do the rest before source(...)"
            )
        for column in time_columns:
            if rewrites(given, mapped, column):
                raise TopologyError(
                    f"operator {name!r} changes the event-time column {column!r}, on which the watermark depends: "
                    "compute it before source(...), or give the new value a name of its own"
                )

    def explain(self, format: str = "text", slots: int = 2) -> str:
        """How the topology would run: components, shuffles and how each window is derived; ``text`` or ``mermaid``."""
        return self.view(slots).render(format)

    def view(self, slots: int = 2) -> View:
        """The plan as plain values."""
        self.validate()
        plan = plan_physical(self)
        return view_of(self, plan, _routing(plan, DEFAULT_SHARDS, slots, slots))


def _undisturbed(step: str) -> None:
    """The probe of every run that is not a test."""


def _routing(
    plan: PhysicalPlan,
    shards: int,
    slots: int | None,
    usual: int,
    kept: Mapping[str, tuple[int, ...]] | None = None,
    loads: Mapping[str, ShardLoads] | None = None,
) -> dict[str, tuple[int, ...]]:
    """The routing there was, with few moves if another number of slots is wanted; an even one for what is new."""
    routing = {}
    for component in plan.components:
        before = (kept or {}).get(component.name)
        if not component.attributes or before is None:
            routing[component.name] = even_routing(shards, (slots or usual) if component.attributes else 1)
        elif slots is None or max(before) + 1 == slots:
            routing[component.name] = before
        else:
            known = (loads or {}).get(component.name, ShardLoads.none(shards))
            routing[component.name] = rescale(before, known.seconds, slots).routing
    return routing
