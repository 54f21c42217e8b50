"""Split or combined: whoever aggregates the rows, and however often that changes, results are the same."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.choices import Emit
from rheostat.planning.enorm import form_watch
from rheostat.planning.table_forms import TableForms
from tests.spark.streams import MINUTE, SECOND, Batches, assert_same, comparable, expected, read_stream, run, windowed

WINDOWS = [*rh.tumbling("1 minute"), *rh.sliding("3 minutes", every="1 minute")]
SCHEMA = {"ts": pl.Int64, "key": pl.String, "value": pl.Int64, "x": pl.Float64, "word": pl.String}


def batches(epochs: int = 5, keys: int = 4, seed: int = 3) -> Batches:
    """Rows with nulls in every column, some of them late."""
    rng = np.random.default_rng(seed)

    def or_null(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    return Batches.of(
        *(
            [
                (
                    or_null(int(epoch * 70 + rng.integers(-60, 90)) * SECOND),
                    or_null(f"k{rng.integers(0, keys)}"),
                    or_null(int(rng.integers(-100, 100))),
                    or_null(float(rng.choice([math.nan, math.inf, 1e6, 0.0, -2.5]))),
                    or_null(f"w{rng.integers(0, 9)}"),
                )
                for _ in range(150)
            ]
            for epoch in range(epochs)
        ),
        schema=SCHEMA,
    )


def every_aggregate() -> dict[str, Any]:
    return {
        "n": rh.count(),
        "known": rh.count("value"),
        "s": rh.sum("value"),
        "mean": rh.mean("value"),
        "low": rh.min("x"),
        "high": rh.max("x"),
        "var": rh.variance("x"),
        "spread": rh.variance("value"),
        "first": rh.first("word"),
        "last": rh.last("word"),
    }


def as_text(frame: pl.DataFrame) -> list[str]:
    """The rows as sorted text; floating-point numbers to nine digits, NaN as NaN."""
    floats = [c for c, dtype in frame.schema.items() if dtype.is_float()]
    rounded = frame.with_columns(pl.col(floats).map_elements(lambda v: f"{v:.9g}", return_dtype=pl.String))
    return sorted(map(str, comparable(rounded).rows()))


@pytest.mark.parametrize("emit", ["append", pytest.param("update", marks=pytest.mark.papers)])
def test_every_aggregate_is_the_same_in_both_forms(spark: SparkSession, tmp_path: Path, emit: Emit) -> None:
    found = {}
    for layout in ("split", "combined"):
        frame, query = windowed(
            spark,
            tmp_path / layout,
            batches(),
            WINDOWS,
            slack=20 * SECOND,
            emit=emit,
            aggregates=every_aggregate(),
            options={"layout": layout, "slots": 3},
        )
        assert ("(combined)" in query.explain()) == (layout == "combined")
        status = query.status
        found[layout] = (as_text(frame), status.rows, status.late, status.dropped, status.nulls)
        assert status.late > 0
        assert status.nulls > 0
    assert found["split"] == found["combined"]


class Drawn(TableForms):
    """Forms that change from epoch to epoch, in an order that a test draws."""

    order: tuple[bool, ...] = (True, False)
    epochs = 0

    def combined(self, stored: Mapping[str, Any]) -> frozenset[str]:
        Drawn.epochs += 1
        return frozenset(self.combinable if Drawn.order[Drawn.epochs % len(Drawn.order)] else ())


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    order=st.lists(st.booleans(), min_size=1, max_size=4),
    tables=st.lists(st.sampled_from(["key", "word", "both", "none", "late"]), min_size=1, max_size=3, unique=True),
    slots=st.integers(1, 3),
    faults=st.sets(st.tuples(st.integers(0, 4), st.sampled_from(["ingest", "close", "sinks"])), max_size=2),
)
def test_any_topology_with_forms_that_change_in_any_order(
    spark: SparkSession, order: list[bool], tables: list[str], slots: int, faults: set[tuple[int, str]]
) -> None:
    """One table is written where its rows are read, several share an exchange; epochs die and are repeated."""
    by = {"key": ["key"], "word": ["word"], "both": ["key", "word"], "none": [], "late": ["word", "key"]}
    rows = batches()
    Drawn.order = tuple(order)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("rheostat.spark.topology.TableForms", Drawn)
        folder, pending = Path(name), set(faults)
        rows.write(folder / "in")
        while True:
            t = rh.Topology("drawn")
            source = t.source(read_stream(spark, folder / "in"), event_time="ts", slack="20 seconds")
            for table in tables:
                windows = WINDOWS if table != "late" else rh.tumbling("30 seconds")
                computed = source.compute(table, by=by[table], n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
                computed.consolidate(f"{table}_windows", windows).sink(rh.sinks.parquet(str(folder / table)))
            epochs = [p.stem for p in (folder / "checkpoint" / "epochs").glob("*.json")]
            state = {"epoch": max(map(int, epochs), default=-1)}

            def probe(step: str, state: dict[str, int] = state) -> None:
                if (state["epoch"] + 1, step) in pending:
                    pending.discard((state["epoch"] + 1, step))
                    raise InterruptedError(step)
                state["epoch"] += step == "commit"

            query = t.start(str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW, slots=slots, probe=probe)
            with contextlib.suppress(InterruptedError):
                query.await_termination(60)
                break
        for table in tables:
            windows = WINDOWS if table != "late" else list(rh.tumbling("30 seconds"))
            result = pl.read_parquet(folder / table / "*" / "*.parquet", hive_partitioning=False)
            assert_same(result, expected(rows, windows, by[table], slack=20 * SECOND))


def unique_then_few(epochs: int) -> Batches:
    """Every row has its own key for some epochs, then all share three keys."""
    many = [[(e * MINUTE + i, f"u{e}-{i}", i) for i in range(200)] for e in range(epochs)]
    few = [[((epochs + e) * MINUTE + i, f"k{i % 3}", i) for i in range(200)] for e in range(2 * epochs)]
    return Batches.of(*many, *few)


def test_unique_keys_are_combined_and_few_are_split(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form_watch, "LEAST_ROWS", 100)
    # The seconds of tiny epochs tell nothing about rows: let the model decide alone.
    monkeypatch.setattr("rheostat.spark.epoch.epoch.IngestSample", lambda e, r, p, _: form_watch.IngestSample(e, r, p))
    rows = unique_then_few(4)
    result, query = windowed(spark, tmp_path, rows, WINDOWS)
    assert_same(result, expected(rows, WINDOWS))
    decided = [d for d in query.decisions() if d.policy == "layout"]
    assert next((d.epoch, d.component, d.action, d.outcome) for d in decided) == (1, "by key", "combined", "applied")
    assert [d.action for d in decided] == ["combined", "split"]
    assert decided[1].epoch > 4
    assert "partials per row" in decided[0].reasons[1]
    in_progress = [d for p in query.progress for d in p.decisions]
    assert in_progress == decided


def test_a_form_is_kept_over_a_restart(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form_watch, "LEAST_ROWS", 100)
    monkeypatch.setattr("rheostat.spark.epoch.epoch.IngestSample", lambda e, r, p, _: form_watch.IngestSample(e, r, p))
    rows = Batches.of(*([(e * MINUTE + i, f"u{e}-{i}", i) for i in range(200)] for e in range(4)))

    def start(frames: list[pl.DataFrame]) -> rh.Query:
        Batches(frames).write(tmp_path / "in", first=len(list((tmp_path / "in").glob("*.parquet"))))
        t = rh.Topology("kept")
        source = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
        windows = source.compute("by", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
        windows.consolidate("windows", WINDOWS).sink(rh.sinks.parquet(str(tmp_path / "out")))
        return run(t, tmp_path / "checkpoint")

    (tmp_path / "in").mkdir()
    start(list(rows.frames[:1]))
    query = start(list(rows.frames[1:]))
    assert [d.epoch for d in query.decisions() if d.policy == "layout"] == [1]
    assert "(combined)" in query.explain()
    result = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert_same(result, expected(rows, WINDOWS))


def test_a_layout_that_does_not_exist(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(rh.RheostatError, match="layout='both' is not one of 'auto', 'split', 'combined'"):
        windowed(spark, tmp_path, batches(1), WINDOWS, options={"layout": "both"})
