"""The baseline that decides nothing: hash placement and a fixed number of slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits


@dataclass(frozen=True)
class Static:
    """Leaves the plan as it is (Elasticutor section 2.2, the static approach).

    Runs on Spark, where it is what ``start`` does without a policy, and in the simulator.

    >>> Static().decide(None, Plan({}, 1)).changes
    False
    """

    name: str = "static"
    pause: Pause = Pause.NONE
    waits: Waits = Waits()

    on_spark: ClassVar[bool] = True
    ahead: ClassVar[bool] = False

    def begin(self, plan: Plan) -> None:
        """Nothing is remembered."""

    def learn(self, history: None, observation: Observation) -> None:
        """Nothing is learned."""

    def decide(self, history: None, plan: Plan) -> Proposal:  # noqa: ARG002
        """Nothing is changed."""
        return STAY
