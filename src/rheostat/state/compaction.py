"""Which segments to fold into one: a pure choice, so that reads stay few and every row is rewritten rarely.

Segments are ranked by size. When the segments of one rank come from ``FAN_IN`` epochs, they are read once more and
written as part of the current epoch; the result usually ranks one higher. So a large segment is never rewritten
because of a few small ones, and a row is rewritten about once per rank that its segment climbs. Segments of a few
hundred rows are rewritten more often, at a negligible cost. Rows that no window needs any more are dropped on the way.

Partials may be merged in any order. Keyed state may not: the newest row of a key is the one that counts, and a row is
newer if its segment is. So only a run of the newest segments of a keyed table is folded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rheostat.state.segments import Segment

FAN_IN = 8
"""How many epochs must have left segments of one rank before these are folded."""

SMALLEST = 512
"""Rows up to which segments count as equally small."""


def rank(rows: int) -> int:
    """The size class of a segment.

    >>> rank(10), rank(512), rank(513), rank(1_000_000)
    (0, 0, 1, 4)
    """
    steps, limit = 0, SMALLEST
    while rows > limit:
        steps, limit = steps + 1, limit * FAN_IN
    return steps


def choose(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """The segments of a window table to fold this epoch; none if there is no need.

    >>> size = dict(bytes=100, spans={0: (0, 0)}, shards=(0, 255))
    >>> made = [Segment(file=str(e), epoch=e, rows=10, **size) for e in range(8)]
    >>> len(choose(made)), len(choose(made[:7]))
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
    """The newest segments of a keyed table to fold this epoch, in order; none if there is no need.

    >>> size = dict(bytes=100, spans={0: (0, 0)}, shards=(0, 255))
    >>> made = [Segment(file=str(e), epoch=e, rows=rows, **size) for e, rows in enumerate([9_999] + [10] * 8)]
    >>> [s.epoch for s in choose_newest(made)]
    [1, 2, 3, 4, 5, 6, 7, 8]
    """
    rows: dict[int, int] = defaultdict(int)
    for segment in segments:
        rows[segment.epoch] += segment.rows
    ranks = {epoch: rank(total) for epoch, total in rows.items()}
    epochs = sorted(ranks)
    for highest in sorted(set(ranks.values()), reverse=True):
        larger = [e for e in epochs if ranks[e] > highest]
        run = [e for e in epochs if not larger or e > larger[-1]]
        tops = [e for e in run if ranks[e] == highest]
        # Small epochs before a large one wait for the next large ones, but not without limit.
        waiting = sum(e < tops[-1] for e in run) if tops else 0
        if len(tops) >= FAN_IN or waiting >= 2 * FAN_IN:
            return tuple(s for s in segments if s.epoch in set(run))
    return ()
