"""The function that Spark calls with every micro-batch. It runs the epoch unless it is committed already."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import CheckpointError, RheostatError
from rheostat.spark.epoch.epoch import Epoch
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.stage.stage import EPOCH_CONF, explain_error


class _StoppedError(RheostatError):
    """An epoch was abandoned because its query is being stopped.

    Spark recognises such an error by its message (SPARK-39218). The regular expression it uses overflows the stack if
    the message also contains the Java error that the stop caused, so that error is left out.
    """

    def __init__(self) -> None:
        super().__init__(
            "the query is being stopped: py4j.protocol.Py4JJavaError: An error occurred while calling an epoch: "
            "java.lang.InterruptedException"
        )


BeforeEpoch = Callable[[QueryContext, int, SparkSession], QueryContext]
"""Called before every epoch; returns the query as the epoch should run it."""


def _as_it_is(query: QueryContext, epoch: int, spark: SparkSession) -> QueryContext:  # noqa: ARG001
    return query


class EpochRunner:
    """Runs epochs: the function that Spark calls with every micro-batch.

    Args:
        query: the query that the epochs belong to.
        before_epoch: called with the query, the epoch and its session; returns the query as the epoch should run it.

    Attributes:
        query: the query as its newest epoch ran it.
        resumed: the newest epoch that was committed when the query started; -1 in a new checkpoint.
        failure: the error that ended the last failed epoch, as the user should see it; None if none failed.
        late_failure: the same, if it came after the commit of the last epoch, so that Spark does not know of it.
    """

    def __init__(self, query: QueryContext, before_epoch: BeforeEpoch = _as_it_is) -> None:
        self.query = query
        self._before_epoch = before_epoch
        self._configured = False
        self._stopping = False
        self.resumed = query.checkpoint.manifest.epoch
        self.failure: BaseException | None = None
        self.late_failure: BaseException | None = None

    def expect_stop(self) -> None:
        """Note that the query is about to be stopped, so that an epoch that fails now is reported as stopped."""
        self._stopping = True

    def end(self, timeout: float = 60.0) -> None:
        """Wait for what follows the last commit, after Spark's query has ended; note an error as ``failure``.

        Args:
            timeout: seconds to wait.
        """
        try:
            self.query.epilogue.finish(timeout)
        except BaseException as error:
            self.failure = self.late_failure = explain_error(error)

    def __call__(self, batch: DataFrame, epoch: int) -> None:
        """Run an epoch. An epoch that was committed before a crash, which Spark then repeats, is skipped."""
        try:
            self.query.epilogue.finish()
            if epoch != self.query.checkpoint.manifest.epoch:
                self._check_next(epoch)
                self._configure(batch)
                self.query = self._before_epoch(self.query, epoch, batch.sparkSession)
                Epoch(self.query, batch, epoch).run()
        except BaseException as error:
            self.failure = explain_error(error)
            if self._stopping:
                raise _StoppedError from None
            raise

    def _check_next(self, epoch: int) -> None:
        done = self.query.checkpoint.manifest.epoch
        if epoch != done + 1:
            raise CheckpointError(
                f"Spark is at epoch {epoch}, but the newest manifest in {self.query.checkpoint.folder.uri} is for "
                f"epoch {done}: the folders spark/ and epochs/ do not belong together; restore both from the same copy"
            )

    def _configure(self, batch: DataFrame) -> None:
        """Set the options that epochs need in the session that Spark cloned for this query, not in the user's own."""
        if self._configured:
            return
        conf = batch.sparkSession.conf
        for name, value in EPOCH_CONF.items():
            conf.set(name, value)
        conf.set("spark.sql.shuffle.partitions", str(batch.sparkSession.sparkContext.defaultParallelism))
        self._configured = True
