"""The time in an epoch: watermarks where streams meet, and when Spark began the epoch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from rheostat.errors import CheckpointError
from rheostat.state.files import Folder
from rheostat.topology.graph import CLOCK_JOINT


def with_clocks(watermarks: Mapping[str, int | None], clocks: Iterable[str]) -> dict[str, int | None]:
    """The watermarks of sources, and those of clocks that follow the slowest of several sources.

    Args:
        watermarks: per source, its watermark; None before its first row.
        clocks: names of clocks, as ``Graph.clock_of`` gives them.

    >>> with_clocks({"a": 5, "b": 3, "c": None}, ["a+b", "a+c"])
    {'a': 5, 'b': 3, 'c': None, 'a+b': 3, 'a+c': None}
    """
    known = dict(watermarks)
    for clock in sorted(clocks):
        if clock not in known:
            parts = [watermarks[source] for source in clock.split(CLOCK_JOINT)]
            passed = [p for p in parts if p is not None]
            known[clock] = min(passed) if len(passed) == len(parts) else None
    return known


def batch_time(offsets: Folder, epoch: int) -> int:
    """When Spark planned a micro-batch, in microseconds since 1970.

    Args:
        offsets: the folder of Spark's offset log; the second line of an entry has the time.
        epoch: number of the micro-batch.
    """
    try:
        lines = offsets.read(str(epoch)).decode().splitlines()
        return int(json.loads(lines[1])["batchTimestampMs"]) * 1000
    except (OSError, IndexError, KeyError, ValueError) as error:
        raise CheckpointError(f"{offsets.uri}/{epoch} does not say when the epoch began: {error}") from error
