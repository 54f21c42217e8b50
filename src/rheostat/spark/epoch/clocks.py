"""Time in an epoch: watermarks of merged streams, and the time at which Spark began the epoch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rheostat.errors import CheckpointError
from rheostat.state.files import Folder
from rheostat.topology.graph import CLOCK_JOINT


def with_clocks(watermarks: Mapping[str, int | None], clocks: Iterable[str]) -> dict[str, int | None]:
    """The watermarks of sources, and of clocks that follow the slowest of several sources.

    Args:
        watermarks: by source, its watermark in microseconds; None before its first row.
        clocks: names of clocks, as ``Graph.clock_of`` returns them.

    >>> with_clocks({"a": 5, "b": 3, "c": None}, ["a+b", "a+c"])
    {'a': 5, 'b': 3, 'c': None, 'a+b': 3, 'a+c': None}
    """
    by_clock = dict(watermarks)
    for clock in sorted(clocks):
        if clock not in by_clock:
            parts = [watermarks[source] for source in clock.split(CLOCK_JOINT)]
            begun = [p for p in parts if p is not None]
            by_clock[clock] = min(begun) if len(begun) == len(parts) else None
    return by_clock


@dataclass(frozen=True)
class BatchStart:
    """What Spark's offset log says about a micro-batch before it runs.

    Attributes:
        time: when Spark planned it, in microseconds since 1970.
        ends: the offset of every source at which it ends, as JSON.
    """

    time: int
    ends: tuple[str, ...]


def batch_start(offsets: Folder, epoch: int) -> BatchStart:
    """What Spark's offset log says about a micro-batch.

    Args:
        offsets: the folder of Spark's offset log; the second line of an entry has the time, the others the offsets.
        epoch: number of the micro-batch.

    Raises:
        CheckpointError: the log has no readable entry for the micro-batch.
    """
    try:
        lines = offsets.read(str(epoch)).decode().splitlines()
        return BatchStart(int(json.loads(lines[1])["batchTimestampMs"]) * 1000, tuple(lines[2:]))
    except (OSError, IndexError, KeyError, ValueError) as error:
        raise CheckpointError(
            f"{offsets.uri}/{epoch} does not say when the epoch began ({error}); "
            "restore the folder spark/ from a copy of the checkpoint"
        ) from error


def batch_time(offsets: Folder, epoch: int) -> int:
    """The time at which Spark planned a micro-batch, in microseconds since 1970; arguments as ``batch_start``."""
    return batch_start(offsets, epoch).time
