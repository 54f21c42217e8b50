"""Results: from merged partials to result columns."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pyarrow as pa

from rheostat.planning.physical import plan_physical
from rheostat.planning.results import finish
from rheostat.planning.tables import WindowTable
from rheostat.topology import aggregates as rh
from rheostat.windows.close import MergedGranule
from rheostat.windows.partials import ROWS
from rheostat.windows.window import tumbling
from rheostat.windows.window_layout import HASH
from tests.planning.builders import add
from tests.topology.builders import loans

MINUTE = 60_000_000


def table() -> WindowTable:
    stream = loans()
    computed = stream.compute("a", by=["area", "grade"], total=rh.sum("cents"), n=rh.count())
    computed.consolidate("minutes", tumbling("1 minute"))
    computed.consolidate("both", tumbling("1 minute", "5 minutes"))
    (planned,) = plan_physical(stream.graph).tables.values()
    return planned


def closed(granule: int, start: int, *rows: tuple[str | None, int | None, int, int, int]) -> MergedGranule:
    names = ["k.area", "k.grade", ROWS, "p.sum(cents)", "p.count(cents)"]
    schema = dict(zip(names, [pl.String, pl.Int32, pl.Int64, pl.Int64, pl.Int64], strict=True))
    return MergedGranule(
        granule, start, pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.lit(1).alias(HASH))
    )


def finished(output: int, *parts: MergedGranule) -> pa.Table | None:
    return finish(table().outputs[output], parts)


def test_results_have_window_times_keys_and_values() -> None:
    result = finished(1, closed(0, MINUTE, ("a", None, 2, 0, 0)), closed(1, 0, (None, 3, 1, 7, 1)))
    assert result is not None
    zero = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    minute = dt.timedelta(minutes=1)
    names = ["window", "window_start", "window_end", "area", "grade", "total", "n"]
    assert result.column_names == names
    assert [tuple(r.values()) for r in result.to_pylist()] == [
        ("1 minute", zero + minute, zero + 2 * minute, "a", None, None, 2),
        ("5 minutes", zero, zero + 5 * minute, None, 3, 7, 1),
    ]


def test_results_have_the_planned_types() -> None:
    output = table().outputs[0]
    schema = [(c.name, c.type) for c in output.schema]
    assert schema[-4:] == [("area", "string"), ("grade", "int"), ("total", "bigint"), ("n", "bigint")]
    result = finished(0, closed(0, 0, ("a", 1, 1, 1, 1)))
    assert result is not None
    assert result.schema.field("grade").type == pa.int32()
    assert result.schema.field("window_start").type == pa.timestamp("us", tz="UTC")


def test_windows_of_other_operators_are_left_out() -> None:
    assert finished(0, closed(1, 0, ("a", 1, 1, 1, 1))) is None
    assert finished(0) is None
    result = finished(0, closed(0, 0, ("a", 1, 1, 1, 1)), closed(1, 0, ("b", 1, 1, 1, 1)))
    assert result is not None
    assert result.column("area").to_pylist() == ["a"]


def test_an_operator_without_keys_has_one_row_per_window() -> None:
    stream = loans()
    add(stream, "a")
    (planned,) = plan_physical(stream.graph).tables.values()
    frame = pl.DataFrame({HASH: [0], ROWS: [5]})
    result = finish(planned.outputs[0], [MergedGranule(0, 0, frame)])
    assert result is not None
    assert result.column_names == ["window", "window_start", "window_end", "n"]
    assert result.column("n").to_pylist() == [5]
