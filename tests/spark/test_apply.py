"""``Stream.apply`` on Spark: every row once whatever the grouping, costs learned and used, and order kept if asked."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.elastic.posg import cost_choice
from rheostat.elastic.posg.serial import from_text
from rheostat.spark.epoch.apply_operator import BY_COST, IN_TURN
from rheostat.state.checkpoint import Checkpoint
from tests.spark.streams import MINUTE, SECOND, Batches, read_stream, run

EPOCHS, ROWS = 4, 40
GIVEN = Batches.of(
    *([((e * ROWS + i) * SECOND, f"k{i % 5}", e * ROWS + i) for i in range(ROWS)] for e in range(EPOCHS))
)
SCHEMA = "ts timestamp, key string, value bigint"
EXPECTED = sorted((f"k{v % ROWS % 5}", v * 2) for v in range(EPOCHS * ROWS))


def by_row(row: Any) -> Any:
    return row.ts, row.key, row.value * 2


def by_frame(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(value=pl.col("value") * 2)


def slow(row: Any) -> Any:
    """Rows of one key take long."""
    time.sleep(0.01 if row.key == "k0" else 0.0005)
    return by_row(row)


def topology(spark: SparkSession, folder: Path, function: Callable[..., Any], **options: Any) -> rh.Topology:
    t = rh.Topology("apply")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts")
    options = {"schema": SCHEMA, "cost_by": "key", "slots": 3, **options}
    rows.apply("enrich", function, **options).sink(rh.sinks.parquet(str(folder / "out")))
    return t


def found(folder: Path) -> list[tuple[str, int]]:
    rows = pl.read_parquet(folder / "*" / "*.parquet", hive_partitioning=False)
    return sorted(rows.select("key", "value").rows())


def learned(folder: Path) -> dict[str, Any]:
    opened = Checkpoint.open(str(folder / "checkpoint"), 256, 10)
    try:
        return dict(opened.manifest.learned["enrich"])
    finally:
        opened.close()


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dealing by cost costs nothing, so that it pays for the small work of a test."""
    monkeypatch.setattr(cost_choice, "ROUTING", 0.0)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (by_row, {"grouping": "round_robin"}),
        (by_row, {"cost_by": ()}),
        (by_frame, {"over": "polars", "grouping": "posg"}),
        (lambda t: by_frame(pl.from_arrow(t)).to_arrow(), {"over": "arrow", "slots": 1}),  # type: ignore[arg-type]
    ],
)
def test_every_row_once(
    spark: SparkSession, tmp_path: Path, function: Callable[..., Any], options: dict[str, Any]
) -> None:
    GIVEN.write(tmp_path / "in")
    query = run(topology(spark, tmp_path, function, **options), tmp_path / "checkpoint")
    assert found(tmp_path / "out") == EXPECTED
    assert [p.rows for p in query.progress] == [ROWS] * EPOCHS
    assert [p.results for p in query.progress] == [{"enrich": ROWS}] * EPOCHS
    assert query.status.watermarks == {"source": GIVEN.frames[-1]["ts"].max() + 1_767_225_600_000_000}  # type: ignore[operator]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("grouping", ["lpt", "posg"])
def test_costs_are_learned_and_rows_dealt_by_them(spark: SparkSession, tmp_path: Path, grouping: str) -> None:
    GIVEN.write(tmp_path / "in")
    query = run(topology(spark, tmp_path, slow, grouping=grouping), tmp_path / "checkpoint")
    assert found(tmp_path / "out") == EXPECTED
    decision, *others = query.decisions()
    assert not others
    assert (decision.component, decision.action, decision.policy, decision.epoch) == ("enrich", BY_COST, grouping, 1)
    assert decision.outcome == "applied"
    assert decision.reasons[0].startswith("costs differ by item: dealing 40 rows by cost saves about ")
    assert [p.decisions[0].action if p.decisions else "" for p in query.progress] == ["", BY_COST, "", ""]
    assert "now by cost: costs differ by item" in query.explain()
    known = learned(tmp_path)
    assert known["by_cost"] is True
    assert known["cost_by"] == ["key"]
    seconds = query.progress[-1].slot_seconds["enrich"]
    assert len(seconds) == 3


@pytest.mark.usefixtures("always")
def test_a_restart_goes_on_with_what_was_learned(spark: SparkSession, tmp_path: Path) -> None:
    Batches(GIVEN.frames[:2]).write(tmp_path / "in")
    run(topology(spark, tmp_path, slow), tmp_path / "checkpoint")
    rows = from_text(learned(tmp_path)["sketch"]).executions
    Batches(GIVEN.frames[2:]).write(tmp_path / "in", first=2)
    query = run(topology(spark, tmp_path, slow, slots=2), tmp_path / "checkpoint")
    assert found(tmp_path / "out") == EXPECTED
    assert len(query.decisions()) == 1, "rows are still dealt by cost, which is no new decision"
    assert all(not p.decisions for p in query.progress)
    assert rows == 2 * ROWS
    assert from_text(learned(tmp_path)["sketch"]).executions > rows


