"""Users' requests for another routing, kept until the loop's next turn. They may come from any thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from rheostat.elastic.routing.requests import Reassign, Rebalance, Request, Rescale
from rheostat.elastic.routing.table import check_slots
from rheostat.errors import ConfigurationError


class Inbox:
    """Holds at most one request per operator: the newest, except that a rebalance does not replace another kind.

    Args:
        shards: by name, the number of shards of every operator that can be routed anew.

    >>> inbox = Inbox({"by area": 8})
    >>> inbox.rescale(4)
    >>> inbox.take(), inbox.take()
    ({'by area': Rescale(slots=4, reason='asked for')}, {})
    """

    def __init__(self, shards: Mapping[str, int]) -> None:
        self._shards = dict(shards)
        self._requests: dict[str, Request] = {}
        self._nodes: int | None = None
        self._lock = threading.Lock()

    def rescale(self, slots: int, operator: str | None = None) -> None:
        """Request another number of slots, for one operator or for all."""
        names = self._names(operator)
        for name in names:
            check_slots(slots, self._shards[name])
        self._add(dict.fromkeys(names, Rescale(int(slots))))

    def rescale_nodes(self, nodes: int) -> None:
        """Request another number of nodes."""
        if nodes < 1:
            raise ConfigurationError(f"nodes={nodes}: a query needs at least 1 node")
        with self._lock:
            self._nodes = int(nodes)

    def take_nodes(self) -> int | None:
        """Return the number of nodes that was requested since the last call, and forget it; None if none was."""
        with self._lock:
            nodes, self._nodes = self._nodes, None
        return nodes

    def rebalance(self, threshold: float, operator: str | None = None) -> None:
        """Request evenly loaded slots, for one operator or for all."""
        check_threshold(threshold)
        self._add(dict.fromkeys(self._names(operator), Rebalance(threshold)))

    def reassign(self, operator: str, routing: tuple[int, ...]) -> None:
        """Request a given routing table for one operator."""
        (name,) = self._names(operator)
        shards = self._shards[name]
        if len(routing) != shards or sorted(set(routing)) != list(range(max(routing, default=-1) + 1)):
            raise ConfigurationError(
                f"the routing of {name!r} needs a slot for each of its {shards} shards, and slot numbers without gaps"
            )
        self._add({name: Reassign(tuple(routing))})

    def follow(self, shards: Mapping[str, int]) -> None:
        """Take requests for other operators from now on. Pending requests for operators that are gone are dropped.

        Args:
            shards: by operator, its number of shards.
        """
        with self._lock:
            self._shards = dict(shards)
            self._requests = {name: r for name, r in self._requests.items() if name in shards}

    def take(self) -> dict[str, Request]:
        """Return all requests since the last call, by operator, and forget them."""
        with self._lock:
            requests, self._requests = self._requests, {}
        return requests

    def put_back(self, requests: Mapping[str, Request]) -> None:
        """Keep requests that were taken too early. A request that has come in since then is newer."""
        with self._lock:
            newer, self._requests = self._requests, dict(requests)
            for name, request in newer.items():
                self._replace(name, request)

    def _names(self, operator: str | None) -> list[str]:
        if operator is None:
            return list(self._shards)
        if operator not in self._shards:
            names = ", ".join(self._shards) or "none"
            raise ConfigurationError(f"no component {operator!r} can be routed anew; there are {names}")
        return [operator]

    def _add(self, requests: Mapping[str, Request]) -> None:
        """Add requests of one call. The lock is held for all of them, so one turn takes all or none."""
        with self._lock:
            for name, request in requests.items():
                self._replace(name, request)

    def _replace(self, name: str, request: Request) -> None:
        older = self._requests.get(name)
        # A new number of slots is balanced anyway, and a given routing is to stay as it is.
        if older is None or isinstance(older, Rebalance) or not isinstance(request, Rebalance):
            self._requests[name] = request


def check_threshold(threshold: float) -> None:
    """Raise an error if no routing can keep a threshold for the largest over the mean load."""
    if not threshold >= 1:
        raise ConfigurationError(
            f"threshold={threshold}: must be 1 or more, since the most loaded slot never has less than the mean"
        )
