"""An apply operator of a running query: decides how its rows are dealt, runs its stage, and learns what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rheostat.elastic.posg.cost_choice import CostChoice, choose_dealing, routers_for
from rheostat.elastic.posg.learned_costs import LearnedCosts, SlotCosts
from rheostat.elastic.posg.serial import from_text
from rheostat.errors import ConfigurationError, RheostatError
from rheostat.planning.apply_sql import apply_sql
from rheostat.spark.input.epoch_streams import EpochStreams, with_few_partitions
from rheostat.spark.stage.apply_report import ApplyReport
from rheostat.spark.stage.apply_spec import ApplySpec, Dealing
from rheostat.spark.stage.apply_stage import deal_by_cost, deal_in_turn, order_stage
from rheostat.spark.stage.planned_stages import Collected, PlannedStages, collect_once, instructed
from rheostat.spark.stage.report_wire import unpacked
from rheostat.spark.stage.stage import explained
from rheostat.spark.stage.task_reports import ResultFile
from rheostat.state.files import Folder
from rheostat.topology.apply import MAX_SLOTS
from rheostat.topology.nodes import Apply

BY_COST, IN_TURN = "deal by cost", "deal in turn"
"""What an operator decides before an epoch."""

_GROWN, _OLD = 1.125, 4
"""Growth of what is known after which routers are told, and epochs after which they are told in any case."""

_KEPT_GROWN, _KEPT_OLD = 2.0, 32
"""The same while there are no routers, and what is known is only kept for a restart."""

_ALL = 8
"""While rows are dealt in turn, all slots measure costs in every so many epochs, and one of them in the others."""


@dataclass(frozen=True)
class ApplyRun:
    """What came of an operator in an epoch.

    Attributes:
        reports: the reports of its slots.
        results: its result files.
        metrics: returns Spark's observed metrics of the run.
    """

    reports: list[ApplyReport]
    results: list[ResultFile]
    metrics: Callable[[], Any]


@dataclass
class ApplyOperator:
    """An apply operator of a running query.

    An epoch calls ``decide``, then ``run``, then ``learn``, and ``stored`` when it commits.

    Attributes:
        apply: the operator.
        slots: number of slots in this epoch.
        learned: what it has learned of costs.
        choice: how rows are dealt, and why.
    """

    apply: Apply
    slots: int
    learned: LearnedCosts
    choice: CostChoice
    _wanted: int | None = field(default=None, repr=False)  # number of slots that a user asked for
    _told: tuple[str, int, int] = field(default=("", 0, 0), repr=False)  # sketch as text, its executions, its age

    @classmethod
    def resumed(cls, apply: Apply, slots: int, stored: Mapping[str, Any]) -> ApplyOperator:
        """The operator at the start of a query.

        Args:
            apply: the operator.
            slots: number of slots.
            stored: what ``stored`` gave in the newest epoch; empty if there is none.
        """
        learned, by_cost = LearnedCosts.start(slots), False
        with suppress(ConfigurationError, KeyError):  # written by another version: costs can be learned again
            known = LearnedCosts.from_json(stored)
            if apply.learns and list(apply.cost_by) == stored["cost_by"] and known.sketch.shape == learned.sketch.shape:
                learned, by_cost = known.with_slots(slots), bool(stored["by_cost"])
        choice = choose_dealing(learned, slots, by_cost=by_cost)
        return cls(apply, slots, learned, CostChoice(by_cost, choice.saving, choice.reason))

    def rescale(self, slots: int) -> None:
        """Change the number of slots from the next epoch on. Any thread may call it."""
        if not 1 <= slots <= MAX_SLOTS:
            raise ConfigurationError(f"slots={slots} must be from 1 to {MAX_SLOTS}")
        self._wanted = slots

    def decide(self) -> bool:
        """Decide how rows are dealt in the next epoch; True if that differs from the epoch before."""
        self.slots = self._wanted or self.slots
        if not self.apply.learns:
            return False
        self.learned = self.learned.with_slots(self.slots)
        before = self.choice.by_cost
        self.choice = choose_dealing(self.learned, self.slots, by_cost=before)
        return self.choice.by_cost != before

    @property
    def action(self) -> str:
        """What was decided, as in ``query.decisions()``."""
        return BY_COST if self.choice.by_cost else IN_TURN

    @property
    def words(self) -> str:
        """How rows are dealt now, for ``explain``; empty if that never changes."""
        if not self.apply.learns:
            return ""
        return f"now {'by cost' if self.choice.by_cost else 'in turn'}: {self.choice.reason}"

    def run(
        self,
        epoch: int,
        rows: EpochStreams,
        view: str,
        staging: Folder | None,
        *,
        spark: SparkSession,
        stages: PlannedStages,
        fixed: bool,
    ) -> ApplyRun:
        """Run the operator in an epoch.

        Args:
            epoch: number of the epoch.
            rows: the rows of the epoch.
            view: name of the view with the rows of its stream.
            staging: folder for result files; None if nothing reads them.
            spark: the session of the epoch.
            stages: the Spark plans that epochs have in common.
            fixed: True if the same rows give the same in every epoch, so that Spark's plan can be used again.
        """
        apply, slots, by_cost = self.apply, self.slots, self.choice.by_cost
        leaf = rows.leaf([apply.upstream]) if fixed else None
        most = routers_for(self.learned.rows) if by_cost else slots
        columns = {c.name: c.type for c in apply.inputs}
        # Results of operators are files, which are always read in the same order.
        sort = rows.begins_with_source(apply.upstream) and not rows.repeatable
        sql = apply_sql(apply, view, columns, slots=None if by_cost else slots, sort=sort)

        def build() -> DataFrame:
            rows.create_views()
            selected = spark.sql(sql)
            if not by_cost:
                return deal_in_turn(selected, slots, apply)
            return deal_by_cost(selected if leaf is not None else selected.coalesce(most), slots, apply)

        name, key = f"apply {apply.name}", (sql, slots, by_cost)
        with instructed(spark.sparkContext, self._spec(epoch, staging).encode()), explained():
            if leaf is None:
                collected = collect_once(build())
            else:
                leaf = _joined(leaf, most) if by_cost else with_few_partitions(spark, leaf, slots)[0]
                collected = stages.collect(name, key, build, spark=spark, rows=leaf)
        reports = _reports(collected, slots, epoch)
        results = [result for report in reports for result in report.results]
        if apply.ordered and results:
            results = self._in_order(epoch, staging, results, spark, stages)
        return ApplyRun(reports, results, collected.metrics)

    def learn(self, reports: Sequence[ApplyReport]) -> None:
        """Learn from the reports of an epoch; each slot has one, that of the attempt which Spark counted."""
        if not self.apply.learns:
            return
        measured = [SlotCosts(report.slot, from_text(report.sketch)) for report in reports if report.sketch]
        rows = sum(report.rows for report in reports)
        self.learned = self.learned.after(measured, self.slots, rows=rows, in_turn=not self.choice.by_cost)

    def stored(self) -> dict[str, Any]:
        """What the manifest of an epoch keeps of it."""
        if not self.apply.learns:
            return {}
        known = {**self.learned.to_json(self._text()), "cost_by": list(self.apply.cost_by)}
        return {**known, "by_cost": self.choice.by_cost}

    def _spec(self, epoch: int, staging: Folder | None) -> ApplySpec:
        dealing = None
        if self.choice.by_cost:
            factors, longest = self.learned.speeds, self.apply.grouping == "lpt"
            dealing = Dealing(sketch=self._text(), factors=factors, longest_first=longest)
        return ApplySpec(epoch=epoch, staging=staging, measuring=self._measuring(epoch), dealing=dealing)

    def _measuring(self, epoch: int) -> tuple[int, ...]:
        """The slots that measure costs. To see that costs are still uniform, one slot after the other is enough."""
        watching = self.learned.known and not self.choice.by_cost
        if watching and epoch % _ALL:
            return (epoch % self.slots,)
        return tuple(range(self.slots))

    def _text(self) -> str:
        """The sketch of costs as text. It is written anew when it has grown or is old, not in every epoch."""
        text, executions, age = self._told
        known = self.learned.sketch.executions
        # With routers it is asked for twice in an epoch: to deal, and to store.
        grown, old = (_GROWN, 2 * _OLD) if self.choice.by_cost else (_KEPT_GROWN, _KEPT_OLD)
        if not text or known > grown * executions or age >= old:
            text, executions, age = self.learned.text(), known, 0
        self._told = (text, executions, age + 1)
        return text

    def _in_order(
        self, epoch: int, staging: Folder | None, files: list[ResultFile], spark: SparkSession, stages: PlannedStages
    ) -> list[ResultFile]:
        """Put the output of all slots in the order of the input, as one file."""
        spec = ApplySpec(epoch=epoch, staging=staging, files=tuple(f.file for f in files))
        with instructed(spark.sparkContext, spec.encode()), explained():
            name = f"order {self.apply.name}"
            collected = stages.collect(name, 1, lambda: order_stage(spark, self.apply), spark=spark)
        return _reports(collected, 1, epoch)[0].results


def _reports(collected: Collected, tasks: int, epoch: int) -> list[ApplyReport]:
    reports = [ApplyReport.from_wire(text, data) for text, data in unpacked(collected.lines)]
    if len(reports) != tasks:
        raise RheostatError(f"{len(reports)} of {tasks} tasks of epoch {epoch} sent a report")
    return reports


def _joined(rows: Any, most: int) -> Any:
    """The same RDD in at most so many partitions, without a shuffle: a router in Python costs more than reading."""
    return rows.toJavaRDD().coalesce(most).rdd() if int(rows.getNumPartitions()) > most else rows
