"""What the profilers learn from: columns of metrics, as the metric store hands them out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError

Stream = tuple[str, str]
"""The operator that sends, and the one that receives."""

INPUT = ""
"""Stands for the outside: the traffic from it to a source is the input load of that source's slots."""


@dataclass(frozen=True, eq=False)
class Traffic:
    """Rows per second between operators, one entry per stream and time (the paper's ``<up_op, dn_op, tuple_rate>``).

    Attributes:
        times: seconds, in ascending order for each stream.
        upstream: names; ``INPUT`` where the rows come from outside.
        downstream: names of the operators that receive.
        rates: summed over the slots of both operators.
    """

    times: Floats
    upstream: tuple[str, ...]
    downstream: tuple[str, ...]
    rates: Floats

    @classmethod
    def of(cls, *records: tuple[float, str, str, float | None]) -> Traffic:
        """From records (time, upstream, downstream, rate); those whose rate is not a finite number are left out.

        >>> Traffic.of((0.0, "", "a", 5.0), (0.0, "a", "b", 10.0), (0.0, "a", "c", float("nan"))).streams
        (('', 'a'), ('a', 'b'))
        """
        # SQLite keeps NaN as NULL, which comes back as None.
        known = [r for r in records if r[3] is not None and math.isfinite(r[3])]
        times, upstream, downstream, rates = zip(*known, strict=True) if known else ((), (), (), ())
        return cls(np.array(times, dtype=np.float64), upstream, downstream, np.array(rates, dtype=np.float64))

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that occur, in the order in which they first do."""
        return tuple(dict.fromkeys(zip(self.upstream, self.downstream, strict=True)))


@dataclass(frozen=True, eq=False)
class Uses:
    """What was used beside what it was used for, one entry per reading.

    For a slot: its input rate, and the cycles per second, bytes or bytes per second it used. For a node: what all its
    slots used together, and what the node used.

    Attributes:
        given: rows per second of a slot, or what the slots of a node used together.
        used: what was used for it.
    """

    given: Floats
    used: Floats

    def __post_init__(self) -> None:
        if self.given.shape != self.used.shape or self.given.ndim != 1:
            raise ConfigurationError(
                f"{self.given.shape} readings of what was given do not fit {self.used.shape} of what was used: "
                "there must be one of each per reading"
            )

    @classmethod
    def of(cls, given: Sequence[float] | Floats, used: Sequence[float] | Floats) -> Uses:
        """From two sequences of numbers; readings that are not finite are left out.

        >>> Uses.of([1, 2, float("nan")], [10, 20, 30]).used
        array([10., 20.])
        """
        pairs = np.array([given, used], dtype=np.float64)
        pairs = pairs[:, np.isfinite(pairs).all(axis=0)]
        return cls(pairs[0], pairs[1])

    def __len__(self) -> int:
        return len(self.given)
