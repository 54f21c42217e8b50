"""The protocol of policies that learn a profile of the query, which is kept from run to run."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

from rheostat.elastic.elysium.live.query_profile import QueryProfile
from rheostat.elastic.model.policy import Policy


@runtime_checkable
class Profiled(Policy, Protocol):
    """A policy that learns a profile of the query."""

    @property
    def period(self) -> float:
        """Seconds of an assessment period."""

    @property
    def profile(self) -> QueryProfile:
        """What is known before the first epoch."""

    def knowing(self, profile: QueryProfile) -> Self:
        """Return the policy with what is known of the query."""

    def profile_of(self, history: Any) -> QueryProfile:
        """Return what was learned, for a file."""


@runtime_checkable
class NodePolicy(Policy, Protocol):
    """A policy that changes the number of nodes within a range."""

    def on_nodes(self, least: int, most: int) -> Self:
        """Return the policy with a range of nodes."""
