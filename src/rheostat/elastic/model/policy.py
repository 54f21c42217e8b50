"""What every policy is: pure functions from what was observed and the current plan to a proposal.

Observations are folded into a history, a value of the policy's own that holds what it needs of the past (counters of a
window, moving means), so that four hours of tenths of a second need not be kept or read again.

The same policy object decides in the simulator and, if it says so with ``on_spark``, for a running query on Spark.
Today those are ``Static`` and ``Balance``; ``rheostat.elastic.policies`` lists all policies and where each one runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Proposal
from rheostat.errors import ConfigurationError


class Pause(StrEnum):
    """What has to stop while shards move, in an engine without epochs.

    NONE: nothing moves. SHARD: only the shard that moves, inside its executor (Elasticutor section 3.3). OPERATOR: all
    executors upstream and downstream, until everything in flight is done (section 2.2). PAIR: the slot that gives and
    the slot that takes (StreamSwitch section 5).
    """

    NONE = "none"
    SHARD = "shard"
    OPERATOR = "operator"
    PAIR = "pair"


@dataclass(frozen=True)
class Waits:
    """Time limits and rests of a policy's changes, in seconds of the observations' clock.

    Attributes:
        limit: from the decision until its result is observed; then the change is given up.
        attempts: failed requests after which a change is given up.
        rest: after a change was observed or given up, before the next one.
        calm: the same before a scale in, which is what makes decisions swing. Urgent revisions wait for neither.
    """

    limit: float = 30.0
    attempts: int = 3
    rest: float = 1.0
    calm: float = 10.0

    def __post_init__(self) -> None:
        if not (0 < self.limit < float("inf") and self.attempts >= 1 and 0 <= self.rest <= self.calm < float("inf")):
            raise ConfigurationError(
                f"{self}: limit must be finite and above 0, attempts at least 1, and 0 <= rest <= calm"
            )


class Policy(Protocol):
    """Decides where operators run. Frozen: two calls with the same arguments give the same answer."""

    @property
    def name(self) -> str:
        """How reports call it."""

    @property
    def pause(self) -> Pause:
        """What its changes stop in an engine without epochs."""

    @property
    def waits(self) -> Waits:
        """How long its changes may take, and how long it rests between them."""

    @property
    def on_spark(self) -> bool:
        """True if it can decide for a running query on Spark: it needs only what Spark's observer measures."""

    @property
    def ahead(self) -> bool:
        """True if the rows of an epoch are to be counted by shard before it decides (``coming``)."""

    def begin(self, plan: Plan) -> Any:
        """The history before anything was observed."""

    def learn(self, history: Any, observation: Observation) -> Any:
        """The history after one more observation; the one given stays as it was."""

    def decide(self, history: Any, plan: Plan) -> Proposal:
        """What to change, given the plan in force; never raises for what was measured, however absurd."""
