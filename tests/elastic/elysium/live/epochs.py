"""Observations of epochs as Spark would give them, with costs that the tests choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheostat.elastic.loop.turn import Control, Turn, turn
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan

SHARDS = 16


@dataclass
class EpochWorld:
    """Epochs of a second with one-core nodes; a row costs what the operator says, and so does a task.

    Attributes:
        costs: by operator, seconds of a row, rows per row of the source, and its level.
        nodes: nodes that are there; they follow what is wanted after ``late`` epochs.
        told_delay: True if observations tell how long nodes take to come.
    """

    costs: Mapping[str, tuple[float, float, int]]
    nodes: int = 1
    slots: int = 1
    task: float = 0.0
    seconds: float = 1.0
    late: int = 0
    told_delay: bool = True
    epoch: int = 0
    plan: Plan = field(init=False)

    def __post_init__(self) -> None:
        self.plan = Plan({name: OperatorPlan.even(SHARDS, self.slots) for name in self.costs}, self.nodes)
        self.wanted = [self.nodes]

    def step(self, rate: float) -> Observation:
        """One epoch."""
        self.epoch += 1
        operators = {}
        for name, (cost, selectivity, level) in self.costs.items():
            part = self.plan.operators[name]
            rows = np.full(SHARDS, rate * self.seconds * selectivity / SHARDS)
            share = self.task / np.bincount(part.routing, minlength=len(part.nodes))[part.routing]
            work = rows * cost + share
            useful = np.bincount(part.routing, weights=work, minlength=len(part.nodes)).astype(np.float64)
            executors = tuple(str(s % self.nodes) for s in range(len(part.nodes)))
            operators[name] = OperatorObservation(
                plan=part,
                arrived=rows,
                completed=rows,
                useful=useful,
                work=work,
                rows=rows,
                level=level,
                cpu_seconds=useful / 2,
                memory=np.full(len(part.nodes), 1e8),
                executors=executors,
            )
        return Observation(
            time=self.epoch * self.seconds,
            seconds=self.seconds,
            operators=operators,
            cores=np.ones(self.nodes, dtype=np.int64),
            external=rate,
            epoch=self.epoch,
            busy=self.seconds,
            span=self.seconds,
            next_rows=rate * self.seconds,
            next_span=self.seconds,
            behind=0.0,
            law=EpochLaw(overhead=0.2, parallelism=float(self.nodes)),
            node_delay=self.late * self.seconds if self.late and self.told_delay else float("nan"),
        )

    def drive(self, policy: Any, rates: list[float]) -> list[Turn]:
        """Let a policy decide about epochs with these rates; what it asks for comes true."""
        control, turns = Control.start(policy, self.plan), []
        for rate in rates:
            result = turn(control, self.step(rate), self.plan)
            turns.append(result)
            control = result.control
            if result.request is not None:
                self.plan = result.request
            self.wanted.append(self.plan.nodes)
            self.nodes = self.wanted[max(len(self.wanted) - 1 - self.late, 0)]
        return turns
