"""The figures by which runs are compared, recorded or replayed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.record.recording import Recording


@dataclass(frozen=True)
class RunFigures:
    """The figures of one run.

    Attributes:
        epochs: number of epochs whose length was measured.
        epoch_seconds: mean length of an epoch.
        latency: mean latency of rows; NaN if unknown.
        success: share of shards' windows with rows in which the promise was kept, by seconds; NaN without a promise.
        slots: mean number of slots of all components with keys.
        slot_seconds: slots times seconds.
        decisions: number of accepted revisions.
    """

    epochs: int
    epoch_seconds: float
    latency: float
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
        turns = [t for t in recording.turns if t.observation.busy > 0 and t.observation.time > warm_up]
        seen = [t.observation for t in turns]
        seconds = np.array([o.seconds for o in seen])
        slots = np.array([float(sum(t.plan.slots().values())) for t in turns])
        rows = np.array([o.latency.rows for o in seen])
        mean = np.array([o.latency.mean for o in seen])
        known = rows > 0
        return cls(
            epochs=len(turns),
            epoch_seconds=float(np.mean([o.busy for o in seen])) if seen else np.nan,
            latency=float((rows[known] * mean[known]).sum() / rows[known].sum()) if known.any() else np.nan,
            success=success_rate(seen, promise) if promise is not None else np.nan,
            slots=float((slots * seconds).sum() / seconds.sum()) if seen else np.nan,
            slot_seconds=float((slots * seconds).sum()),
            decisions=sum(len(t.accepted) for t in recording.turns),
        )


def success_rate(epochs: Sequence[Observation], promise: Latency) -> float:
    """Return the share of windows with rows in which the mean latency of a shard was within the bound; NaN if unknown.

    Every epoch ends one window for every shard, which counts as many seconds as the epoch lasted. A window consists of
    the last epochs that fit into its length, and of at least one (StreamSwitch section 6).

    Args:
        epochs: what was observed of the epochs, in order.
        promise: the bound, and the length of the window.
    """
    kept, judged = 0.0, 0.0
    window: deque[tuple[float, Floats, Floats]] = deque()  # seconds, rows by shard, sum of their latencies by shard
    for seen in epochs:
        rows, waited = _rows_and_waits(seen)
        window.append((seen.seconds, rows, waited))
        while len(window) > 1 and sum(seconds for seconds, _, _ in window) > promise.window * (1 + 1e-6):
            window.popleft()
        done = np.sum([rows for _, rows, _ in window], axis=0)
        late = np.sum([waits for _, _, waits in window], axis=0) > promise.seconds * done * (1 + 1e-9)
        judged += seen.seconds * np.count_nonzero(done > 0)
        kept += seen.seconds * np.count_nonzero((done > 0) & ~late)
    return kept / judged if judged > 0 else np.nan


def _rows_and_waits(seen: Observation) -> tuple[Floats, Floats]:
    """Return the rows with a known latency and the sum of their latencies, by shard, of all operators one by one."""
    rows, waits = [], []
    for part in seen.operators.values():
        known = len(part.latency) == len(part.rows) and len(part.rows) > 0
        latency = part.latency if known else np.full(len(part.plan.routing), np.nan)
        counts = np.where(np.isfinite(latency), part.rows if known else 0.0, 0.0)
        rows.append(counts)
        waits.append(counts * np.nan_to_num(latency))
    return np.concatenate([np.zeros(0), *rows]), np.concatenate([np.zeros(0), *waits])
