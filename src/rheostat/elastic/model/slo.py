"""How well a query keeps its promise, and at what price, folded from observations (StreamSwitch section 6).

Latency is that of completed rows with a known arrival time, and nothing else: no estimate of a policy or a law.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.latency_histogram import LatencyHistogram
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.success import Success

NAN = float("nan")


@dataclass(frozen=True, kw_only=True)
class Slo:
    """How well a query has kept its promise since it started, and at what price. NaN means unknown.

    Attributes:
        promise: the promise in words; empty without one.
        success_rate: share of the windows with rows, of all shards, whose mean latency was within the bound. A window
            counts as much as its epoch is long.
        success_by_shard: by operator, the same for each of its shards; NaN for shards that never had a row.
        rows: rows completed with a known arrival time; rows that several operators process count for each.
        mean: mean latency in seconds.
        p50: median latency in seconds.
        p99: 99th percentile of latency in seconds.
        seconds: seconds observed.
        epochs: number of epochs observed.
        slot_seconds: seconds that slots of operators with keys were held, all together.
        node_seconds: seconds that Spark executors were held, all together, busy or idle.
        mean_slots: slots held at a time.

    >>> kept = Slo(promise="mean latency within 1 s over 1 s", success_rate=0.95, slot_seconds=120.0, seconds=60.0)
    >>> kept.success_rate, kept.to_dict()["p99"]
    (0.95, None)
    """

    promise: str = ""
    success_rate: float = NAN
    success_by_shard: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    rows: float = 0.0
    mean: float = NAN
    p50: float = NAN
    p99: float = NAN
    seconds: float = 0.0
    epochs: int = 0
    slot_seconds: float = 0.0
    node_seconds: float = NAN
    mean_slots: float = NAN

    def to_dict(self) -> dict[str, Any]:
        """The values for JSON, which has no NaN: what is unknown is None.

        >>> Slo(promise="", rows=3.0).to_dict()["rows"]
        3.0
        """
        return {name: _plain(value) for name, value in asdict(self).items()}


class SloMeter:
    """Folds observations into ``Slo``.

    Args:
        promise: the promise; None if there is none, then the success rate is NaN.
        keyed: the operators whose slots are counted; None for all.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> meter = SloMeter(Latency("1 second"))
    >>> for epoch, latency in enumerate([0.5, 0.6, 3.0]):
    ...     rows = np.array([10.0])
    ...     seen = OperatorObservation(plan=OperatorPlan.even(1, 1), arrived=rows, completed=rows, useful=rows,
    ...                                rows=rows, latency=np.array([latency]))
    ...     meter.add(Observation(time=epoch, seconds=1.0, operators={"count": seen}, cores=np.array([1])))
    >>> round(meter.read().success_rate, 3), meter.read().slot_seconds
    (0.667, 3.0)
    """

    def __init__(self, promise: Latency | None, keyed: Collection[str] | None = None) -> None:
        self._promise = promise
        self._keyed = keyed
        self._success: dict[str, Success] = {}
        self._histogram = LatencyHistogram()
        self._waited = self._rows = 0.0
        self._seconds = self._slot_seconds = self._node_seconds = 0.0
        self._epochs = 0
        self._lock = threading.Lock()

    def follow(self, keyed: Collection[str]) -> None:
        """Count the slots of other operators from now on."""
        with self._lock:
            self._keyed = keyed

    def add(self, seen: Observation, points: tuple[Floats, Floats] | None = None) -> None:
        """Add one epoch.

        Args:
            seen: what it measured.
            points: latencies of its rows in seconds, and the rows that each stands for. Without them, the quantiles are
                made of the medians and the 99th percentiles of the shards.
        """
        with self._lock:
            self._add(seen, points)

    def _add(self, seen: Observation, points: tuple[Floats, Floats] | None) -> None:
        self._epochs += 1
        self._seconds += seen.seconds
        for name, operator in seen.operators.items():
            if self._keyed is None or name in self._keyed:
                self._slot_seconds += operator.plan.slots * seen.seconds
            rows, waited = _timed(operator)
            self._rows += float(rows.sum())
            self._waited += float(waited.sum())
            if self._promise is not None:
                self._judge(name, rows, waited, seen.seconds, self._promise)
            if points is None:
                self._histogram.add(*_points_of(operator, rows))
        if points is not None:
            self._histogram.add(*points)
        executors = {e for operator in seen.operators.values() for e in operator.executors if e}
        nodes = seen.nodes if seen.executors else len(executors) if executors or not seen.operators else NAN
        self._node_seconds += nodes * seen.seconds

    def read(self) -> Slo:
        """Return the numbers so far. Any thread may call it."""
        with self._lock:
            return self._read()

    def _read(self) -> Slo:
        by_shard, kept, served = {}, 0.0, 0.0
        for name, success in self._success.items():
            good, all_of_them = success.served()
            kept, served = kept + float(good.sum()), served + float(all_of_them.sum())
            shares = np.divide(good, all_of_them, out=np.full(len(good), np.nan), where=all_of_them > 0)
            by_shard[name] = tuple(shares.tolist())
        return Slo(
            promise="" if self._promise is None else str(self._promise),
            success_rate=kept / served if served else NAN,
            success_by_shard=by_shard,
            rows=self._rows,
            mean=self._waited / self._rows if self._rows else NAN,
            p50=self._histogram.quantile(0.5),
            p99=self._histogram.quantile(0.99),
            seconds=self._seconds,
            epochs=self._epochs,
            slot_seconds=self._slot_seconds,
            node_seconds=self._node_seconds if self._epochs else NAN,
            mean_slots=self._slot_seconds / self._seconds if self._seconds else NAN,
        )

    def _judge(self, name: str, rows: Floats, waited: Floats, seconds: float, promise: Latency) -> None:
        """Judge the windows of an operator that end with this epoch. An epoch completes all of its rows: none waits."""
        if name not in self._success:
            self._success[name] = Success(len(rows), promise.seconds, promise.window)
        none = np.zeros(len(rows), dtype=bool)
        self._success[name].add(rows.astype(np.int64), waited, none, seconds)


def _timed(operator: OperatorObservation) -> tuple[Floats, Floats]:
    """Return by shard the rows whose latency is known, and the sum of their latencies."""
    shards = len(operator.plan.routing)
    if len(operator.rows) != shards or len(operator.latency) != shards:
        return np.zeros(shards), np.zeros(shards)
    known = np.isfinite(operator.latency) & (operator.rows > 0)
    return np.where(known, operator.rows, 0.0), np.where(known, operator.rows * np.nan_to_num(operator.latency), 0.0)


def _points_of(operator: OperatorObservation, rows: Floats) -> tuple[Floats, Floats]:
    """Return latencies with rows for the quantiles: each shard's median and 99th percentile, or its mean if unknown."""
    p50 = operator.p50 if len(operator.p50) == len(rows) else operator.latency
    p99 = operator.p99 if len(operator.p99) == len(rows) else operator.latency
    if len(p50) != len(rows) or len(p99) != len(rows):
        return np.zeros(0), np.zeros(0)
    return np.concatenate([p50, p99]), np.concatenate([0.95 * rows, 0.05 * rows])


def _plain(value: Any) -> Any:
    """Return a value for JSON: None for NaN, lists for tuples."""
    if isinstance(value, Mapping):
        return {name: _plain(v) for name, v in value.items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and np.isnan(value) else value
