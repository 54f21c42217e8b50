"""``KeyProcessor``, for ``process_keys``: logic that handles one key at a time over typed state.

A key's state is one row, whose columns are values, lists and ordered maps. So state is stored as Arrow, and any task
that owns the key's shard can read it. Logic that can be written over whole frames is better a plain function for
``Stream.process``, which is one to two orders of magnitude faster.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Literal

from rheostat.errors import TopologyError
from rheostat.extras import load

Row = Sequence[Any] | Mapping[str, Any]
"""A row of output: a sequence of values in the order of the schema, or a mapping from column name to value."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StateField:
    """A field of a processor's state, as ``value``, ``list_of`` and ``ordered_map`` return it.

    Attributes:
        kind: ``value``, ``list`` or ``map``.
        type: Spark SQL type of the value, the list's elements or the map's values.
        key_type: Spark SQL type of the map's keys; empty for other kinds.
        default: the initial value of a key; only for ``value`` fields.
    """

    kind: Literal["value", "list", "map"]
    type: str
    key_type: str = ""
    default: Any = None

    @property
    def column_type(self) -> str:
        """Spark SQL type of the field's state column."""
        if self.kind == "list":
            return f"array<{self.type}>"
        if self.kind == "map":
            return f"array<struct<key:{self.key_type},value:{self.type}>>"
        return self.type

    def loaded(self, stored: Any) -> Any:
        """The Python value for a value of the state column; None gives the field's initial value."""
        if self.kind == "list":
            return [] if stored is None else list(stored)
        if self.kind == "map":
            return _sorted_dict()((e["key"], e["value"]) for e in stored or ())
        return copy.deepcopy(self.default) if stored is None else stored

    def stored(self, value: Any) -> Any:
        """The value of the state column for a Python value."""
        if self.kind == "map":
            return [{"key": k, "value": v} for k, v in value.items()]
        return value


def value(type: str, default: Any = None) -> Any:
    """A state field with a single value.

    Args:
        type: Spark SQL type.
        default: the initial value of a key.

    >>> class Counter(rh.KeyProcessor):
    ...     count = rh.value("bigint", default=0)
    >>> Counter.fields["count"].column_type
    'bigint'
    """
    return StateField("value", type, default=default)


def list_of(type: str) -> Any:
    """A state field that is a Python list, initially empty.

    Args:
        type: Spark SQL type of the elements.

    >>> class Recent(rh.KeyProcessor):
    ...     amounts = rh.list_of("double")
    >>> Recent.fields["amounts"].column_type
    'array<double>'
    """
    return StateField("list", type)


def ordered_map(key_type: str, value_type: str) -> Any:
    """A state field that is a ``sortedcontainers.SortedDict``: a dict with sorted keys, initially empty.

    It needs the extra ``maps``: ``pip install "rheostat[maps]"``.

    Args:
        key_type: Spark SQL type of the keys.
        value_type: Spark SQL type of the values.

    >>> class Book(rh.KeyProcessor):
    ...     bids = rh.ordered_map("bigint", "array<bigint>")
    >>> Book.fields["bids"].column_type
    'array<struct<key:bigint,value:array<bigint>>>'
    """
    _sorted_dict()  # a missing package fails here on the driver, not later in a task
    return StateField("map", value_type, key_type)


@cache
def _sorted_dict() -> Any:
    return load("sortedcontainers", "rh.ordered_map").SortedDict


