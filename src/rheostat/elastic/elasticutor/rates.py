"""The history of Elasticutor and the resource-centric baseline: rates of every operator, and the cluster's cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.shard_rates import ShardRates
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.model.smoothing import RATE_WEIGHT

_HALF_BUSY = 0.5
"""Share of the time that a slot works, below which it is one too many."""


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates of every operator, the cluster's cores, and the round of splitting and merging in progress.

    Attributes:
        operators: the rates of each operator, by name.
        cores: the number of cores of every node; empty before the first observation.
        external: rows per second that would enter the topology without back-pressure.
        time: the end of the last interval with a usable time, in seconds of the observations' clock.
        round: the time at which the present round of splitting and merging began, and the executor of every shard at
            that time, by operator; None between rounds.
        law: the micro-batch law as calibrated so far; None in an engine without epochs.
    """

    operators: Mapping[str, ShardRates]
    cores: Ints
    external: float = 0.0
    time: float = float("-inf")
    round: tuple[float, Mapping[str, Ints]] | None = None
    law: EpochLaw | None = None

    @property
    def due(self) -> bool:
        """True if executors should be split and merged now."""
        return self.round is not None

    @classmethod
    def nothing(cls, plan: Plan) -> Rates:
        """Return the rates before the first observation."""
        operators = {name: ShardRates.nothing(len(p.routing)) for name, p in plan.operators.items()}
        return cls(operators, np.zeros(0, dtype=np.int64))

    def after(self, observation: Observation, every: float = 0.0, weight: float = RATE_WEIGHT) -> Rates:
        """Return the rates after one more interval.

        A round of splitting and merging begins when the clock passes a multiple of ``every``. It ends when executors
        have changed, or after a tenth of ``every``: another change in progress may delay it that long.

        Args:
            observation: what the interval measured.
            every: seconds between two rounds; 0 for no rounds.
            weight: weight of the newest interval in the moving means.

        >>> rates = Rates({}, np.zeros(0, dtype=np.int64))
        >>> for time in (599.9, 600.2, float("nan"), 659.9, 660.3):
        ...     seen = Observation(time=time, seconds=0.3, operators={}, cores=np.array([8]), external=100.0)
        ...     rates = rates.after(seen, every=600.0)
        ...     print(rates.due, end=" ")
        False True True True False
        """
        operators = dict(self.operators)
        for name, seen in observation.operators.items():
            if name in operators:
                operators[name] = operators[name].after(seen, observation.seconds, observation.stretch, weight)
        external = observation.external * observation.stretch
        external = external if 0 <= external < np.inf else self.external
        later = self.time < observation.time < np.inf
        time = observation.time if later else self.time
        # The first observation starts no round, because the time before it is unknown.
        begins = later and every > 0 and np.isfinite(self.time) and time // every > self.time // every
        current = (time, _executors_of(observation)) if begins else self._round_in_progress(observation, time, every)
        return Rates(operators, observation.cores, external, time, current, observation.law or self.law)

    def overhead(self, plan: Plan) -> float | None:
        """Return the seconds that an epoch costs without rows; None in an engine without epochs.

        Every slot has its share in it, and the number of slots is what is to be decided. So slots that would be idle
        for more than half of the time are not counted.
        """
        if self.law is None:
            return None
        slots = 0.0
        for name, count in plan.slots().items():
            busy = float(self.operators[name].work().sum()) if self.operators[name].service > 0 else count
            slots += min(count, max(busy / _HALF_BUSY, 1.0))
        return float(self.law.fixed(slots))

    def _round_in_progress(
        self, observation: Observation, time: float, every: float
    ) -> tuple[float, Mapping[str, Ints]] | None:
        """Return the round that has begun; None if it is done or has taken too long."""
        if self.round is None or time - self.round[0] >= every / 10:
            return None
        before, now = self.round[1], _executors_of(observation)
        changed = any(not np.array_equal(now[name], before[name]) for name in now.keys() & before.keys())
        return None if changed else self.round

    def problem(self, plan: Plan) -> str:
        """Return why nothing can be decided yet; empty if a decision is possible.

        One operator with a measured service rate is enough: the others are taken to be as fast.
        """
        if not self.cores.sum() > 0:
            return "no node has a core left" if len(self.cores) else "nothing was measured yet"
        rates = [self.operators[name] for name in plan.operators]
        fits = all(len(r.arrival) == len(p.routing) for r, p in zip(rates, plan.operators.values(), strict=True))
        if not fits or not all(r.intervals > 0 for r in rates) or not any(r.service > 0 for r in rates):
            return "nothing was measured yet"
        return ""


def _executors_of(observation: Observation) -> dict[str, Ints]:
    """Return the executor of every shard, by operator."""
    plans = {name: seen.plan.subspaces for name, seen in observation.operators.items()}
    return {name: owned.executors for name, owned in plans.items() if owned is not None}


def fill_missing_rates(services: Floats) -> Floats:
    """Return the service rates with NaN, for operators that have not completed a row, replaced by the median.

    >>> fill_missing_rates(np.array([100.0, np.nan, 300.0])).tolist()
    [100.0, 200.0, 300.0]
    """
    missing = np.isnan(services)
    return np.where(missing, np.median(services[~missing]), services) if missing.any() else services
