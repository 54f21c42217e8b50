"""What a user writes for ``process_keys``: logic for one key at a time over typed state.

A key's state is one row. Values, lists and ordered maps are its columns, so state is Arrow on disk, and any task that
owns the key's shard can read it. Logic that can be written over whole frames needs none of this: a plain function does
(see ``Stream.process``), and it is one to two orders of magnitude faster.
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
"""A row of output: values in the order of the schema, or by column name."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StateField:
    """A field of a processor's state, as ``value``, ``list_of`` and ``ordered_map`` make it.

    Attributes:
        kind: ``value``, ``list`` or ``map``.
        type: Spark SQL type of the value, the list's elements or the map's values.
        key_type: Spark SQL type of the map's keys; empty for other kinds.
        default: what a key that has no state yet begins with.
    """

    kind: Literal["value", "list", "map"]
    type: str
    key_type: str = ""
    default: Any = None

    @property
    def column_type(self) -> str:
        """Spark SQL type of the state column that holds it."""
        if self.kind == "list":
            return f"array<{self.type}>"
        if self.kind == "map":
            return f"array<struct<key:{self.key_type},value:{self.type}>>"
        return self.type

    def loaded(self, stored: Any) -> Any:
        """What the user sees, out of what a state column holds."""
        if self.kind == "list":
            return [] if stored is None else list(stored)
        if self.kind == "map":
            return _sorted_dict()((e["key"], e["value"]) for e in stored or ())
        return copy.deepcopy(self.default) if stored is None else stored

    def stored(self, value: Any) -> Any:
        """What the state column holds, out of what the user left."""
        if self.kind == "map":
            return [{"key": k, "value": v} for k, v in value.items()]
        return value


def value(type: str, default: Any = None) -> Any:
    """A state field with one value.

    Args:
        type: Spark SQL type.
        default: the value of a key that has no state yet.

    >>> class Counter(rh.KeyProcessor):
    ...     count = rh.value("bigint", default=0)
    >>> Counter.fields["count"].column_type
    'bigint'
    """
    return StateField("value", type, default=default)


def list_of(type: str) -> Any:
    """A state field that is a Python list; empty for a key that has no state yet.

    Args:
        type: Spark SQL type of its elements.

    >>> class Recent(rh.KeyProcessor):
    ...     amounts = rh.list_of("double")
    >>> Recent.fields["amounts"].column_type
    'array<double>'
    """
    return StateField("list", type)


def ordered_map(key_type: str, value_type: str) -> Any:
    """A state field that is a ``sortedcontainers.SortedDict``, a mapping whose keys are in order; empty at first.

    It needs the extra ``maps``: ``pip install "rheostat[maps]"``.

    Args:
        key_type: Spark SQL type of its keys.
        value_type: Spark SQL type of its values.

    >>> class Book(rh.KeyProcessor):
    ...     bids = rh.ordered_map("bigint", "array<bigint>")
    >>> Book.fields["bids"].column_type
    'array<struct<key:bigint,value:array<bigint>>>'
    """
    _sorted_dict()  # a missing package fails here, on the driver, and not in a task
    return StateField("map", value_type, key_type)


@cache
def _sorted_dict() -> Any:
    return load("sortedcontainers", "rh.ordered_map").SortedDict


class Context:
    """What a ``KeyProcessor`` may know and do besides its rows and its state.

    Attributes:
        epoch: number of the epoch.
        watermark: no row older than this is expected any more; None before the first epoch is through.
        timers: the current key's timers, in microseconds since 1970.
        removed: True if the current key's state is to be forgotten.

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
            at: a point in time (UTC, if it has no zone), or microseconds since 1970.

        >>> from datetime import datetime
        >>> context = rh.Context(epoch=0, watermark=None)
        >>> context.set_timer(datetime(1970, 1, 1, 0, 0, 1))
        >>> context.timers
        {1000000}
        """
        self.timers.add(to_micros(at))

    def cancel_timer(self, at: datetime | int) -> None:
        """Take a timer back; nothing happens if there is none.

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

    State is declared as class attributes, with ``value``, ``list_of`` and ``ordered_map``. While a key has its turn,
    its own values stand in ``self``.

    Attributes:
        fields: the state's fields by name.

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
        """Take in the rows that one key has in this epoch, and give rows of output.

        Args:
            key: the key attributes, by name as in ``key.stock``.
            rows: a list of rows in order, columns by name as in ``row.price``; with joined streams, a dict from stream
                name to such a list.
            context: epoch, watermark and timers.

        >>> class Largest(rh.KeyProcessor):
        ...     amount = rh.value("double", default=0.0)
        ...     def process(self, key, rows, context):
        ...         self.amount = max(self.amount, *(row.amount for row in rows))
        ...         yield key.area, self.amount  # or {"area": key.area, "amount": self.amount}
        """
        raise TopologyError(f"{type(self).__name__} has no process method")

    def on_timer(self, key: Any, at: datetime, context: Context) -> Iterable[Row] | None:  # noqa: ARG002
        """A timer of the key is due. It is gone already; set another to be called again.

        Args:
            key: the key attributes, by name.
            at: the time the timer was set to.
            context: epoch, watermark and timers.

        >>> class Session(rh.KeyProcessor):
        ...     loans = rh.value("bigint", default=0)
        ...     def on_timer(self, key, at, context):
        ...         yield key.user, self.loans
        ...         context.remove()
        """
        raise TopologyError(f"{type(self).__name__} sets timers but has no on_timer method")


def from_micros(at: int) -> datetime:
    """A point in time out of microseconds since 1970.

    >>> from_micros(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return _EPOCH + timedelta(microseconds=at)


def to_micros(at: datetime | int) -> int:
    """Microseconds since 1970; a time without zone is taken as UTC.

    >>> to_micros(from_micros(1_500_000))
    1500000
    """
    if not isinstance(at, datetime):
        return int(at)
    zoned = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return (zoned - _EPOCH) // timedelta(microseconds=1)