@pytest.mark.usefixtures("always")
def test_other_cost_columns_begin_anew(spark: SparkSession, tmp_path: Path) -> None:
    Batches(GIVEN.frames[:2]).write(tmp_path / "in")
    run(topology(spark, tmp_path, slow), tmp_path / "checkpoint")
    Batches(GIVEN.frames[2:3]).write(tmp_path / "in", first=2)
    run(topology(spark, tmp_path, slow, cost_by=("key", "value")), tmp_path / "checkpoint")
    assert from_text(learned(tmp_path)["sketch"]).executions == ROWS


def test_uniform_costs_are_dealt_in_turn_and_explain_says_so(spark: SparkSession, tmp_path: Path) -> None:
    GIVEN.write(tmp_path / "in")
    query = run(topology(spark, tmp_path, by_row), tmp_path / "checkpoint")
    assert found(tmp_path / "out") == EXPECTED
    assert query.decisions() == []
    assert "now in turn: costs hardly differ by item: dealing 40 rows by cost would save 0 ms" in query.explain()


def test_it_falls_back_when_costs_become_uniform_and_comes_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_choice, "ROUTING", 0.002)
    epochs = 30
    marks = tmp_path / "uniform"

    def now_and_then(row: Any) -> Any:
        time.sleep(0.001 if marks.exists() else 0.008 if row.key == "k0" else 0.0002)
        return by_row(row)

    given = Batches.of(
        *([((e * ROWS + i) * SECOND, f"k{i % 5}", e * ROWS + i) for i in range(ROWS)] for e in range(epochs))
    )
    given.write(tmp_path / "in")

    def switch(progress: rh.Progress) -> None:
        for decision in progress.decisions:
            if decision.action == BY_COST:
                marks.touch()
            else:
                marks.unlink()

    t = topology(spark, tmp_path, now_and_then)
    query = run(t, tmp_path / "checkpoint", on_progress=switch)
    actions = [d.action for d in query.decisions()]
    assert actions[:3] == [BY_COST, IN_TURN, BY_COST], [(d.epoch, d.action, d.reasons) for d in query.decisions()]
    assert len(found(tmp_path / "out")) == epochs * ROWS


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(("function", "over"), [(slow, "rows"), (by_frame, "polars")])
def test_order_is_kept(spark: SparkSession, tmp_path: Path, function: Callable[..., Any], over: str) -> None:
    GIVEN.write(tmp_path / "in")
    t = rh.Topology("ordered")
    out = rh.sinks.memory()
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
    rows.apply("enrich", function, schema=SCHEMA, cost_by="key", slots=3, order=True, over=over).sink(out)  # type: ignore[arg-type]
    run(t, tmp_path / "checkpoint")
    assert out.frame()["value"].to_list() == [v * 2 for v in range(EPOCHS * ROWS)]
    assert out.frame().columns == ["ts", "key", "value"]


