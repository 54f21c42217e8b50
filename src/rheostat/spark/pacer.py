"""Limits the rows of epochs, so that a backlog is worked off in epochs near the promise's length.

How many rows is decided by ``rheostat.elastic.loop.pace``, how a source is told by
``rheostat.spark.input.source_limits``. Nothing is dropped and the order of rows does not change: what an epoch does not
read, the next one does. Spark has planned the first epoch of a run before it can be told anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isnan
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.elastic.loop.pace import Pace
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.smoothing import RATE_WEIGHT, blend
from rheostat.errors import CheckpointError
from rheostat.spark.input.source_limits import LimitedSource, SourceLimits
from rheostat.state.files import Folder

_LEAST_SHARE = 0.1
"""The least share of an epoch's rows that a source may read, also if it had fewer rows lately."""


class Pacer:
    """Sets the limits of a query's sources after every turn of the policy loop.

    The thread of the epochs calls ``after_turn``. It does nothing before ``attach``.

    Args:
        promise: the promise to keep.
        spark_folder: the folder of Spark's own logs in the checkpoint.
        note: called with the epoch and what happened, in words.

    Attributes:
        pace: the limit on the rows of an epoch.
    """

    def __init__(self, promise: Latency, spark_folder: Folder, note: Callable[[int, str], None]) -> None:
        self._promise, self._folder, self._note = promise, spark_folder, note
        self._query: StreamingQuery | None = None
        self._limits: SourceLimits | None = None
        self._given_up = False
        self._rows_per_file: dict[int, float] = {}
        self.pace = Pace()

    def attach(self, query: StreamingQuery) -> None:
        """Begin to limit the epochs of a query that was started."""
        self._query = query

    def after_turn(self, seen: Observation, plan: Plan, epoch: int, spark: SparkSession) -> None:
        """Limit the rows of the epochs after the one that begins now. What cannot be limited is said once.

        Args:
            seen: the newest observation.
            plan: the plan from now on.
            epoch: the epoch that begins now.
            spark: the session of the epoch.
        """
        if self._query is None or self._given_up:
            return
        try:
            limits = self._limits = self._limits or self._begin(self._query, epoch, spark)
            if not limits.sources:
                self._given_up = True
                return
            before, self.pace = self.pace, self.pace.after(seen, plan, self._promise)
            self._tell(before, epoch)
            shares = self._shares(limits, seen) if limits.count > 1 or self._counts_files(limits) else {0: 1.0}
            if not isnan(self.pace.rows):
                limits.set({s.number: self._limit_of(s, shares.get(s.number, 1.0)) for s in limits.sources})
        except (Py4JError, AttributeError) as error:  # Spark's internals differ from those of the versions known here
            self._given_up = True
            self._note(epoch, f"the rows per epoch cannot be limited: {type(error).__name__} in Spark's execution")

    def _begin(self, query: StreamingQuery, epoch: int, spark: SparkSession) -> SourceLimits:
        limits = SourceLimits(query, spark)
        if limits.fixed:
            self._note(epoch, f"the rows per epoch cannot be limited: {'; '.join(limits.fixed)}")
        return limits

    def _tell(self, before: Pace, epoch: int) -> None:
        """Say when a backlog begins and when it is worked off."""
        if self.pace.backlog and not before.backlog:
            self._note(epoch, f"a backlog is worked off in epochs of at most {self.pace.rows:,.0f} rows")
        elif before.backlog and not self.pace.backlog:
            self._note(epoch, "the backlog is worked off")

    @staticmethod
    def _counts_files(limits: SourceLimits) -> bool:
        return any(source.unit == "files" for source in limits.sources)

    def _limit_of(self, source: LimitedSource, share: float) -> int:
        """The limit of a source, in its own unit."""
        rows = self.pace.rows * max(share, _LEAST_SHARE)
        if source.unit == "rows":
            return int(rows)
        per_file = self._rows_per_file.get(source.number, float("nan"))
        return 1 if isnan(per_file) else int(rows / max(per_file, 1.0))

    def _shares(self, limits: SourceLimits, seen: Observation) -> dict[int, float]:
        """By source, its share of the rows of the last epoch. Also learns how many rows the files of a source have."""
        progress = self._query._jsq.lastProgress() if self._query is not None else None
        described = [] if progress is None else json.loads(progress.json())["sources"]
        total = sum(max(int(source["numInputRows"]), 0) for source in described)
        if total == 0 or len(described) != limits.count:
            return {}
        shares = {number: int(source["numInputRows"]) / total for number, source in enumerate(described)}
        for source in limits.sources:
            if source.unit == "files":
                files = self._files_read(source.number, described[source.number])
                rows = shares[source.number] * seen.external * seen.seconds
                if files and rows > 0:
                    known = self._rows_per_file.get(source.number, rows / files)
                    self._rows_per_file[source.number] = blend(known, rows / files, RATE_WEIGHT)
        return shares

    def _files_read(self, number: int, described: dict[str, Any]) -> int:
        """The number of files that a source read in the last epoch, from Spark's log of them; 0 if unknown."""
        try:
            begin, end = described.get("startOffset"), described["endOffset"]
            first = -1 if begin is None else int(begin["logOffset"])
            log = self._folder / "sources" / str(number)
            texts = [log.read(str(entry)).decode() for entry in range(first + 1, int(end["logOffset"]) + 1)]
        except (CheckpointError, KeyError, TypeError, ValueError):  # every tenth entry is in a compact file
            return 0
        return sum(len(text.splitlines()) - 1 for text in texts)
