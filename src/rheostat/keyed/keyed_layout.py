"""The columns of a keyed state table: one row per key, and what the runtime notes beside a user's own fields."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.topology.nodes import Process
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import HASH

DEAD, TOUCHED, TIMERS = "dead", "touched", "timers"
"""Whether the key was removed; when it last changed; the times it asked to be called back at."""

STATE, WAKE = 0, 1
"""The two granules of a keyed table: the keys' rows, and an index of which keys have a timer at which time."""


@dataclass(frozen=True)
class KeyedLayout:
    """The columns of a keyed state table.

    >>> layout = KeyedLayout((Column("k.word", "string"),), (Column("s.count", "bigint"),))
    >>> [c.name for c in layout.columns]
    ['hash', 'k.word', 's.count', 'dead', 'touched', 'timers']
    """

    keys: tuple[Column, ...]
    fields: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of a state row."""
        notes = (Column(DEAD, "boolean"), Column(TOUCHED, "bigint"), Column(TIMERS, "array<bigint>"))
        return (Column(HASH, "bigint"), *self.keys, *self.fields, *notes)

    @property
    def key_names(self) -> list[str]:
        return [k.name for k in self.keys]

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.columns]


def layout_of(process: Process) -> KeyedLayout:
    """The layout of an operator's state."""
    keys = tuple(Column(f"k.{k}", t) for k, t in zip(process.keys, process.key_types, strict=True))
    return KeyedLayout(keys, tuple(Column(f"s.{c.name}", c.type) for c in process.state))
