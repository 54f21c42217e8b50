"""Recorded metrics by column, from which profiles are learned; in ``papers/elysium`` a metric store returns them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError

Stream = tuple[str, str]
"""The names of the sending and of the receiving operator."""

INPUT = ""
"""Name of the sender of rows from outside the topology; its stream to a source carries the source's input load."""


@dataclass(frozen=True, eq=False)
class Traffic:
    """Rows per second between operators, one entry per stream and time (the paper's ``<up_op, dn_op, tuple_rate>``).

    Attributes:
        times: time of each entry in seconds, ascending for each stream.
        upstream: name of the sending operator of each entry; ``INPUT`` for rows from outside.
        downstream: name of the receiving operator of each entry.
        rates: rows per second of each entry, summed over the slots of both operators.
    """

    times: Floats
    upstream: tuple[str, ...]
    downstream: tuple[str, ...]
    rates: Floats

    @classmethod
    def of(cls, *records: tuple[float, str, str, float | None]) -> Traffic:
        """Return the traffic of records (time, upstream, downstream, rate), dropping rates that are not finite.

        >>> Traffic.of((0.0, "", "a", 5.0), (0.0, "a", "b", 10.0), (0.0, "a", "c", float("nan"))).streams
        (('', 'a'), ('a', 'b'))
        """
        # SQLite stores NaN as NULL, which is read as None.
        finite = [r for r in records if r[3] is not None and math.isfinite(r[3])]
        times, upstream, downstream, rates = zip(*finite, strict=True) if finite else ((), (), (), ())
        return cls(np.array(times, dtype=np.float64), upstream, downstream, np.array(rates, dtype=np.float64))

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams, in the order of their first entries."""
        return tuple(dict.fromkeys(zip(self.upstream, self.downstream, strict=True)))


@dataclass(frozen=True, eq=False)
class Uses:
    """Readings of resource use, with the load that caused it; one entry per reading.

    Attributes:
        given: the load: rows per second into a slot, or cycles per second that all slots of a node used together.
        used: the use: cycles per second, bytes or bytes per second of the slot, or cycles per second of the node.
    """

    given: Floats
    used: Floats

    def __post_init__(self) -> None:
        if self.given.shape != self.used.shape or self.given.ndim != 1:
            raise ConfigurationError(
                f"given has shape {self.given.shape}, used {self.used.shape}: both need one number per reading"
            )

    @classmethod
    def of(cls, given: Sequence[float] | Floats, used: Sequence[float] | Floats) -> Uses:
        """Return the readings in two sequences of numbers, dropping those that are not finite.

        >>> Uses.of([1, 2, float("nan")], [10, 20, 30]).used
        array([10., 20.])
        """
        pairs = np.array([given, used], dtype=np.float64)
        pairs = pairs[:, np.isfinite(pairs).all(axis=0)]
        return cls(pairs[0], pairs[1])

    def __len__(self) -> int:
        return len(self.given)
