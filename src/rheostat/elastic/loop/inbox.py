"""What people ask for, kept until the loop's next turn. Requests come from any thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from rheostat.elastic.routing.requests import Reassign, Rebalance, Request, Rescale
from rheostat.elastic.routing.table import check_slots
from rheostat.errors import ConfigurationError


class Inbox:
    """One request at most for every operator, the newest that counts.

    Args:
        shards: how many every operator has that can be routed anew, by name.

    >>> inbox = Inbox({"by area": 8})
    >>> inbox.rescale(4)
    >>> inbox.take(), inbox.take()
    ({'by area': Rescale(slots=4, reason='asked for')}, {})
    """

    def __init__(self, shards: Mapping[str, int]) -> None:
        self._shards = dict(shards)
        self._requests: dict[str, Request] = {}
        self._lock = threading.Lock()

    def rescale(self, slots: int, operator: str | None = None) -> None:
        """Ask for another number of slots, for all operators or for one."""
        names = self._chosen(operator)
        for name in names:
            check_slots(slots, self._shards[name])
        for name in names:
            self._ask(name, Rescale(slots))

    def rebalance(self, threshold: float, operator: str | None = None) -> None:
        """Ask for evenly loaded slots, for all operators or for one."""
        check_threshold(threshold)
        for name in self._chosen(operator):
            self._ask(name, Rebalance(threshold))

    def reassign(self, operator: str, routing: tuple[int, ...]) -> None:
        """Ask for a routing table that was decided on elsewhere."""
        (name,) = self._chosen(operator)
        shards = self._shards[name]
        if len(routing) != shards or sorted(set(routing)) != list(range(max(routing, default=-1) + 1)):
            raise ConfigurationError(
                f"the routing of {name!r} needs a slot for each of its {shards} shards, and slot numbers without gaps"
            )
        self._ask(name, Reassign(tuple(routing)))

    def take(self) -> dict[str, Request]:
        """All requests since the last time, by operator."""
        with self._lock:
            requests, self._requests = self._requests, {}
        return requests

    def _chosen(self, operator: str | None) -> list[str]:
        if operator is None:
            return list(self._shards)
        if operator not in self._shards:
            known = ", ".join(self._shards) or "none"
            raise ConfigurationError(f"no component {operator!r} can be routed anew; there are {known}")
        return [operator]

    def _ask(self, name: str, request: Request) -> None:
        with self._lock:
            before = self._requests.get(name)
            # A new number of slots is balanced anyway, so a request for balance does not replace it.
            if before is None or isinstance(before, Rebalance) or not isinstance(request, Rebalance):
                self._requests[name] = request


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that no routing can keep."""
    if not threshold >= 1:
        raise ConfigurationError(
            f"threshold={threshold}: the most loaded slot never has less than the mean, so it must be 1 or more"
        )
