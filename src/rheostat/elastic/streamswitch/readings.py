"""Values of StreamSwitch's Examine stage: the metrics that go in, and the readings that come out (section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.counters import rate_after
from rheostat.elastic.streamswitch.slot_places import Places, places_of
from rheostat.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Metrics:
    """The measurements of one interval. A counter that is NaN, infinite or negative counts as missing.

    Attributes:
        time: when the interval ended, in seconds on a clock that never goes back.
        arrived: total number of rows that have arrived since the job started, by shard.
        completed: total number of rows completed since the job started, by shard.
        useful: seconds spent on deserialising, processing and serialising in this interval, by slot number.
        routing: the slot of every shard in this interval.
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
        mean: moving average; NaN if unknown.
        measured: False if the mean is only assumed, from the slots that a new slot received its shards from.
        useful: useful seconds since the last completion; they belong to the rows that complete next.
        stalled: seconds for which rows have waited and none was completed.
    """

    mean: float = np.nan
    measured: bool = False
    useful: float = 0.0
    stalled: float = 0.0

    def after(self, done: float, useful: float, waiting: bool, seconds: float) -> ServiceRate:
        """Return the service rate after one more interval.

        Args:
            done: rows completed in the interval; NaN if unknown.
            useful: useful seconds in the interval; NaN if unknown.
            waiting: True if rows were waiting when the interval began.
            seconds: length of the interval.

        >>> rate = ServiceRate().after(100, 0.5, True, 1.0)
        >>> rate.mean, rate.after(300, 1.0, True, 1.0).mean  # 200, then 7/8 of it and 1/8 of 300
        (200.0, 212.5)
        """
        now = self.mean, self.measured, self.useful, self.stalled
        return ServiceRate(*rate_after(*now, float(done), float(useful), waiting, float(seconds)))


@dataclass(frozen=True, eq=False)
class Readings:
    """The result of Examine, which Diagnose decides by. Arrays are by shard, or by slot in the order of ``slots``.

    Attributes:
        time: end of the window, in seconds.
        routing: the slot of every shard.
        slots: the slot numbers, sorted.
        arrival: rows per second that arrived over the window, by shard. For a shard that completes nothing, at least
            all waiting rows divided by the window.
        latency: mean latency in seconds over the window, by slot: of completed rows, or, if larger, of rows waiting
            in shards that complete nothing.
        service: rows per useful second, by slot; close to 0 for a stalled slot.
        usual: rows per useful second without regard to stalls, by slot: what a new slot in its place can be expected
            to serve.
        shard_latency: like ``latency``, by shard.
        backlog: rows that wait, by shard.
        blind: shards whose counters have been missing for so long that their last known rate is used.
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
            raise ConfigurationError(
                f"readings of {shards} shards need a value per shard, but have {len(self.arrival)} of arrival, "
                f"{len(self.shard_latency)} of shard_latency and {len(self.backlog)} of backlog"
            )
        if not (len(self.latency) == len(self.service) == len(self.usual) == slots):
            raise ConfigurationError(
                f"readings of {slots} slots need a value per slot, but have {len(self.latency)} of latency, "
                f"{len(self.service)} of service and {len(self.usual)} of usual"
            )

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
        """Return readings with known rates and latencies, without a backlog or stalls.

        Args:
            routing: the slot of every shard.
            arrival: rows per second, by shard.
            service: rows per useful second, by slot in the order of the slot numbers.
            latency: seconds, by slot in the order of the slot numbers.
            shard_latency: seconds, by shard; 0 if not given.
            time: end of the window, in seconds.

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
        """For every shard, the index of its slot in ``slots``; -1 if the slot is not among them."""
        return places_of(self.routing, self.slots)

    @property
    def valid(self) -> bool:
        """True if Diagnose may use the readings (section 4.3)."""
        return not self.problem
