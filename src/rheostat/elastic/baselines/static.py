"""The baseline that changes nothing: hash placement and a fixed number of slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits


@dataclass(frozen=True)
class Static:
    """Leaves the plan as it is: the static approach of Elasticutor section 2.2.

    Runs on Spark, where it is the default of ``start``, and in the simulator.

    Attributes:
        name: the name in reports.
        pause: what stops during a change in an engine without epochs: nothing, as there are no changes.
        waits: time limits and rests of changes, for requests of users.

    >>> Static().decide(None, Plan({}, 1)).changes
    False
    """

    name: str = "static"
    pause: Pause = Pause.NONE
    waits: Waits = Waits()

    on_spark: ClassVar[bool] = True
    ahead: ClassVar[bool] = False

    def begin(self, plan: Plan) -> None:
        """Return None: nothing is remembered."""

    def learn(self, history: None, observation: Observation) -> None:
        """Return None: nothing is learned."""

    def decide(self, history: None, plan: Plan) -> Proposal:  # noqa: ARG002
        """Return the proposal to change nothing."""
        return STAY
