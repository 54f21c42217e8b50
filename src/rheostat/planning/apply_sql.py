"""The rows of an apply operator as Spark SQL: what its function reads, and what their costs are learned by."""

from __future__ import annotations

from rheostat.planning.feeds import PART, SEQUENCE
from rheostat.topology.nodes import Apply
from rheostat.types import Schema
from rheostat.windows.partials import quoted

ITEM = "item"
"""Column with a hash of the columns that decide what a row costs."""

_IN_TURN = "monotonically_increasing_id() + spark_partition_id()"
"""Numbers the rows of a task one after the other; tasks begin with different numbers."""


def input_columns(apply: Apply) -> list[str]:
    """The names of the function's columns in the shuffle: ``mapInArrow`` cannot handle dots in the user's names."""
    return [f"c{i}" for i in range(len(apply.inputs))]


def apply_sql(apply: Apply, view: str, columns: Schema, *, slots: int | None, sort: bool = False) -> str:
    """A query with the rows of an apply operator.

    Args:
        apply: the operator.
        view: name of the view with the rows of its stream.
        columns: the columns of the stream, from name to Spark SQL type.
        slots: number of slots that rows are dealt to in turn; None if a router deals them.
        sort: True if another run could read the rows of a task in another order. Spark repeats single tasks, and a
            repeated task must send every row to the same slot. So rows are sorted by a hash first.

    >>> from rheostat.windows.partials import Column
    >>> apply = Apply(name="enrich", upstream="tweets", inputs=(Column("text", "string"),), schema=(), function=len,
    ...               cost_by=("entity",))
    >>> apply_sql(apply, "rows", {"text": "string", "entity": "string"}, slots=None)
    'SELECT xxhash64(`entity`) AS item, `text` AS c0 FROM rows'
    >>> apply_sql(apply, "rows", {"text": "string", "entity": "string"}, slots=4, sort=True).partition(" FROM ")[2]
    '(SELECT * FROM rows SORT BY xxhash64(`text`, `entity`))'
    """
    selected = [f"xxhash64({', '.join(quoted(c) for c in apply.cost_by)}) AS {ITEM}"] if apply.learns else []
    selected += [f"monotonically_increasing_id() AS {SEQUENCE}"] if apply.ordered else []
    selected += [f"CAST(pmod({_IN_TURN}, {slots}) AS INT) AS {PART}"] if slots is not None else []
    wire = zip(apply.inputs, input_columns(apply), strict=True)
    selected += [f"{quoted(column.name)} AS {name}" for column, name in wire]
    # A map has no hash. Rows that differ only in maps may change places, and with them their slots.
    hashed = ", ".join(quoted(name) for name, type_ in columns.items() if "map<" not in type_)
    rows = f"(SELECT * FROM {view} SORT BY xxhash64({hashed}))" if sort and hashed else view
    return f"SELECT {', '.join(selected)} FROM {rows}"
