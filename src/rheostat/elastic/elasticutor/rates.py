"""The history of policies that plan by rates: what was measured of every operator, and the cores there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.shard_rates import ShardRates
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.model.smoothing import RATE_WEIGHT


@dataclass(frozen=True, eq=False)
class Rates:
    """What was measured of every operator, and the cores there are.

    Attributes:
        operators: what was measured, by name.
        cores: of every node; empty before the first observation.
        external: rows per second that would enter the topology without back-pressure.
        time: when the last interval ended whose end is known.
        round: when the round of splitting and merging executors began that is not done yet, and the executors of all
            shards then; None between rounds.
    """

    operators: Mapping[str, ShardRates]
    cores: Ints
    external: float = 0.0
    time: float = float("-inf")
    round: tuple[float, Mapping[str, Ints]] | None = None

    @property
    def due(self) -> bool:
        """True if executors are to be split and merged now."""
        return self.round is not None

    @classmethod
    def nothing(cls, plan: Plan) -> Rates:
        """Nothing measured yet."""
        operators = {name: ShardRates.nothing(len(p.routing)) for name, p in plan.operators.items()}
        return cls(operators, np.zeros(0, dtype=np.int64))

    def after(self, observation: Observation, every: float = 0.0, weight: float = RATE_WEIGHT) -> Rates:
        """After one more interval.

        Args:
            every: seconds between two rounds; one begins when a multiple of it was passed, wherever in an interval. It
                is done once executors have changed, or after a tenth of that time: until then something else may be in
                progress.
            weight: share of the newest interval in the means.

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
        # What came before the first time is unknown, and no reason for a round.
        passed = later and every > 0 and np.isfinite(self.time)
        time = observation.time if later else self.time
        begins = passed and time // every > self.time // every
        current = (time, _executors(observation)) if begins else self._unfinished(observation, time, every)
        return replace(self, operators=operators, cores=observation.cores, external=external, time=time, round=current)

    def _unfinished(
        self, observation: Observation, time: float, every: float
    ) -> tuple[float, Mapping[str, Ints]] | None:
        """The round that has begun, unless it is done or takes too long."""
        if self.round is None or time - self.round[0] >= every / 10:
            return None
        before, now = self.round[1], _executors(observation)
        changed = any(not np.array_equal(now[name], before[name]) for name in now.keys() & before.keys())
        return None if changed else self.round

    def problem(self, plan: Plan) -> str:
        """Why nothing can be decided; empty if something can. Operators without a row are no reason to wait."""
        if not self.cores.sum() > 0:
            return "no node has a core left" if len(self.cores) else "nothing was measured yet"
        seen = [self.operators[name] for name in plan.operators]
        fits = all(len(m.arrival) == len(p.routing) for m, p in zip(seen, plan.operators.values(), strict=True))
        if not fits or not all(m.intervals > 0 for m in seen) or not any(m.service > 0 for m in seen):
            return "nothing was measured yet"
        return ""


def _executors(observation: Observation) -> dict[str, Ints]:
    """The executor of every shard, by operator."""
    plans = {name: seen.plan.subspaces for name, seen in observation.operators.items()}
    return {name: owned.executors for name, owned in plans.items() if owned is not None}


def usual(services: Floats) -> Floats:
    """Service rates, with the median of the others for operators that have not completed a row.

    >>> usual(np.array([100.0, np.nan, 300.0])).tolist()
    [100.0, 200.0, 300.0]
    """
    missing = np.isnan(services)
    return np.where(missing, np.median(services[~missing]), services) if missing.any() else services