@pytest.mark.usefixtures("always")
def test_operators_and_maps_follow(spark: SparkSession, tmp_path: Path) -> None:
    """Windows, keyed state, another apply operator and a sink, all over its results."""
    GIVEN.write(tmp_path / "in")
    t = rh.Topology("chain")
    windows, again, source = rh.sinks.memory(), rh.sinks.memory(), rh.sinks.memory()
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
    rows.sink(source)
    enriched = rows.map("even", lambda df: df.where("value % 2 = 0")).apply(
        "enrich", slow, schema=SCHEMA, cost_by="key", slots=2
    )
    counted = enriched.aggregate("minutes", by="key", windows=rh.tumbling("1 minute"), n=rh.count(), s=rh.sum("value"))
    counted.sink(windows)
    mapped = enriched.map("odd_keys", lambda df: df.where("key IN ('k1', 'k3')"))
    mapped.apply("again", lambda r: [(r.key, r.value), (r.key, -r.value)], schema="key string, value bigint").sink(
        again
    )
    query = run(t, tmp_path / "checkpoint")
    given = pl.concat(GIVEN.frames).filter(pl.col("value") % 2 == 0).with_columns(value=pl.col("value") * 2)
    kept = given.filter(pl.col("key").is_in(["k1", "k3"]))["value"].to_list()
    assert sorted(again.frame()["value"].to_list()) == sorted([*kept, *(-v for v in kept)])
    closed = given.filter(pl.col("ts") < (EPOCHS * ROWS - 1) * SECOND // MINUTE * MINUTE)
    expected = closed.group_by(pl.col("ts") // MINUTE, "key").agg(n=pl.len(), s=pl.col("value").sum())
    result = windows.frame().select("key", "n", "s")
    assert sorted(result.rows()) == sorted(expected.select("key", pl.col("n").cast(pl.Int64), "s").rows())
    assert len(source.frame()) == EPOCHS * ROWS
    assert sum(p.rows for p in query.progress) == EPOCHS * ROWS


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("order", [True, False])
def test_an_epoch_may_die_after_any_step(spark: SparkSession, tmp_path: Path, order: bool) -> None:
    GIVEN.write(tmp_path / "in")
    pending = {(0, "apply"), (1, "sinks"), (2, "apply"), (2, "commit"), (3, "close")}
    for _ in range(len(pending) + 1):
        epochs = tmp_path / "checkpoint" / "epochs"
        state = {"epoch": max((int(p.stem) for p in epochs.glob("*.json")), default=-1)}

        def probe(step: str, state: dict[str, int] = state) -> None:
            if (state["epoch"] + 1, step) in pending:
                pending.discard((state["epoch"] + 1, step))
                raise RuntimeError("killed")
            state["epoch"] += step == "commit"

        t = topology(spark, tmp_path, slow, order=order)
        query = t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, probe=probe)
        with contextlib.suppress(Exception):
            query.await_termination(60)
    assert not pending
    assert found(tmp_path / "out") == EXPECTED
    text = learned(tmp_path)["sketch"]
    assert from_text(text).executions == EPOCHS * ROWS, "no execution is learned twice, and none is forgotten"


@pytest.mark.usefixtures("always")
def test_the_number_of_slots_changes_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    GIVEN.write(tmp_path / "in")
    queries: list[rh.Query] = []
    slots: list[int] = []

    def rescale(progress: rh.Progress) -> None:
        slots.append(len(progress.slot_seconds["enrich"]))
        for query in queries:
            query.rescale(1 + progress.epoch, component="enrich")

    t = topology(spark, tmp_path, slow)
    queries.append(t.start(str(tmp_path / "checkpoint"), trigger="0 seconds", on_progress=rescale))
    assert queries[0].await_epoch(EPOCHS - 1)
    queries[0].stop()
    assert found(tmp_path / "out") == EXPECTED
    assert len(set(slots)) > 1
    with pytest.raises(rh.ConfigurationError, match="slots=0 must be from 1 to 4096"):
        queries[0].rescale(0, component="enrich")


def test_rows_that_may_come_in_another_order_are_sorted_first(spark: SparkSession, tmp_path: Path) -> None:
    """After a shuffle, Spark may read rows in another order when it repeats a task."""
    GIVEN.write(tmp_path / "in")
    t = rh.Topology("shuffled")
    shuffled = read_stream(spark, tmp_path / "in").repartition(3)
    rows = t.source(shuffled, event_time="ts")
    rows.apply("enrich", by_row, schema=SCHEMA, cost_by="key").sink(rh.sinks.parquet(str(tmp_path / "out")))
    plans: list[str] = []

    def probe(step: str) -> None:
        if step == "apply":
            plans.extend(str(kept.key) for name, kept in query._job.stages._kept.items() if name == "apply enrich")

    query = t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, probe=probe)
    assert query.await_termination(120)
    assert found(tmp_path / "out") == EXPECTED
    assert plans
    assert all("SORT BY xxhash64" in plan for plan in plans)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda r: 1 / 0, r"operator 'enrich' failed: row Row\(.*\): ZeroDivisionError: division by zero"),
        (lambda r: (r.ts, r.key, "many"), "operator 'enrich' failed: an output row: column 'value' is not bigint"),
    ],
)
def test_a_wrong_function_is_named(
    spark: SparkSession, tmp_path: Path, function: Callable[..., Any], message: str
) -> None:
    Batches(GIVEN.frames[:1]).write(tmp_path / "in")
    with pytest.raises(rh.OperatorError, match=message):
        run(topology(spark, tmp_path, function), tmp_path / "checkpoint")
    query = run(topology(spark, tmp_path, by_row), tmp_path / "checkpoint")
    assert query.status.results == ROWS


@pytest.mark.slow
def test_a_repeated_task_counts_once(tmp_path: Path) -> None:
    """Slots fail in their first attempt after they have worked; a process of its own, where Spark repeats tasks."""
    GIVEN.write(tmp_path / "in")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.retrying_job", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) > 0, "tasks were repeated"
    assert found(tmp_path / "out") == EXPECTED
    assert from_text(learned(tmp_path)["sketch"]).executions == EPOCHS * ROWS
