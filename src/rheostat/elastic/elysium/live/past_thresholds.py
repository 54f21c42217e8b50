"""Learns the thresholds of a query offline, from a recorded load (ELYSIUM section 5.1).

The paper tries thresholds on the running system while it profiles. Here a recorded load is replayed with what the
profile knows of operators: in every period the policy chooses nodes for the load of the period before, new nodes come
late, and what the nodes cannot process waits. Q-learning with the paper's reward, the threshold less the throughput
degradation, then finds the best threshold in a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheostat.elastic.elysium.configuration import Thresholds
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.epoch_config import NodeBounds, StageDemand, compute_epoch_config, stages_share
from rheostat.elastic.elysium.thresholds import LearnedThreshold, QLearning, learn
from rheostat.errors import ConfigurationError

CHOICES = (0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95)
"""Thresholds of a node's CPU to choose from; the paper's Table 1 has those up to 0.90."""


@dataclass(frozen=True)
class PastTrial:
    """A recorded load, and what is known of the operators that it is replayed with.

    Attributes:
        loads: rows per second, period by period.
        operators: core seconds of a row of the sources, by operator, as ``StageDemand.work`` of one row per second.
        nodes: the nodes that may be used.
        late: share of a period that passes before a new node works.

    >>> calm = PastTrial(Series(np.full(20, 100.0), step=10.0), {"sum": StageDemand(0.012)}, NodeBounds(1, 8))
    >>> calm.degradation(Thresholds()), calm.mean_nodes(Thresholds())
    (0.0, 2.0)
    """

    loads: Series
    operators: Mapping[str, StageDemand]
    nodes: NodeBounds
    late: float = 0.5

    def degradation(self, thresholds: Thresholds) -> float:
        """Return the mean throughput degradation, as the paper defines it: |load - throughput| / load."""
        return self._replay(thresholds)[0]

    def mean_nodes(self, thresholds: Thresholds) -> float:
        """Return the mean number of nodes."""
        return self._replay(thresholds)[1]

    def _replay(self, thresholds: Thresholds) -> tuple[float, float]:
        waiting, degraded, used = 0.0, list[float](), list[int]()
        before = None
        for load, last in zip(self.loads.values[1:].tolist(), self.loads.values[:-1].tolist(), strict=True):
            wanted = last + waiting / (3 * self.loads.step)
            chosen = compute_epoch_config(_demands(self.operators, wanted), self.nodes, thresholds)
            early = chosen.nodes if before is None else min(before, chosen.nodes)
            before = chosen.nodes
            carries = [self._capacity(chosen.slots, n) for n in (early, chosen.nodes)]
            most = (self.late * carries[0] + (1 - self.late) * carries[1]) * self.loads.step
            done = min(load * self.loads.step + waiting, most)
            waiting += load * self.loads.step - done
            if load > 0:
                degraded.append(abs(load - done / self.loads.step) / load)
            used.append(chosen.nodes)
        return float(np.mean(degraded)) if degraded else 0.0, float(np.mean(used)) if used else 0.0

    def _capacity(self, slots: Mapping[str, int], nodes: int) -> float:
        """Return the most rows per second that some nodes process."""
        share = stages_share(_demands(self.operators, 1.0), slots, nodes * self.nodes.cores)
        return 1.0 / share if share > 0 else np.inf


def learned_thresholds(
    trial: PastTrial, first: Thresholds | None = None, choices: Sequence[float] = CHOICES, steps: int = 300
) -> tuple[Thresholds, LearnedThreshold]:
    """Return thresholds whose ``cpu_max`` was learned from a recorded load, and how.

    Args:
        trial: the load and the operators.
        first: the other thresholds; the paper's if None.
        choices: values of ``cpu_max`` to choose from.
        steps: number of trials of Q-learning.

    >>> calm = PastTrial(Series(np.full(20, 100.0), step=10.0), {"sum": StageDemand(0.012)}, NodeBounds(1, 8))
    >>> learned_thresholds(calm)[0].cpu_max  # nothing ever waits: nodes can be used as much as allowed
    0.95
    """
    if len(trial.loads) < 10:
        raise ConfigurationError(f"{len(trial.loads)} periods are too few to learn thresholds from: record at least 10")
    base, known = first or Thresholds(), dict[float, float]()

    def degradation(cpu_max: float, step: int) -> float:  # noqa: ARG001
        if cpu_max not in known:
            known[cpu_max] = trial.degradation(replace(base, cpu_max=cpu_max))
        return known[cpu_max]

    found = learn(choices, degradation, QLearning(steps=steps))
    return replace(base, cpu_max=found.best), found


def _demands(operators: Mapping[str, StageDemand], load: float) -> dict[str, StageDemand]:
    """Return what operators need at a load, given what they need for one row per second."""
    return {n: replace(d, work=d.work * load, hottest=d.hottest * load) for n, d in operators.items()}
