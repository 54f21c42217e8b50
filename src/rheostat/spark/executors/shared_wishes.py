"""How many nodes the queries of one Spark application want together. They share its executors.

Each query asks for what it needs by itself. Their epochs run at the same time, so the needs add up (ELYSIUM section
5.2, Fig. 12).
"""

from __future__ import annotations

import threading
from collections.abc import Hashable


class SharedWishes:
    """By application, the number of nodes that each of its queries wants. The application has to have their sum.

    >>> wishes = SharedWishes()
    >>> wishes.put("app", "orders", 2), wishes.put("app", "clicks", 3), wishes.put("app", "clicks", 1)
    (2, 5, 3)
    >>> wishes.remove("app", "orders")
    >>> wishes.put("app", "clicks", 1)
    1
    """

    def __init__(self) -> None:
        self._wishes: dict[str, dict[Hashable, int]] = {}
        self._lock = threading.Lock()

    def put(self, application: str, query: Hashable, nodes: int) -> int:
        """Note how many nodes a query wants, and return how many the application has to have."""
        with self._lock:
            wishes = self._wishes.setdefault(application, {})
            wishes[query] = nodes
            return sum(wishes.values())

    def remove(self, application: str, query: Hashable) -> None:
        """Forget a query that has ended."""
        with self._lock:
            self._wishes.get(application, {}).pop(query, None)


WISHES = SharedWishes()
"""The wishes of all queries in this process."""
