"""Which host has copies of which segments, as the driver knows it from the reports of tasks.

A task's host has the segments that the task wrote and those that it fetched. Hosts delete copies to free space and say
nothing; then a slot fetches them again, and nothing else goes wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.routing.table import owned
from rheostat.state.segments import Segment


class Copies:
    """The segments that hosts have.

    >>> size = dict(epoch=0, rows=1, spans={0: (0, 0)})
    >>> segments = [Segment(file=f, bytes=b, shards=s, **size) for f, b, s in [("a", 100, (0, 1)), ("b", 10, (2, 3))]]
    >>> copies = Copies()
    >>> copies.add("h1", ["a"])
    >>> copies.lacking(segments, routing=(0, 0, 1, 1), hosts=["h1", "h2"]).tolist()
    [[0.0, 100.0], [10.0, 10.0]]
    """

    def __init__(self) -> None:
        self._files: dict[str, set[str]] = {}

    def add(self, host: str, files: Iterable[str]) -> None:
        """Note that a host has copies of files."""
        self._files.setdefault(host, set()).update(files)

    def assume(self, homes: Sequence[str], segments: Iterable[Segment], routing: Sequence[int]) -> None:
        """Assume that every slot's home has all segments that the slot reads, as after an epoch that ran there.

        Args:
            homes: the home of every slot; empty text if it has none.
            segments: the live segments of a component.
            routing: the slot of every shard.
        """
        every = list(segments)
        for slot, host in enumerate(homes):
            if host:
                mine = owned(routing, slot)
                self.add(host, (s.file for s in every if s.has_any(mine)))

    def keep(self, live: Collection[str]) -> None:
        """Forget all files but the live ones."""
        for files in self._files.values():
            files.intersection_update(live)

    def lacking(self, segments: Iterable[Segment], routing: Sequence[int], hosts: Sequence[str]) -> Floats:
        """Return the bytes that each host would have to fetch for each slot, by slot and host.

        A segment is fetched as a whole, even for one shard.

        Args:
            segments: the live segments of a component.
            routing: the slot of every shard.
            hosts: the hosts.
        """
        slots = max(routing) + 1
        found, flags = np.zeros((slots, len(hosts))), [owned(routing, slot) for slot in range(slots)]
        for segment in segments:
            without = np.array([segment.file not in self._files.get(host, ()) for host in hosts])
            if without.any():
                readers = np.array([segment.has_any(mine) for mine in flags])
                found += np.outer(readers, without) * segment.bytes
        return found
