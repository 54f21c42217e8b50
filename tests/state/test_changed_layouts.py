"""After a restart, a query reads state that was written for more aggregates, or for the same in another order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from rheostat.choices import Emit
from rheostat.planning import compatibility
from rheostat.planning.physical import plan_physical
from rheostat.planning.results import finish
from rheostat.planning.tables import WindowTable
from rheostat.state.files import Folder
from rheostat.state.segments import Segment
from rheostat.state.window_table import TableReader, write_rows
from rheostat.topology import aggregates as rh
from rheostat.topology.aggregates import Aggregate
from rheostat.topology.graph import Graph
from rheostat.windows.close import MergedGranule, close
from rheostat.windows.refresh import refresh
from rheostat.windows.window import tumbling
from rheostat.windows.window_layout import GRANULE, HASH, START
from tests.topology.builders import loans

MINUTE = 60_000_000
ALL = np.ones(16, dtype=np.bool_)
OLD: dict[str, Aggregate] = {"n": rh.count(), "least": rh.min("cents"), "most": rh.max("cents")}
NEW: dict[str, dict[str, Aggregate]] = {
    "the same": OLD,
    "fewer": {"n": rh.count(), "most": rh.max("cents")},
    "another order": dict(reversed(OLD.items())),
}
changes = pytest.mark.parametrize(
    "change",
    [
        "the same",
        "fewer",
        "another order",
    ],
)


def topology(aggregates: dict[str, Aggregate], emit: Emit) -> Graph:
    stream = loans()
    stream.compute("a", by="area", aggregates=aggregates).consolidate(
        "w", tumbling("2 minutes", "3 minutes"), emit=emit
    )
    return stream.graph


def tables(change: str, emit: Emit) -> tuple[WindowTable, WindowTable]:
    """The table before and after a restart that is allowed."""
    before, after = topology(OLD, emit), topology(NEW[change], emit)
    old = plan_physical(before)
    recorded = compatibility.record(before, old)
    new = plan_physical(after, compatibility.pins(recorded, after))
    compatibility.check(recorded, after, new)
    return old.tables["a"], new.tables["a"]


def written(folder: Folder, table: WindowTable, epoch: int, panes: list[int]) -> Segment:
    """A segment with one row for every pane."""
    row = {HASH: 1, "k.area": "x", **{c.name: 1 for c in table.layout.columns if c.name.startswith("p.")}}
    frame = pl.DataFrame([{START: pane * MINUTE, **row} for pane in panes])
    frame = frame.with_columns(pl.lit(0, dtype=pl.Int16).alias(GRANULE))
    segment = write_rows(folder, table.layout, frame, epoch=epoch, slot=0, shards=16)
    assert segment is not None
    return segment


def results(table: WindowTable, closed: list[MergedGranule]) -> list[tuple[object, ...]]:
    finished = finish(table.outputs[0], closed)
    assert isinstance(finished, pa.Table)
    return sorted(zip(finished.column("window").to_pylist(), finished.column("most").to_pylist(), strict=True))


@changes
def test_windows_that_were_open_at_the_restart_close(tmp_path: Path, change: str) -> None:
    before, after = tables(change, "append")
    folder = Folder.at(tmp_path)
    segments = [written(folder, before, 0, [0]), written(folder, after, 1, [3])]
    reader = TableReader(folder, after.layout, segments, ALL)
    closed = list(close(reader, after.layout, after.plan, None, 10 * MINUTE))
    assert results(after, closed) == [("2 minutes", 1), ("2 minutes", 1), ("3 minutes", 1), ("3 minutes", 1)]


@changes
def test_windows_that_were_open_at_the_restart_are_refreshed(tmp_path: Path, change: str) -> None:
    before, after = tables(change, "update")
    folder = Folder.at(tmp_path)
    segments = [written(folder, before, 0, [0, 1]), written(folder, after, 1, [1])]
    reader = TableReader(folder, after.layout, segments, ALL)
    changed = pl.DataFrame({START: [MINUTE], HASH: [1], "k.area": ["x"]})
    refreshed = list(refresh(reader, after.layout, after.plan, changed, None))
    assert results(after, refreshed) == [("2 minutes", 1), ("3 minutes", 1)]
