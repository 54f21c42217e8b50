"""The checks of ``compute``, ``consolidate`` and ``aggregate``, which turn the arguments into nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rheostat.choices import Emit, check_choice
from rheostat.errors import TopologyError
from rheostat.topology.aggregates import Aggregate, AggregateSite
from rheostat.topology.event_time import EventTime
from rheostat.topology.nodes import WINDOW, WINDOW_END, WINDOW_START, Compute, Consolidate
from rheostat.types import Schema, is_key
from rheostat.windows.panes import pane_of
from rheostat.windows.window import Window

RESULT_COLUMNS = (WINDOW, WINDOW_START, WINDOW_END)
"""The first columns of every result of a consolidate operator."""

PARTIALS = ".partials"
"""The suffix with which ``aggregate`` names its compute operator. Checkpoints contain that name."""

Windows = Window | Iterable[Window | Iterable[Window]]
"""A window, several windows, or a list of what ``tumbling`` and ``sliding`` return."""


def compute_node(
    operator: str,
    name: str,
    upstream: str,
    schema: Schema,
    time: EventTime | None,
    by: str | Iterable[str],
    declared: Mapping[str, Aggregate],
    fuse: bool | str = True,
) -> Compute:
    """The node of a compute operator, checked.

    Args:
        operator: the name that the user wrote, for errors.
        name: the operator's name.
        upstream: the stream it reads.
        schema: columns of that stream and their Spark SQL types.
        time: event time of that stream; None if it has none.
        by: key attributes.
        declared: aggregates by result column.
        fuse: what it is fused with; see ``Compute``.

    Raises:
        TopologyError: an argument does not fit; the message says what to change.
    """
    keys = (by,) if isinstance(by, str) else tuple(by)
    _check_results(operator, keys, declared)
    for key in keys:
        if key not in schema:
            raise TopologyError(
                f"operator {operator!r} groups by column {key!r}, which stream {upstream!r} does not have; "
                f"it has {', '.join(schema)}"
            )
        if not is_key(schema[key]):
            raise TopologyError(
                f"operator {operator!r} cannot group by column {key!r} of type {schema[key]}; cast it with map(...)"
            )
    if time is None:
        raise TopologyError(
            f"operator {operator!r} needs event time, and the output of {upstream!r} has none: "
            "pass event_time='column' to the process operator before it"
        )
    bound = tuple(a.bind(AggregateSite(operator, result, schema, time.sql)) for result, a in declared.items())
    return Compute(
        name=name,
        upstream=upstream,
        keys=keys,
        key_types=tuple(schema[k] for k in keys),
        aggregates=bound,
        time_sql=time.sql,
        time_type=time.type,
        fuse=fuse,
    )


def consolidate_node(name: str, compute: str, windows: Any, emit: Emit, others: Iterable[Window] = ()) -> Consolidate:
    """The node of a consolidate operator, checked.

    Args:
        name: the operator's name.
        compute: the compute operator whose partials it reads.
        windows: the windows, as the user passed them.
        emit: ``append`` or ``update``.
        others: the windows of other consolidate operators that read the same compute operator.

    Raises:
        TopologyError: an argument does not fit; the message says what to change.
    """
    check_choice(f"operator {name!r}", "emit", emit, Emit)
    flat = tuple(dict.fromkeys(_flat(name, windows)))
    try:
        pane_of([*flat, *others])  # windows without a usable pane fail here, at the call that adds them
    except TopologyError as error:
        raise TopologyError(f"operator {name!r}: {error}") from None
    return Consolidate(name, compute, flat, emit)


def _check_results(operator: str, keys: tuple[str, ...], declared: Mapping[str, Aggregate]) -> None:
    if not declared:
        raise TopologyError(f"operator {operator!r} has no aggregates: pass one, as in rows=rh.count()")
    for result, aggregate in declared.items():
        if not isinstance(aggregate, Aggregate):
            raise TopologyError(f"operator {operator!r}: {result}={aggregate!r} is not an aggregate like rh.count()")
    names = [*RESULT_COLUMNS, *keys, *declared]
    if duplicate := next((n for i, n in enumerate(names) if n in names[:i]), None):
        raise TopologyError(f"operator {operator!r} would have two result columns named {duplicate!r}; rename one")


def _flat(name: str, windows: Any) -> list[Window]:
    """All windows of nested lists, in order."""
    if isinstance(windows, Window):
        return [windows]
    if isinstance(windows, Iterable) and not isinstance(windows, (str, Mapping)):
        return [window for part in windows for window in _flat(name, part)]
    raise TopologyError(f"operator {name!r}: windows={windows!r} is not a window: use rh.tumbling() or rh.sliding()")
