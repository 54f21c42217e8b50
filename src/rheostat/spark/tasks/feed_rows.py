"""The rows of one feed among all rows that a task received."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from rheostat.planning.feeds import FEED, Feed
from rheostat.spark.stage.specs import StageSpec


def feeds_of(spec: StageSpec, table: str, arrived: pa.Table | None) -> Iterator[tuple[Feed, pa.Table]]:
    """The feeds of a table with their rows. The columns have the names in ``Feed.columns``.

    Args:
        spec: the stage.
        table: name of the table.
        arrived: all rows that the task received, of all feeds; None if there are none.
    """
    for feed in spec.feeds:
        if arrived is not None and feed.table == table:
            rows = arrived.filter(pc.equal(arrived.column(FEED), feed.number)) if len(spec.feeds) > 1 else arrived
            yield feed, rows.select(feed.wire).rename_columns(feed.columns)
