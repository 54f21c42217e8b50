"""The options of a process operator's keyed state: its columns, its time to live and the clock of that."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.choices import Clock
from rheostat.durations import Duration


@dataclass(frozen=True)
class KeyedState:
    """The options of a process operator's state, as ``keyed_state`` returns them.

    Attributes:
        columns: the columns of a key's state as Spark DDL; None if there are none, or if a ``KeyProcessor`` has them.
        ttl: how long after its last change a key's state is forgotten; None keeps it forever.
        clock: the time that ``ttl`` is measured in, ``processing`` or ``event``.

    >>> rh.keyed_state("total double").ttl is None
    True
    """

    columns: str | None = None
    ttl: Duration | None = None
    clock: Clock = "processing"


def keyed_state(columns: str | None = None, *, ttl: Duration | None = None, clock: Clock = "processing") -> KeyedState:
    """The options of the state of a ``process`` or ``process_keys`` operator.

    Args:
        columns: for ``process``, the columns of a key's state as Spark DDL. For ``process_keys``, leave them out: the
            fields of the ``KeyProcessor`` are the columns.
        ttl: how long after its last change a key's state is forgotten; by default it is kept forever.
        clock: the time that ``ttl`` is measured in: ``processing`` time, as in Spark, or ``event`` time, from the
            newest row of the key to the watermark.

    >>> rh.keyed_state("count bigint, total double", ttl="1 hour", clock="event")
    KeyedState(columns='count bigint, total double', ttl='1 hour', clock='event')
    """
    return KeyedState(columns, ttl, clock)
