"""A Spark plan whose tasks prefer hosts that we choose.

Spark gives the tasks after an exchange no place, or that of most of their input. It asks the RDDs of a stage for their
preferred locations from the last one backwards, and takes the first answer. Spark's own coalesced RDD answers with what
its partitions say. So the rows of the plan go through one that joins nothing: every partition has one parent, and the
location that we want. Executors know its classes; nothing is compiled or sent to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pyspark import SparkContext


def placed(context: SparkContext, plan: Any, hosts: Sequence[str]) -> Any:
    """A physical plan with the same rows, whose last stage has one task per host given, in order.

    Spark waits for ``spark.locality.wait`` before it runs a task elsewhere.

    Args:
        context: the Spark context.
        plan: Spark's physical plan, which must not have been executed.
        hosts: for every partition, the host that its task prefers, as Spark names it; empty text if it has none. With
            another number of hosts than partitions, the plan is returned as it is.
    """
    rows = plan.execute()
    if rows.getNumPartitions() != len(hosts):
        return plan
    java = _Java.of(context._gateway)
    partitions = java.new_array(java.partition, len(hosts))
    for number, host in enumerate(hosts):
        partitions[number] = java.place(number, rows, java.parent(number), java.host(host))
    joined = java.coalesced(rows, len(hosts), java.none, rows.elementClassTag())
    java.partitions.set(joined, partitions)
    return java.scan(plan.output(), joined, "homes", java.anywhere, java.nothing, java.none)


class _Java:
    """Classes and objects of Spark that every plan uses. Looking one up costs a message for every part of its name.

    Args:
        gateway: the connection to Spark's JVM.
    """

    def __init__(self, gateway: Any) -> None:
        jvm = gateway.jvm
        self.new_array = gateway.new_array
        self.none = jvm.scala.Option.empty()
        self.nothing = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
        self.partition = jvm.org.apache.spark.Partition
        self.place = jvm.org.apache.spark.rdd.CoalescedRDDPartition
        self.coalesced = jvm.org.apache.spark.rdd.CoalescedRDD
        self.scan = jvm.org.apache.spark.sql.execution.RDDScanExec
        self.anywhere = jvm.org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning(0)
        self.partitions = jvm.java.lang.Class.forName("org.apache.spark.rdd.RDD").getDeclaredField("partitions_")
        self.partitions.setAccessible(True)
        self._some, self._int = jvm.scala.Some, jvm.int
        self._hosts: dict[str, Any] = {"": self.none}
        self._parents: list[Any] = []

    def host(self, name: str) -> Any:
        """The preferred location of a partition; none for empty text."""
        if name not in self._hosts:
            self._hosts[name] = self._some(name)
        return self._hosts[name]

    def parent(self, number: int) -> Any:
        """The parents of a partition that has one: an array with its number."""
        while len(self._parents) <= number:
            array = self.new_array(self._int, 1)
            array[0] = len(self._parents)
            self._parents.append(array)
        return self._parents[number]

    @staticmethod
    @lru_cache(maxsize=1)
    def of(gateway: Any) -> _Java:
        """The classes of a JVM."""
        return _Java(gateway)
