"""What a user writes for ``process``: logic for one key at a time over typed state.

A key's state is one row. Values, lists and ordered maps are its columns, so state is Arrow on disk, and any task that
owns the key's shard can read it. Logic that can be written over whole frames needs none of this: a plain function does
(see ``Stream.process``), and it is one to two orders of magnitude faster.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from sortedcontainers import SortedDict

from rheostat.errors import TopologyError

Row = Sequence[Any] | Mapping[str, Any]
"""A row of output: values in the order of the schema, or by column name."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StateField:
    """A field of a processor's state.

    Attributes:
        kind: ``value``, ``list`` or ``map``.
        type: Spark SQL type of the value, the list's elements or the map's values.
        key_type: Spark SQL type of the map's keys.
        default: what a key that has no state yet begins with.
    """

    kind: str
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
            return SortedDict((e["key"], e["value"]) for e in stored or ())
        return copy.deepcopy(self.default) if stored is None else stored

    def stored(self, value: Any) -> Any:
        """What the state column holds, out of what the user left."""
        if self.kind == "map":
            return [{"key": k, "value": v} for k, v in value.items()]
        return value


def value(type: str, default: Any = None) -> Any:
    """A state field with one value; ``default`` for a key that has no state yet."""
    return StateField("value", type, default=default)


def list_of(type: str) -> Any:
    """A state field that is a Python list; empty for a key that has no state yet."""
    return StateField("list", type)


def ordered_map(key_type: str, value_type: str) -> Any:
    """A state field that is a ``sortedcontainers.SortedDict``: a mapping whose keys are in order."""
    return StateField("map", value_type, key_type)


class Context:
    """What a processor may know and do besides its rows and its state.

    Attributes:
        epoch: number of the epoch.
        watermark: no row older than this is expected any more; None before the first epoch is through.
        timers: the current key's timers, in microseconds since 1970.
        removed: whether the current key's state is to be forgotten.
    """

    def __init__(self, epoch: int, watermark: int | None) -> None:
        self.epoch = epoch
        self.watermark = None if watermark is None else from_micros(watermark)
        self.timers: set[int] = set()
        self.removed = False

    def set_timer(self, at: datetime | int) -> None:
        """Call ``on_timer`` for this key once the watermark has passed ``at`` (microseconds, if it is a number)."""
        self.timers.add(to_micros(at))

    def cancel_timer(self, at: datetime | int) -> None:
        """Take a timer back; nothing happens if there is none."""
        self.timers.discard(to_micros(at))

    def remove(self) -> None:
        """Forget this key's state and timers."""
        self.removed = True
        self.timers.clear()


class KeyProcessor:
    """Logic for one key at a time. Declare state as class attributes; a key's own values stand in ``self``.

    >>> class Running(KeyProcessor):
    ...     count = value("bigint", default=0)
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
        """Take the rows of one key in, in arrival order, and give rows of output.

        Args:
            key: the key attributes, by name as in ``key.stock``.
            rows: the rows, columns by name as in ``row.price``; with several inputs, a dict from stream to rows.
        """
        raise TopologyError(f"{type(self).__name__} has no process method")

    def on_timer(self, key: Any, at: datetime, context: Context) -> Iterable[Row] | None:  # noqa: ARG002
        """A timer of the key is due. It is gone already; set another to be called again."""
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
