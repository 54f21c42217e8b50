"""What an operator is examined by, and what is read from it: the values around StreamSwitch's Examine (section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.counters import rate_after
from rheostat.elastic.streamswitch.slot_places import Places, places_of
from rheostat.errors import TopologyError


@dataclass(frozen=True, eq=False)
class Metrics:
    """What one interval measured. Counters that are NaN, infinite or negative count as missing.

    Attributes:
        time: when the interval ended, in seconds on any clock that does not go back.
        arrived: rows that ever arrived, by shard.
        completed: rows that were ever completed, by shard.
        useful: seconds spent in deserialising, processing and serialising in this interval, by the number of the slot.
        routing: the slot that every shard had in this interval.
    """

    time: float
    arrived: Sequence[float] | Floats
    completed: Sequence[float] | Floats
    useful: Mapping[int, float] | Floats
    routing: tuple[int, ...] | Places


@dataclass(frozen=True)
class ServiceRate:
    """The service rate of a slot: rows per useful second.

    Attributes:
        mean: moving average; NaN while nothing is known.
        measured: False while it is only assumed, from the slots that a new slot took its shards from.
        useful: useful seconds since the last completion, which belong to the rows that complete next.
        stalled: seconds for which rows have waited and none was completed.
    """

    mean: float = np.nan
    measured: bool = False
    useful: float = 0.0
    stalled: float = 0.0

    def after(self, done: float, useful: float, waiting: bool, seconds: float) -> ServiceRate:
        """After one more interval.

        >>> rate = ServiceRate().after(100, 0.5, True, 1.0)
        >>> rate.mean, rate.after(300, 1.0, True, 1.0).mean  # 200, then 7/8 of it and 1/8 of 300
        (200.0, 212.5)
        """
        now = self.mean, self.measured, self.useful, self.stalled
        return ServiceRate(*rate_after(*now, float(done), float(useful), waiting, float(seconds)))


@dataclass(frozen=True, eq=False)
class Readings:
    """What Examine hands to Diagnose; arrays by shard, or by slot in the order of ``slots``.

    Attributes:
        time: when the window ends, in seconds.
        routing: the slot of every shard.
        slots: the numbers of the slots, sorted.
        arrival: rows per second and shard over the window; all that wait, for a shard of which no row completes.
        latency: mean seconds of the rows that each slot completed in the window, or of those that wait there in vain.
        service: rows per useful second and slot; next to nothing for a slot that has stalled.
        usual: the same without regard to a stall: what a new slot in its place may do.
        shard_latency: like ``latency``, by shard.
        backlog: rows that wait, by shard.
        blind: shards whose counters are missing for so long that their last rate stands in.
        problem: why the readings cannot be trusted; empty if they can.
    """

    time: float
    routing: tuple[int, ...]
    slots: tuple[int, ...]
    arrival: Floats
    latency: Floats
    service: Floats
    usual: Floats
    shard_latency: Floats
    backlog: Floats
    blind: tuple[int, ...] = ()
    problem: str = ""

    def __post_init__(self) -> None:
        shards, slots = len(self.routing), len(self.slots)
        if not (len(self.arrival) == len(self.shard_latency) == len(self.backlog) == shards):
            raise TopologyError(f"readings of {shards} shards need a rate, a latency and a backlog for each of them")
        if not (len(self.latency) == len(self.service) == len(self.usual) == slots):
            raise TopologyError(f"readings of {slots} slots need a latency and a service rate for each of them")

    @classmethod
    def of(
        cls,
        routing: Sequence[int],
        arrival: Sequence[float],
        service: Sequence[float],
        latency: Sequence[float],
        shard_latency: Sequence[float] | None = None,
        time: float = 0.0,
    ) -> Readings:
        """From rates and latencies that are known, as a simulation knows them; slots in the order of their numbers.

        >>> Readings.of(routing=(2, 0, 0), arrival=(5, 1, 1), service=(10, 10), latency=(0.1, 0.2)).slots
        (0, 2)
        """
        speeds, shards = np.array(service, dtype=np.float64), len(routing)
        return cls(
            time=time,
            routing=tuple(routing),
            slots=tuple(sorted(set(routing))),
            arrival=np.array(arrival, dtype=np.float64),
            latency=np.array(latency, dtype=np.float64),
            service=speeds,
            usual=speeds,
            shard_latency=np.zeros(shards) if shard_latency is None else np.array(shard_latency, dtype=np.float64),
            backlog=np.zeros(shards),
        )

    @cached_property
    def places(self) -> Places:
        """The place in ``slots`` of every shard's slot; -1 if it is not among them."""
        return places_of(self.routing, self.slots)

    @property
    def valid(self) -> bool:
        """Whether Diagnose may use them (section 4.3)."""
        return not self.problem
