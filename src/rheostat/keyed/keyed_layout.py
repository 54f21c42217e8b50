"""The columns of a keyed table: one row per key, with the user's fields and three columns of the runtime."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.topology.nodes import Process
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import HASH

DEAD, TOUCHED, TIMERS = "dead", "touched", "timers"
"""Columns of the runtime: True if the key was removed, when it last changed, and the times of its timers."""

_RUNTIME = (Column(DEAD, "boolean"), Column(TOUCHED, "bigint"), Column(TIMERS, "array<bigint>"))

STATE, WAKE = 0, 1
"""The two granules of a keyed table: the rows of the keys, and an index of keys by the times of their timers."""


@dataclass(frozen=True)
class KeyedLayout:
    """The columns of a keyed table.

    Attributes:
        keys: the key columns, named ``k.NAME``.
        fields: the user's state fields, named ``s.NAME``.

    >>> layout = KeyedLayout((Column("k.word", "string"),), (Column("s.count", "bigint"),))
    >>> [c.name for c in layout.columns]
    ['hash', 'k.word', 's.count', 'dead', 'touched', 'timers']
    """

    keys: tuple[Column, ...]
    fields: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of a state row."""
        return (Column(HASH, "bigint"), *self.keys, *self.fields, *_RUNTIME)

    @property
    def user_columns(self) -> tuple[Column, ...]:
        """The same columns, with keys and fields under the names that the user knows them by; for errors."""
        keys = [Column(k.name.removeprefix("k."), k.type) for k in self.keys]
        fields = [Column(f.name.removeprefix("s."), f.type) for f in self.fields]
        return (Column(HASH, "bigint"), *keys, *fields, *_RUNTIME)

    @property
    def key_names(self) -> list[str]:
        """Names of the key columns."""
        return [k.name for k in self.keys]

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [c.name for c in self.columns]


def layout_of(process: Process) -> KeyedLayout:
    """The layout of an operator's state."""
    keys = tuple(Column(f"k.{c.name}", c.type) for c in process.key_columns)
    return KeyedLayout(keys, tuple(Column(f"s.{c.name}", c.type) for c in process.state))
