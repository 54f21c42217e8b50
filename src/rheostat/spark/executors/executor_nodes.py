"""The nodes of one query: which executors are there, how many are wanted, and what became of those asked for.

The thread of the epochs calls ``observe`` when an epoch begins, and ``want`` when its plan is fixed. The epoch before
has been committed then and no task of the query runs, so an executor can be released without losing work. Executors
that are asked for come when the cluster gives them, and the first epoch that begins afterwards uses them.

Nothing here waits for an executor. A request that the cluster refuses is repeated in every epoch; one that it takes
stands until the executors come, or until another number is wanted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rheostat.elastic.loop.events import EventKind
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.roster import Roster, choose_released
from rheostat.errors import ConfigurationError
from rheostat.spark.executors.executor_client import ExecutorClient
from rheostat.spark.executors.shared_wishes import WISHES, SharedWishes

PATIENCE = 60.0
"""Seconds after which executors that are missing are told of as late."""

Note = Callable[..., None]
"""Stores an event: its kind, its epoch, and values by name."""


def _silent(kind: EventKind, epoch: int, **values: Any) -> None:
    """Store nothing."""


class ExecutorNodes:
    """The executors of a query's application as numbered nodes.

    Args:
        client: asks Spark.
        allowed: the fewest and most nodes; None to take what there is.
        note: stores events.
        start: the number of nodes to begin with; None for those that Spark has, within the range.
        clock: seconds on a clock that never goes back.
        wishes: what other queries of the application want.

    Attributes:
        roster: the nodes that were there when the newest epoch began.
        wanted: the number of nodes wanted; at least 1.
        fixed: why the number of nodes cannot change; empty if it can.
        follows: True if the number wanted follows what Spark has, because nobody has wanted another one yet.
        delay: seconds from the last request for more nodes until all of them were there; NaN before the first.
    """

    def __init__(
        self,
        client: ExecutorClient,
        allowed: NodeRange | None = None,
        note: Note = _silent,
        start: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        wishes: SharedWishes = WISHES,
    ) -> None:
        self.fixed = client.fixed or ("" if allowed is not None else "the query was started without nodes=")
        if allowed is not None and client.fixed and not allowed.fixed:
            raise ConfigurationError(
                f"nodes={allowed}: {client.fixed}. Leave nodes= out, or run on a cluster, "
                "for example one from rheostat cluster start"
            )
        self._client = client
        self._allowed = allowed
        self._note = note
        self._clock = clock
        self._wishes = wishes
        self._requested: int | None = None  # executors in all, as asked of Spark; None if nothing was asked
        self._asked: float | None = None  # since when executors are missing: asked for, or lost
        self._told_late = False
        self._refusal = ""
        self._released: set[str] = set()
        self.delay = float("nan")
        self.follows = bool(self.fixed) or start is None
        self.roster = Roster().updated(client.there())
        self.wanted = self._within(len(self.roster.there) if start is None or self.fixed else start)

    def observe(self, epoch: int) -> Roster:
        """Ask Spark which executors are there, and tell of those that came or were lost.

        Args:
            epoch: the epoch that is about to begin.
        """
        before, there = self.roster, self._client.there()
        there = tuple(node for node in there if node.name not in self._released)  # Spark takes a moment to end them
        self.roster = before.updated(there)
        known = {node.name for node in before.there}
        for number, node in enumerate(self.roster.numbers):
            if node is not None and node.name not in known:
                waited = "" if self._asked is None else f", {self._clock() - self._asked:.1f} s after it was asked for"
                what = f"executor {node.name} on {node.host} with {node.cores} cores is node {number}{waited}"
                self._note(EventKind.NODE_CAME, epoch, what=what, executor=node.name, host=node.host)
        left = {node.name for node in self.roster.there}
        for number, node in enumerate(before.numbers):
            if node is not None and node.name not in left:
                why = self._client.why_lost(node.name) or "Spark does not say why"
                what = f"executor {node.name} on {node.host}, node {number}: {why}"
                self._note(EventKind.NODE_LOST, epoch, what=what, executor=node.name, host=node.host, why=why)
        if self.follows:
            self.wanted = self._within(len(self.roster.there))
        self._follow_up(epoch)
        return self.roster

    def want(
        self, nodes: int, epoch: int, worth: Mapping[str, float], speeds: Mapping[str, float] | None = None
    ) -> None:
        """Want a number of nodes from now on: ask for more, or release those whose cached state is worth least.

        Args:
            nodes: the number.
            epoch: the epoch that is about to begin.
            worth: by executor, the bytes of state that it has cached and that are in use.
            speeds: by executor, its speed relative to the mean.
        """
        if self.fixed:
            return
        if nodes != self.wanted:
            self.wanted, self.follows = nodes, False
        if self.follows and nodes == len(self.roster.there):
            return  # it takes what there is and asks for nothing, so that what others asked for does not count twice
        total = self._wishes.put(self._client.application, id(self), nodes)
        there = len(self.roster.there)
        if self._requested is None and total == there:
            return
        if total != self._requested:
            self.follows, self._told_late, self._refusal = False, False, ""
            if total > there:
                what = f"{total} executors in all; {there} are there"
                self._note(EventKind.NODES_ASKED, epoch, what=what, nodes=total)
        elif not self._refusal:
            return
        self._request(total, epoch)
        if total < there and not self._refusal:
            self._release(there - total, total, epoch, worth, speeds)

    def close(self) -> None:
        """Want nothing any more: the query has ended. Its executors stay, as Spark's session does."""
        self._wishes.remove(self._client.application, id(self))

    def _within(self, nodes: int) -> int:
        """The nearest number that is allowed."""
        return max(nodes, 1) if self._allowed is None or self.fixed else self._allowed.clip(nodes)

    def _request(self, total: int, epoch: int) -> None:
        """Ask Spark for a number of executors in all; if it refuses, the next epoch asks again."""
        refusal = self._client.request(total)
        if total != self._requested:
            self._asked = self._clock() if total > len(self.roster.there) else None
        self._requested = total
        self._refused(refusal, f"{total} executors", epoch)

    def _refused(self, refusal: str, what: str, epoch: int) -> None:
        """Note that the cluster refuses something, unless it only repeats itself, or that it does not any more."""
        if refusal and refusal != self._refusal:
            self._note(EventKind.NODES_REFUSED, epoch, what=f"{what}: {refusal}", why=refusal)
        self._refusal = refusal

    def _release(
        self, count: int, total: int, epoch: int, worth: Mapping[str, float], speeds: Mapping[str, float] | None
    ) -> None:
        chosen = choose_released(self.roster, count, worth, speeds)
        failure = self._client.release([node.name for node in chosen])
        self._refused(failure, f"to release {count} executors", epoch)
        if failure:
            return
        self._released |= {node.name for node in chosen}
        for node in chosen:
            kept = f"{worth.get(node.name, 0.0):,.0f} bytes of cached state in use, the least"
            what = f"executor {node.name} on {node.host}: {total} wanted, {count + total} there; it had {kept}"
            self._note(EventKind.NODE_RELEASED, epoch, what=what, executor=node.name, host=node.host)
        self.roster = self.roster.without([node.name for node in chosen], total)

    def _follow_up(self, epoch: int) -> None:
        """Tell once if executors are late."""
        total, there = self._requested, len(self.roster.there)
        if total is None:
            return
        if there >= total:
            if self._asked is not None:
                self.delay = self._clock() - self._asked
            self._asked, self._told_late = None, False
            return
        if self._asked is None:
            self._asked = self._clock()
        waited = self._clock() - self._asked
        if waited >= PATIENCE and not self._told_late:
            what = f"{there} of {total} executors are there, for {waited:.0f} s now; the request stands"
            self._note(EventKind.NODES_LATE, epoch, what=what, nodes=total)
            self._told_late = True
