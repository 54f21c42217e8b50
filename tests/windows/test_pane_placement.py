"""New partials in the granules they belong to, as a task places them, against the definition row by row."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import WindowTable
from rheostat.spark.stage.specs import WindowTableSpec
from rheostat.spark.stage.task_reports import TableReport
from rheostat.spark.tasks.pane_placement import place_partials
from rheostat.state.files import Folder
from rheostat.topology.graph import Graph
from rheostat.windows.consolidation import ConsolidationPlan
from rheostat.windows.window_layout import GRANULE, HASH, START
from tests.planning.builders import add
from tests.topology.builders import loans
from tests.windows.builders import containing, plans
from tests.windows.streams import KEY, MERGED, Epoch, epochs, partials, placed


def table(plan: ConsolidationPlan) -> WindowTable:
    stream = loans()
    add(stream, "a", "area")
    (planned,) = plan_physical(stream.graph).tables.values()
    return replace(planned, plan=plan, layout=MERGED)


@settings(max_examples=100, deadline=None)
@given(plans(), epochs(), st.none() | st.integers(-40, 80))
def test_partials_go_where_the_definition_says(
    plan: ConsolidationPlan, stream: list[Epoch], watermark: int | None
) -> None:
    given_table = WindowTableSpec(table=table(plan), folder=Folder.at("/nowhere"), segments=(), before=watermark)
    for rows in stream:
        new = partials(rows, plan, MERGED)
        if new.is_empty():
            continue
        report = TableReport()
        result = place_partials(given_table, new, report)
        columns = [GRANULE, START, HASH, KEY.name]
        wanted = placed(new, plan, MERGED, watermark)
        assert result.select(columns).sort(columns).rows() == wanted.select(columns).sort(columns).rows()
        requested = [g.window for g in plan.granules if g.requested]
        ends = [[s + w.size for w in requested for s in containing(w, r.time)] for r in rows]
        passed = [[watermark is not None and end <= watermark for end in of_row] for of_row in ends]
        assert report.late == sum(any(p) for p in passed)
        assert report.dropped == sum(any(p) and all(p) for p in passed)


def test_partials_in_time_are_not_touched() -> None:
    planned = table(plan_physical(_minutes()).tables["a"].plan)
    spec = WindowTableSpec(table=planned, folder=Folder.at("/nowhere"), segments=(), before=None)
    names = [c.name for c in MERGED.columns]
    new = pl.DataFrame({START: [60_000_000], **{n: [1] for n in names}})
    assert place_partials(spec, new, TableReport()).columns == [GRANULE, START, *names]


def _minutes() -> Graph:
    stream = loans()
    add(stream, "a", "area")
    return stream.graph
