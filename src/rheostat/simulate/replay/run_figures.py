"""The figures by which runs are compared, recorded or replayed: those of ``query.slo()``, and the length of epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.slo import SloMeter
from rheostat.elastic.record.recording import Recording


@dataclass(frozen=True)
class RunFigures:
    """The figures of one run.

    Attributes:
        epochs: number of epochs whose length was measured.
        epoch_seconds: mean length of an epoch.
        latency: mean latency of rows; NaN if unknown.
        p99: 99th percentile of the latency of rows; NaN if unknown.
        success: share of shards' windows with rows in which the promise was kept, by seconds; NaN without a promise.
        slots: mean number of slots of all components with keys.
        slot_seconds: slots times seconds.
        decisions: number of accepted revisions.
    """

    epochs: int
    epoch_seconds: float
    latency: float
    p99: float
    success: float
    slots: float
    slot_seconds: float
    decisions: int

    @classmethod
    def of(cls, recording: Recording, promise: Latency | None = None, warm_up: float = 0.0) -> RunFigures:
        """Return the figures of a run.

        Args:
            recording: the run.
            promise: the promise to judge it by; None to measure no success.
            warm_up: seconds from the start of the query in which epochs do not count.
        """
        seen = [t.observation for t in recording.turns]
        counted = [o for o in seen if o.busy > 0 and o.time > warm_up]
        meter = SloMeter(promise, [component.name for component in recording.header.components])
        for observation in counted:
            meter.add(observation)
        kept = meter.read()
        return cls(
            epochs=len(counted),
            epoch_seconds=float(np.mean([o.busy for o in counted])) if counted else np.nan,
            latency=kept.mean,
            p99=kept.p99,
            success=kept.success_rate,
            slots=kept.mean_slots,
            slot_seconds=kept.slot_seconds,
            decisions=sum(len(t.accepted) for t in recording.turns),
        )
