"""Arrays of whole numbers inside a kept Spark plan, which get other values in every epoch.

The routing of an epoch is such an array. As part of the query's text it would have Spark plan the stage anew whenever a
shard moves, which takes longer than a tiny epoch. An array ends with a mark: a negative number of its own, by which it
is found in the finished plan, and that no shard reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark import SparkContext

_ARRAY = "array<int>"


@dataclass(frozen=True)
class PlanArrays:
    """The constants of a Spark plan that hold marked arrays.

    Attributes:
        literals: for every array, its constants in the plan; the optimiser may have copied it.
        field: the field of a constant with its value; None without arrays.
    """

    literals: tuple[tuple[Any, ...], ...] = ()
    field: Any = None

    @staticmethod
    def find(plan: Any, count: int) -> PlanArrays | None:
        """Find the arrays with the marks ``mark(0)`` to ``mark(count - 1)`` in a physical plan; None if one is missing.

        Args:
            plan: Spark's physical plan.
            count: the number of arrays.
        """
        found: dict[int, list[Any]] = {mark(i): [] for i in range(count)}
        if count:
            for literal in _array_literals(plan):
                value = literal.value()
                if value is not None and value.numElements():
                    found.get(value.getInt(value.numElements() - 1), []).append(literal)
        if not all(found.values()):
            return None
        literals = tuple(tuple(same) for same in found.values())
        if not literals:
            return PlanArrays()
        field = literals[0][0].getClass().getDeclaredField("value")
        field.setAccessible(True)
        return PlanArrays(literals, field)

    def set(self, context: SparkContext, arrays: Sequence[Sequence[int]]) -> None:
        """Give the arrays other values.

        Args:
            context: the Spark context.
            arrays: the values of every array, without its mark.
        """
        for i, (literals, array) in enumerate(zip(self.literals, arrays, strict=True)):
            value = _array_data(context, [*array, mark(i)])
            for literal in literals:
                self.field.set(literal, value)


def mark(number: int) -> int:
    """Return the last entry of an array of a plan, by which it is known.

    Args:
        number: the number of the array.

    >>> mark(0), mark(1)
    (-1, -2)
    """
    return -1 - number


def elements(sequence: Any) -> list[Any]:
    """Return the elements of a Scala sequence."""
    return [sequence.apply(i) for i in range(sequence.size())]


def _array_literals(plan: Any) -> list[Any]:
    """All constants of a plan that are arrays of whole numbers."""
    found: list[Any] = []
    nodes = [plan]
    while nodes:
        node = nodes.pop()
        nodes += elements(node.children())
        expressions = elements(node.expressions())
        while expressions:
            expression = expressions.pop()
            expressions += elements(expression.children())
            if expression.getClass().getSimpleName() == "Literal" and expression.dataType().simpleString() == _ARRAY:
                found.append(expression)
    return found


def _array_data(context: SparkContext, values: Sequence[int]) -> Any:
    """Values as Spark keeps an array of whole numbers. They travel as bytes: one call each would take a second."""
    jvm, gateway = context._jvm, context._gateway
    assert jvm is not None
    assert gateway is not None
    array = gateway.new_array(jvm.int, len(values))
    data = bytearray(np.asarray(values, dtype=">i4").tobytes())
    jvm.java.nio.ByteBuffer.wrap(data).asIntBuffer().get(array)
    return jvm.org.apache.spark.sql.catalyst.expressions.UnsafeArrayData.fromPrimitiveArray(array)
