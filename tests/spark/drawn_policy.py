"""Policies for tests: one that draws its plans, one that follows a script."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits

AT_ONCE = Waits(rest=0.0, calm=0.0)


@dataclass(frozen=True)
class DrawnPlans:
    """Draws any routing, slot numbers with gaps included, in nearly every epoch."""

    seed: int
    most: int = 6
    name: str = "drawn"
    pause: Pause = Pause.NONE
    waits: Waits = AT_ONCE
    on_spark: bool = True
    ahead: bool = False

    def begin(self, plan: Plan) -> int:
        return 0

    def learn(self, history: int, observation: Observation) -> int:
        return history + 1

    def decide(self, history: int, plan: Plan) -> Proposal:
        rng = random.Random(self.seed * 1000 + history)
        revisions = []
        for name, part in plan.operators.items():
            if rng.random() < 0.2:
                continue
            numbers = rng.sample(range(10), rng.randint(1, self.most))
            routing = np.array([rng.choice(numbers) for _ in part.routing])
            nodes = np.where(np.isin(np.arange(10), routing), 0, -1)
            after = OperatorPlan(routing, nodes)
            revisions.append(Revision(name, after, Action.between(part.slots, after.slots), ("drawn",)))
        return Proposal(tuple(revisions), together=rng.random() < 0.3, feasible=rng.random() < 0.7)


@dataclass(frozen=True)
class ScriptedSlots:
    """Asks for a number of slots, turn by turn: the first for epoch 0. A function is called instead."""

    says: Sequence[int | Callable[[], Any] | None]
    name: str = "scripted"
    pause: Pause = Pause.NONE
    waits: Waits = AT_ONCE
    on_spark: bool = True
    ahead: bool = False
    turns: list[int] = field(default_factory=list)

    def begin(self, plan: Plan) -> int:
        return 0

    def learn(self, history: int, observation: Observation) -> int:
        return history + 1

    def decide(self, history: int, plan: Plan) -> Proposal:
        self.turns.append(history)
        said = self.says[history - 1] if history <= len(self.says) else None
        wanted = said() if callable(said) else said
        if wanted is None:
            return Proposal()
        revisions = []
        for name, part in plan.operators.items():
            after = OperatorPlan.even(len(part.routing), wanted)
            action = Action.between(part.slots, wanted)
            revisions.append(Revision(name, after, action, (f"turn {history}",), expected=0.5))
        return Proposal(tuple(revisions))
