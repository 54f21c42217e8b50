"""Plans a running query anew between two epochs, once its traffic has changed for good.

``epoch_runner`` asks before every epoch. Every few epochs the components of the query are compared with what would be
planned now, by what epochs have measured (``rheostat.planning.replan``). If others were clearly cheaper several times
in a row, the state of rerouted tables is sharded again and the next epoch begins with the new plan. Its commit is the
first that says so: if the query dies before that, the next run finds the old plan with its state, and may decide anew.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from rheostat.elastic.loop.events import EventKind
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.table import even_routing
from rheostat.planning import compatibility
from rheostat.planning.feeds import combinable
from rheostat.planning.replan import Replan, plan_again
from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.reshard import reshard_tables
from rheostat.spark.resume import Routing, figures_in
from rheostat.spark.stage.planned_stages import PlannedStages

EVERY = 10
"""Epochs between two comparisons."""

TIMES = 3
"""Comparisons in a row in which other components must be clearly cheaper, at first; twice as many after each change.

Fused operators are measured together and others apart, so that either plan may look better from the other one: the
doubling ends such a to and fro."""

WHY = "operators are fused anew"
"""Why changes of components in progress are dropped."""


class Replanner:
    """Decides before every epoch whether a query is planned anew. Only the thread of the epochs uses it."""

    def __init__(self) -> None:
        self._cheaper = 0
        self._changes = 0

    def before_epoch(self, job: QueryContext, epoch: int, spark: SparkSession) -> QueryContext:
        """The query as its next epoch should run it: usually as it is.

        Args:
            job: the query.
            epoch: the epoch that is about to begin.
            spark: the session of the epoch.
        """
        if epoch % EVERY or not _may_change(job):
            return job
        pins = compatibility.pins(job.recorded, job.graph)
        wanted = plan_again(job.graph, pins, job.plan, figures_in(job.plan, job.checkpoint.manifest))
        self._cheaper = self._cheaper + 1 if wanted.rerouted else 0
        if self._cheaper < TIMES * 2**self._changes:
            return job
        self._cheaper = 0
        self._changes += 1
        return replanned(job, wanted, epoch, spark)


def replanned(job: QueryContext, wanted: Replan, epoch: int, spark: SparkSession) -> QueryContext:
    """The query with another plan, in this order:

    1. Shard the state of rerouted tables again.
    2. Give new components as many slots as those had that their tables come from.
    3. Let the loop, the observer and the actuator follow the new components; the policy begins to learn anew.

    Args:
        job: the query.
        wanted: the new plan.
        epoch: the first epoch with it.
        spark: the session of the epoch.
    """
    plan, checkpoint = wanted.plan, job.checkpoint
    for table in (*plan.tables, *plan.keyed):
        checkpoint.table_folder(table).create()
    reshard_tables(spark, checkpoint, [plan.tables[name] for name in wanted.rerouted])
    routing = _routing(job.plan, plan, job.actuator.routing, checkpoint.shards)
    keyed = [c.name for c in plan.components if c.attributes]
    job.actuator.follow(routing, keyed)
    job.observer.replan(
        plan.components,
        {c.name: job.observer.loads.get(c.name, ShardLoads.none(checkpoint.shards)) for c in plan.components},
    )
    job.loop.follow(job.actuator.plan)
    job.meter.follow(keyed)
    job.decision_log.abandon(epoch, WHY)
    tables = ", ".join(wanted.rerouted)
    job.decision_log.note(EventKind.REPLANNED, epoch, tables=tables, why=wanted.reason)
    again = replace(
        job,
        plan=plan,
        recorded=compatibility.record(job.graph, plan, job.recorded),
        stages=PlannedStages(),
        forms=replace(job.forms, combinable=tuple(combinable(plan))),
    )
    object.__setattr__(again, "meter", job.meter)
    return again


def _may_change(job: QueryContext) -> bool:
    """True if some level has several window tables, no recording depends on components, and none of them is moving."""
    several = any(len(job.plan.tables_at(level)) > 1 for level in range(job.plan.levels))
    moving = any(treatment.active for treatment in job.loop.control.treatments.values())
    return several and not moving and not job.recorder.active


def _routing(before: PhysicalPlan, after: PhysicalPlan, routing: Routing, shards: int) -> Routing:
    """The routing of the new components: as it was where a component stays, otherwise even."""
    home = {table: c.name for c in before.components for table in c.tables}
    found = {}
    for component in after.components:
        slots = max((max(routing[home[t]]) + 1 for t in component.tables if t in home), default=1)
        even = even_routing(shards, slots if component.attributes else 1)
        found[component.name] = routing.get(component.name, even)
    return found
