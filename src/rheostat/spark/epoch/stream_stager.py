"""Stages the rows of sources, and what maps make of rows and results, with plans that are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.spark.output.staged_rows import StagedRows, stage_plan
from rheostat.spark.stage.planned_stages import PlannedStages
from rheostat.state.files import Folder


class StreamStager:
    """Stages streams of one epoch, with the plans of earlier epochs where these can be used again.

    Args:
        streams: the rows of the epoch.
        stages: the Spark plans that epochs have in common.
        fixed: from the name of a stream to True if its maps do the same in every epoch.

    Attributes:
        plans: the plans that were executed.
    """

    def __init__(self, streams: EpochStreams, stages: PlannedStages, fixed: Callable[[str], bool]) -> None:
        self._streams = streams
        self._stages = stages
        self._fixed = fixed
        self.plans: list[Any] = []

    def frame(self, stream: str) -> DataFrame:
        """The rows of a stream, not staged."""
        return self._streams.stream(stream)

    def stage(self, stream: str, folder: Folder) -> StagedRows:
        """Write the rows of a stream into an empty folder.

        Args:
            stream: name of the stream.
            folder: the folder.
        """
        plan = None
        if self._fixed(stream) and (rows := self._streams.leaf([stream])) is not None:
            spark = self._streams.spark
            plan = self._stages.plan(f"write {stream}", None, lambda: self.frame(stream), spark=spark, rows=rows)
        if plan is None:
            plan = self.frame(stream)._jdf.queryExecution().executedPlan()
        self.plans.append(plan)
        return stage_plan(self._streams.spark, plan, folder)