class Context:
    """The epoch and watermark that a ``KeyProcessor`` can read, and the timers it can set.

    Attributes:
        epoch: number of the epoch.
        watermark: the event time before which no more rows are expected; None during the first epoch.
        timers: the current key's timers, in microseconds since 1970.
        removed: True if the current key's state will be forgotten.

    >>> from datetime import timedelta
    >>> class Idle(rh.KeyProcessor):
    ...     def process(self, key, rows, context):
    ...         context.set_timer(rows[-1].ts + timedelta(minutes=30))
    ...     def on_timer(self, key, at, context):
    ...         yield key.user, at
    ...         context.remove()
    """

    def __init__(self, epoch: int, watermark: int | None) -> None:
        self.epoch = epoch
        self.watermark = None if watermark is None else from_micros(watermark)
        self.timers: set[int] = set()
        self.removed = False

    def set_timer(self, at: datetime | int) -> None:
        """Call ``on_timer`` for this key once the watermark has passed ``at``.

        Args:
            at: a datetime (UTC if it has no time zone), or microseconds since 1970.

        >>> from datetime import datetime
        >>> context = rh.Context(epoch=0, watermark=None)
        >>> context.set_timer(datetime(1970, 1, 1, 0, 0, 1))
        >>> context.timers
        {1000000}
        """
        self.timers.add(to_micros(at))

    def cancel_timer(self, at: datetime | int) -> None:
        """Cancel this key's timer at ``at``; nothing happens if there is none.

        Args:
            at: the time it was set to.

        >>> context = rh.Context(epoch=0, watermark=None)
        >>> context.set_timer(5)
        >>> context.cancel_timer(5)
        >>> context.timers
        set()
        """
        self.timers.discard(to_micros(at))

    def remove(self) -> None:
        """Forget this key's state and timers.

        >>> context = rh.Context(epoch=0, watermark=None)
        >>> context.remove()
        >>> context.removed
        True
        """
        self.removed = True
        self.timers.clear()


class KeyProcessor:
    """Logic for one key at a time, for ``Stream.process_keys``.

    State fields are declared as class attributes, with ``value``, ``list_of`` and ``ordered_map``. In ``process`` and
    ``on_timer``, ``self`` has the current key's values of these fields; assign to them to change the state.

    Attributes:
        fields: the state fields by name.

    >>> class Running(rh.KeyProcessor):
    ...     count = rh.value("bigint", default=0)
    ...     def process(self, key, rows, context):
    ...         self.count += len(rows)
    ...         yield key.word, self.count
    >>> Running.fields["count"].column_type
    'bigint'
    """

    fields: ClassVar[dict[str, StateField]] = {}

    def __init_subclass__(cls) -> None:
        bases = reversed(cls.__mro__)
        cls.fields = {name: v for base in bases for name, v in vars(base).items() if isinstance(v, StateField)}

    def process(self, key: Any, rows: Any, context: Context) -> Iterable[Row] | None:  # noqa: ARG002
        """Handle one key's rows of this epoch, and return or yield rows of output.

        Args:
            key: the values of the key attributes, as in ``key.stock``.
            rows: the rows in order, with columns as in ``row.price``; with joined streams, a dict from stream name to
                such a list.
            context: the epoch, the watermark and the key's timers.

        >>> class Largest(rh.KeyProcessor):
        ...     amount = rh.value("double", default=0.0)
        ...     def process(self, key, rows, context):
        ...         self.amount = max(self.amount, *(row.amount for row in rows))
        ...         yield key.area, self.amount  # or {"area": key.area, "amount": self.amount}
        """
        raise TopologyError(f"{type(self).__name__} has no process method: define process(self, key, rows, context)")

    def on_timer(self, key: Any, at: datetime, context: Context) -> Iterable[Row] | None:  # noqa: ARG002
        """Handle a timer of the key that is due, and return or yield rows of output.

        The timer is already removed; set another one to be called again.

        Args:
            key: the values of the key attributes, as in ``key.stock``.
            at: the time the timer was set to.
            context: the epoch, the watermark and the key's timers.

        >>> class Session(rh.KeyProcessor):
        ...     loans = rh.value("bigint", default=0)
        ...     def on_timer(self, key, at, context):
        ...         yield key.user, self.loans
        ...         context.remove()
        """
        raise TopologyError(
            f"{type(self).__name__} sets timers but has no on_timer method: define on_timer(self, key, at, context)"
        )


def from_micros(at: int) -> datetime:
    """The datetime for microseconds since 1970, in UTC.

    >>> from_micros(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return _EPOCH + timedelta(microseconds=at)


def to_micros(at: datetime | int) -> int:
    """Microseconds since 1970 of a datetime, which is UTC if it has no time zone. Integers are returned unchanged.

    >>> to_micros(from_micros(1_500_000))
    1500000
    """
    if not isinstance(at, datetime):
        return int(at)
    zoned = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return (zoned - _EPOCH) // timedelta(microseconds=1)
