"""Asks Spark which executors there are, asks for more of them, and releases some, on any cluster manager.

Spark has one interface for this, ``ExecutorAllocationClient``, which its own dynamic allocation uses too. Standalone,
YARN and Kubernetes implement it (``CoarseGrainedSchedulerBackend``); ``local[n]`` does not. Spark answers when the
cluster manager has taken the request, not when executors are there.

Every call has a time limit: a master that does not answer must not stop the epochs.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pyspark.sql import SparkSession

from rheostat.elastic.model.roster import ClusterNode

ANSWER_LIMIT = 5.0
"""Seconds that Spark has to answer a call."""

LOCAL = "driver"
"""Name of the only node in local mode: the driver itself runs the tasks."""


class ExecutorClient(Protocol):
    """The executors of an application."""

    @property
    def application(self) -> str:
        """Name of the application; queries with the same name share executors."""

    @property
    def fixed(self) -> str:
        """Why the number of executors cannot change; empty if it can."""

    def there(self) -> tuple[ClusterNode, ...]:
        """The executors that are there, in the order in which they came."""

    def why_lost(self, name: str) -> str:
        """Why an executor is gone, in Spark's words; empty if it does not say."""

    def request(self, total: int) -> str:
        """Ask for a number of executors in all. Return why the cluster refuses; empty if it takes the request."""

    def release(self, names: Sequence[str]) -> str:
        """End executors. Return why that failed; empty if it did not."""


class SparkExecutors:
    """The executors of a Spark application.

    Args:
        spark: its session.

    >>> client = SparkExecutors(spark)
    >>> [(node.name, node.cores) for node in client.there()]
    [('driver', 2)]
    >>> client.fixed
    'local[2] is one node, whose number of cores is fixed'
    """

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._jvm: Any = self._context._jvm
        self._scala: Any = self._context._jsc.sc()
        self._master = str(self._context.master)
        self._local = self._master.startswith("local") and not self._master.startswith("local-cluster")
        self._known: dict[str, ClusterNode] = {}
        self._newest: tuple[str, ...] = ()
        self._backend: Any = None if self._local else self._scala.schedulerBackend()

    @property
    def application(self) -> str:
        """The id that Spark gave the application."""
        return str(self._context.applicationId)

    @property
    def fixed(self) -> str:
        """Why the number of executors cannot change; empty if it can."""
        if self._local:
            return f"{self._master} is one node, whose number of cores is fixed"
        if self._context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
            return (
                "Spark's own dynamic allocation decides on executors: "
                "set spark.dynamicAllocation.enabled=false to let Rheostat decide"
            )
        return ""

    def there(self) -> tuple[ClusterNode, ...]:
        """The executors that are there, in the order in which they came. One call to Spark if nothing has changed."""
        if self._local:
            if LOCAL not in self._known:
                self._known[LOCAL] = ClusterNode(LOCAL, socket.gethostname(), self._context.defaultParallelism)
            return (self._known[LOCAL],)
        listed = str(self._backend.getExecutorIds().mkString(","))
        names = tuple(sorted(filter(None, listed.split(",")), key=lambda n: (len(n), n)))
        if names != self._newest:
            self._describe(names)
            # An executor counts from the moment at which it can hold blocks; until then it is described anew.
            self._newest = tuple(name for name in names if name in self._known)
        return tuple(self._known[name] for name in names if name in self._known)

    def why_lost(self, name: str) -> str:
        """Why an executor is gone, in Spark's words; empty if it does not say."""
        for summary in self._summaries(active=False):
            if summary.id() == name and summary.removeReason().isDefined():
                return " ".join(str(summary.removeReason().get()).split())
        return ""

    def request(self, total: int) -> str:
        """Ask for a number of executors in all. Return why the cluster refuses; empty if it takes the request."""
        hosts = self._jvm.PythonUtils.toScalaMap({})
        return _answer(
            lambda: self._scala.requestTotalExecutors(total, 0, hosts), "the cluster manager did not take the request"
        )

    def release(self, names: Sequence[str]) -> str:
        """End executors, without changing the number asked for. Return why that failed; empty if it did not."""
        chosen = self._jvm.PythonUtils.toSeq(list(names))
        return _answer(
            lambda: self._backend.killExecutors(chosen, False, False, True).nonEmpty(),
            "the cluster manager did not end them",
        )

    def _describe(self, names: Sequence[str]) -> None:
        """Learn host and cores of executors that are new."""
        if all(name in self._known for name in names):
            return
        for summary in self._summaries(active=True):
            name = str(summary.id())
            host = str(summary.hostPort()).rpartition(":")[0]
            if name in names and host:
                self._known[name] = ClusterNode(name, host, int(summary.totalCores()))

    def _summaries(self, *, active: bool) -> list[Any]:
        found = self._scala.statusStore().executorList(active)
        return [found.apply(i) for i in range(found.size())]


def _answer(call: Callable[[], Any], refusal: str) -> str:
    """Make a call to Spark in a thread of its own, and wait for its answer, but not for long.

    Args:
        call: the call, which returns False if the cluster manager refuses.
        refusal: what False means.

    Returns:
        Why it failed; empty if it did not.

    >>> _answer(lambda: True, "refused"), _answer(lambda: False, "refused"), _answer(lambda: 1 / 0, "refused")
    ('', 'refused', 'ZeroDivisionError: division by zero')
    """
    answers: list[str] = []

    def run() -> None:
        try:
            answers.append("" if call() else refusal)
        except Exception as error:  # Spark's own errors come as Java errors of many kinds
            text = str(error).splitlines()
            answers.append(f"{type(error).__name__}: {text[0] if text else ''}")

    thread = threading.Thread(target=run, name="rheostat-executors", daemon=True)
    thread.start()
    thread.join(ANSWER_LIMIT)
    return answers[0] if answers else f"no answer from the cluster manager within {ANSWER_LIMIT:g} s"
