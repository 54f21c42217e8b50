"""The protocol of policies: pure functions from the observations so far and the current plan to a proposal.

A policy does not keep observations. It folds each one into its history, an immutable value that holds what it needs of
the past, such as moving means.

The same policy object runs in the simulator and, if ``on_spark`` is True, for a query on Spark.
``rheostat.elastic.policies`` lists all policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Proposal
from rheostat.elastic.model.promise import Latency
from rheostat.errors import ConfigurationError


class Pause(StrEnum):
    """What stops while shards move, in an engine without epochs.

    Attributes:
        NONE: nothing, because no shard ever moves.
        SHARD: the shard that moves, inside its executor (Elasticutor section 3.3).
        OPERATOR: the operator and all executors upstream, until all rows in flight are done (Elasticutor section 2.2).
        PAIR: the slot that gives the shard and the slot that takes it (StreamSwitch section 5).
    """

    NONE = "none"
    SHARD = "shard"
    OPERATOR = "operator"
    PAIR = "pair"


@dataclass(frozen=True)
class Waits:
    """Time limits and rests of a policy's changes. Times are in seconds of the observations' clock.

    Attributes:
        limit: time from a decision until its result must be observed; after that the change is given up.
        attempts: number of failed requests after which a change is given up.
        rest: time between the end of a change, or giving it up, and the next one. Urgent revisions do not wait.
        calm: time between the end of a change and a scale in, which would otherwise often be undone at once. Urgent
            revisions do not wait.
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
    """Decides where operators run. A policy is immutable: the same arguments always give the same answer."""

    @property
    def name(self) -> str:
        """The name in reports."""

    @property
    def pause(self) -> Pause:
        """What stops during a change in an engine without epochs."""

    @property
    def waits(self) -> Waits:
        """How long changes may take, and the rests between them."""

    @property
    def on_spark(self) -> bool:
        """True if it can control a query on Spark, because it needs only what Spark's observer measures."""

    @property
    def ahead(self) -> bool:
        """True if it needs the rows of the next epoch counted ahead (``OperatorObservation.coming``)."""

    def begin(self, plan: Plan) -> Any:
        """Return the history before the first observation."""

    def learn(self, history: Any, observation: Observation) -> Any:
        """Return the history after one more observation, without changing the one passed in."""

    def decide(self, history: Any, plan: Plan) -> Proposal:
        """Return what to change in the current plan. Must not raise, whatever values were measured."""


@runtime_checkable
class Elastic(Policy, Protocol):
    """A policy that changes the number of slots to keep a promise."""

    def keeping(self, promise: Latency | None, slots: tuple[int, int] | None = None) -> Policy:
        """Return the policy with a user's promise as its bound, and a range of slots for every operator.

        Args:
            promise: the promise; None to keep the policy's own bound.
            slots: fewest and most slots; None to keep the policy's own.
        """
