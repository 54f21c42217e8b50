"""The hosts of a Spark application and their cores."""

from __future__ import annotations

import re
from typing import Any

from pyspark import SparkContext

from rheostat.spark.stage.plan_arrays import elements

Hosts = dict[str, int]
"""By host as Spark names it, the cores of its executors, in the order of names."""


class HostWatch:
    """Knows the hosts with executors. Asking takes a few messages to the JVM while the executors are the same.

    Args:
        context: the Spark context of a cluster; one in local mode has no executors.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._executors = ""
        self._hosts: Hosts = {}

    def read(self) -> Hosts:
        """Return the hosts that have executors now."""
        spark: Any = self._context._jsc.sc()
        executors = spark.schedulerBackend().getExecutorIds().mkString(" ")
        if executors != self._executors:
            summaries = [s for s in elements(spark.statusStore().executorList(True)) if s.id() != "driver"]
            found: Hosts = {}
            for summary in summaries:
                host = host_of(summary.hostPort())
                found[host] = found.get(host, 0) + summary.totalCores()
            self._hosts = dict(sorted(found.items()))
            # Spark's status follows its scheduler with a short delay: ask again until both agree.
            if {s.id() for s in summaries} == set(executors.split()):
                self._executors = executors
        return dict(self._hosts)


def has_executors(master: str) -> bool:
    """Return True if an application with this master URL has executors of its own.

    >>> has_executors("spark://127.0.0.1:7077"), has_executors("local[2]"), has_executors("local-cluster[2,1,1024]")
    (True, False, True)
    """
    return not re.match(r"local(\[|$)", master)


def host_of(address: str) -> str:
    """Return the host of an address with or without a port.

    >>> host_of("127.0.0.2:4040"), host_of("127.0.0.2"), host_of("[::1]:4040"), host_of("[::1]")
    ('127.0.0.2', '127.0.0.2', '[::1]', '[::1]')
    """
    return re.sub(r"(?<=[^:]):\d+$", "", address)
