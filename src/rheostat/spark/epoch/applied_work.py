"""The apply operators in one epoch: runs them level by level, and keeps what their slots reported until the commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rheostat.elastic.loop.decision import Decision
from rheostat.spark.epoch.apply_operator import ApplyOperator
from rheostat.spark.epoch.epoch_state import EpochSetting
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.epoch.source_counts import Observed, read_observed
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.spark.stage.apply_report import ApplyReport
from rheostat.spark.stage.task_reports import ResultFile


class AppliedWork:
    """The apply operators in one epoch.

    Args:
        query: the query.
        epoch: number of the epoch.

    Attributes:
        reports: by operator that ran, the reports of its slots.
        decisions: what operators decided about how rows are dealt, where that changed.
        observed: by source, the counts of rows made while operators read them.
    """

    def __init__(self, query: QueryContext, epoch: int) -> None:
        self._query = query
        self._epoch = epoch
        self.reports: dict[str, list[ApplyReport]] = {}
        self.decisions: list[Decision] = []
        self.observed: dict[str, Observed] = {}

    def run(self, level: int, streams: EpochStreams, setting: EpochSetting) -> list[ResultFile]:
        """Run the operators of a level whose streams have rows, and return their result files.

        Args:
            level: number of the level.
            streams: the rows of the epoch.
            setting: what all stages of the epoch share.
        """
        query, results = self._query, list[ResultFile]()
        for node in query.plan.applied_at(level):
            stream, operator = streams.sql(node.upstream), query.applied[node.name]
            if stream is None:
                continue
            self._decide(operator)
            from_source = streams.begins_with_source(node.upstream)
            run = operator.run(
                self._epoch,
                streams,
                stream.view,
                setting.staging.get(node.name),
                spark=setting.spark,
                stages=query.stages,
                fixed=query.is_fixed(node.upstream),
            )
            if from_source and any(c.must_observe for c in query.counters.values()):
                self.observed.update(read_observed(run.metrics()))
            self.reports[node.name] = run.reports
            results += run.results
        return results

    def learned(self) -> dict[str, Mapping[str, object]]:
        """Learn from the reports of the epoch, once; return what the manifest keeps of every operator."""
        for name, reports in self.reports.items():
            self._query.applied[name].learn(reports)
        return {name: kept for name, operator in self._query.applied.items() if (kept := operator.stored())}

    def by_slot(self, value: Callable[[ApplyReport], float]) -> dict[str, list[float]]:
        """By operator that ran, a value of each slot."""
        ordered = {name: sorted(reports, key=lambda report: report.slot) for name, reports in self.reports.items()}
        return {name: [value(report) for report in reports] for name, reports in ordered.items()}

    def _decide(self, operator: ApplyOperator) -> None:
        """Let an operator decide how its rows are dealt, and note it if that changes."""
        if operator.decide():
            decision = self._query.decision_log.state(
                self._epoch,
                component=operator.apply.name,
                action=operator.action,
                policy=operator.apply.grouping,
                slots=(operator.slots, operator.slots),
                reasons=(operator.choice.reason,),
            )
            self.decisions.append(decision)
