"""The function that Spark calls with every micro-batch: it runs epochs that are not committed yet."""

from __future__ import annotations

from pyspark.sql import DataFrame

from rheostat.errors import CheckpointError, RheostatError
from rheostat.spark.epoch.epoch import Epoch
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.stage.stage import EPOCH_CONF, explain_error


class _StoppedError(RheostatError):
    """An epoch was abandoned because its query is being stopped.

    Spark recognises such an error by words in its message (SPARK-39218). It searches for them with an expression that
    overflows its stack if the message contains the Java error that the stop caused, so that error is left out.
    """

    def __init__(self) -> None:
        super().__init__(
            "the query is being stopped: py4j.protocol.Py4JJavaError: An error occurred while calling an epoch: "
            "java.lang.InterruptedException"
        )


class EpochRunner:
    """Runs epochs: the function that Spark calls with every micro-batch.

    Args:
        query: the query that the epochs belong to.

    Attributes:
        failure: the error of the last epoch, as the user should see it; None if it did not fail.
    """

    def __init__(self, query: QueryContext) -> None:
        self._query = query
        self._configured = False
        self._stopping = False
        self.failure: BaseException | None = None

    def give_up(self) -> None:
        """Note that the query is about to be stopped: if an epoch fails now, Spark is told that this is the reason."""
        self._stopping = True

    def __call__(self, batch: DataFrame, epoch: int) -> None:
        """Run an epoch, unless it is committed already and Spark has not noted that."""
        try:
            if epoch != self._query.checkpoint.manifest.epoch:
                self._check_next(epoch)
                self._configure(batch)
                Epoch(self._query, batch, epoch).run()
        except BaseException as error:
            self.failure = explain_error(error)
            if self._stopping:
                raise _StoppedError from None
            raise

    def _check_next(self, epoch: int) -> None:
        done = self._query.checkpoint.manifest.epoch
        if epoch != done + 1:
            raise CheckpointError(
                f"Spark is at epoch {epoch}, but the newest manifest in {self._query.checkpoint.folder.uri} is of "
                f"epoch {done}: the folders spark/ and epochs/ do not belong together; restore both from the same copy"
            )

    def _configure(self, batch: DataFrame) -> None:
        """Set what epochs need in the session that Spark made for this query; the user's own is not changed."""
        if self._configured:
            return
        conf = batch.sparkSession.conf
        for name, value in EPOCH_CONF.items():
            conf.set(name, value)
        conf.set("spark.sql.shuffle.partitions", str(batch.sparkSession.sparkContext.defaultParallelism))
        self._configured = True
