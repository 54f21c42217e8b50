"""What every policy is: a pure function from what was observed and the current plan to a proposal.

Observations are folded into a history, a value of the policy's own that holds what it needs of the past (counters of a
window, moving means), so that four hours of tenths of a second need not be kept or read again. The same policy object
runs live on Spark, in replay and in the simulator.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

from rheostat.elastic.loop.treatment import Waits
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Proposal


class Pause(StrEnum):
    """Who has to stop while shards move, in an engine that does not stop between epochs anyway.

    NONE: nothing moves. SHARD: only the shard that moves, inside its executor (Elasticutor section 3.3). OPERATOR: all
    executors upstream and downstream, until everything in flight is done (section 2.2). PAIR: the slot that gives and
    the slot that takes (StreamSwitch section 5).
    """

    NONE = "none"
    SHARD = "shard"
    OPERATOR = "operator"
    PAIR = "pair"


class Policy(Protocol):
    """Decides where operators run. Frozen: two calls with the same arguments give the same answer."""

    @property
    def name(self) -> str:
        """How reports call it."""

    @property
    def pause(self) -> Pause:
        """How its changes are carried out in a continuous engine."""

    @property
    def waits(self) -> Waits:
        """How long its changes are waited for, and how long it rests between them."""

    def begin(self, plan: Plan) -> Any:
        """The history before anything was observed."""

    def learn(self, history: Any, observation: Observation) -> Any:
        """The history after one more observation; the one given stays as it was."""

    def decide(self, history: Any, plan: Plan) -> Proposal:
        """What to change, given the plan in force; never raises for what was measured, however absurd."""
