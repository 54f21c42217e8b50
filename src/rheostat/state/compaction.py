"""Chooses the segments to fold into one, so that tables have few segments and rows are seldom rewritten.

Segments are ranked by size. When the segments of one rank come from ``FAN_IN`` epochs, their rows are written again in
the segment of the current epoch, which usually ranks one higher. So a large segment is never rewritten because of a few
small ones, and a row is rewritten about once per rank. Segments of a few hundred rows are rewritten more often, at a
negligible cost. Rows that no window needs any more are left out.

Partials may be merged in any order. Rows of keyed state may not, because only the newest row of a key counts and the
order of segments tells which one that is. So only the newest segments of a keyed table are folded, without gaps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rheostat.state.segments import Segment

FAN_IN = 8
"""Segments of one rank are folded when they come from this many epochs; also the ratio of sizes between ranks."""

SMALLEST = 512
"""The number of rows up to which a segment has rank 0."""


def rank(rows: int) -> int:
    """The rank of a segment by its number of rows.

    >>> rank(10), rank(512), rank(513), rank(1_000_000)
    (0, 0, 1, 4)
    """
    steps, limit = 0, SMALLEST
    while rows > limit:
        steps, limit = steps + 1, limit * FAN_IN
    return steps


def choose(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """The segments of a window table to fold in this epoch; empty if there is no need.

    >>> size = dict(bytes=100, spans={0: (0, 0)}, shards=(0, 255))
    >>> segments = [Segment(file=str(e), epoch=e, rows=10, **size) for e in range(8)]
    >>> len(choose(segments)), len(choose(segments[:7]))
    (8, 0)
    """
    by_rank: dict[int, list[Segment]] = defaultdict(list)
    for segment in segments:
        by_rank[rank(segment.rows)].append(segment)
    for _, ranked in sorted(by_rank.items()):
        if len({s.epoch for s in ranked}) >= FAN_IN:
            return tuple(ranked)
    return ()


def choose_newest(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """The newest segments of a keyed table to fold in this epoch, in order; empty if there is no need.

    The choice is by epoch, from the highest rank down: the epochs after the last one of a higher rank are folded if
    ``FAN_IN`` of them have this rank, or if too many smaller ones come before the last one of this rank.

    >>> size = dict(bytes=100, spans={0: (0, 0)}, shards=(0, 255))
    >>> segments = [Segment(file=str(e), epoch=e, rows=rows, **size) for e, rows in enumerate([9_999] + [10] * 8)]
    >>> [s.epoch for s in choose_newest(segments)]
    [1, 2, 3, 4, 5, 6, 7, 8]
    """
    rows: dict[int, int] = defaultdict(int)
    for segment in segments:
        rows[segment.epoch] += segment.rows
    rank_of = {epoch: rank(total) for epoch, total in rows.items()}
    epochs = sorted(rank_of)
    for highest in sorted(set(rank_of.values()), reverse=True):
        larger = [e for e in epochs if rank_of[e] > highest]
        newest = [e for e in epochs if not larger or e > larger[-1]]
        largest = [e for e in newest if rank_of[e] == highest]
        # Smaller epochs before a large one wait until there are enough large ones, up to a limit.
        waiting = sum(e < largest[-1] for e in newest) if largest else 0
        if len(largest) >= FAN_IN or waiting >= 2 * FAN_IN:
            return tuple(s for s in segments if s.epoch in set(newest))
    return ()
