"""The checks of ``Stream.apply``, which turn the arguments into an ``Apply`` node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rheostat.choices import CalledWith, GroupingName, check_choice
from rheostat.durations import Duration
from rheostat.errors import TopologyError
from rheostat.topology.nodes import Apply
from rheostat.topology.process import columns_of_schema, names_of, positive
from rheostat.types import Schema, arrow_type, is_key

MAX_SLOTS = 4096
"""The most slots of an operator; each is a task of every epoch."""


@dataclass(frozen=True, kw_only=True)
class ApplyRequest:
    """The arguments of a call of ``apply``.

    Attributes:
        name: the operator's name.
        function: the user's function.
        cost_by: columns that decide what a row costs.
        grouping: how rows are dealt to slots.
        over: what the function is called with.
        order: True if the output keeps the order of the input.
        slots: number of slots; None for as many as Spark has cores.
        reads: the columns that the function reads; None for all.
        time_limit: how long the function may run in one task.
    """

    name: str
    function: Callable[..., Any]
    cost_by: str | Iterable[str]
    grouping: GroupingName
    over: CalledWith
    order: bool
    slots: int | None
    reads: str | Iterable[str] | None
    time_limit: Duration

    @property
    def where(self) -> str:
        """The beginning of an error text: which operator it is about."""
        return f"operator {self.name!r}"


def apply_node(request: ApplyRequest, upstream: str, columns: Schema, schema: Schema) -> Apply:
    """Check the arguments of ``apply``, and return the operator.

    Args:
        request: the arguments.
        upstream: name of the stream that it reads.
        columns: the columns of that stream, from name to Spark SQL type.
        schema: the columns of its output.

    Raises:
        TopologyError: an argument cannot work; the message says which, and what to do.

    >>> request = ApplyRequest(name="enrich", function=len, cost_by="entity", grouping="lpt", over="rows", order=False,
    ...                        slots=4, reads=None, time_limit="10 minutes")
    >>> apply_node(request, "tweets", {"entity": "string"}, {"length": "bigint"}).cost_by
    ('entity',)
    """
    where = request.where
    if not callable(request.function):
        raise TopologyError(f"{where}: pass a function, not {request.function!r}")
    check_choice(where, "grouping", request.grouping, GroupingName)
    check_choice(where, "over", request.over, CalledWith)
    if request.slots is not None and not 1 <= request.slots <= MAX_SLOTS:
        raise TopologyError(f"{where}: slots={request.slots} must be from 1 to {MAX_SLOTS}")
    cost_by = names_of(request.cost_by)
    _check_columns(where, "cost_by", cost_by, columns)
    for column in cost_by:
        if not is_key(columns[column]):
            raise TopologyError(
                f"{where}: costs cannot be learned by {column!r} of type {columns[column]}; cast it with map(...)"
            )
    reads = tuple(columns) if request.reads is None else names_of(request.reads)
    _check_columns(where, "reads", reads, columns)
    for column, type_ in schema.items():
        try:
            arrow_type(type_)
        except TopologyError:
            raise TopologyError(
                f"{where}: its output cannot have column {column!r} of type {type_}; choose another type in schema="
            ) from None
    return Apply(
        name=request.name,
        upstream=upstream,
        inputs=columns_of_schema({name: columns[name] for name in reads}),
        schema=columns_of_schema(schema),
        function=request.function,
        over=request.over,
        cost_by=cost_by,
        grouping=request.grouping,
        ordered=request.order,
        slots=request.slots,
        time_limit=positive(where, "time_limit", request.time_limit) / 1e6,
    )


def _check_columns(where: str, option: str, names: tuple[str, ...], columns: Schema) -> None:
    for name in names:
        if name not in columns:
            raise TopologyError(
                f"{where}: {option}={name!r} is not a column of its stream, which has {', '.join(columns)}"
            )
    if len(set(names)) < len(names):
        raise TopologyError(f"{where}: {option} names a column twice: {', '.join(names)}; name each once")
