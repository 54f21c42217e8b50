"""What tasks report: seconds by shard, lines that travel through Spark; and what time it is where streams meet."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import CheckpointError
from rheostat.spark.epoch.clocks import batch_time, with_clocks
from rheostat.spark.shard_sums import ShardSums, weighted_quantiles
from rheostat.spark.stage import shard_tally
from rheostat.spark.stage.shard_tally import ShardTally
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport, ResultFile, TableReport, TaskUsage
from rheostat.state.files import Folder
from tests.state.builders import segment

SHARDS = st.lists(st.integers(0, 15), min_size=1, max_size=40).map(np.array)


def seconds_of(tally: ShardTally) -> dict[int, float]:
    records = tally.records()
    return dict(zip(records["shard"].tolist(), records["seconds"].tolist(), strict=True))


@settings(max_examples=100, deadline=None)
@given(SHARDS, st.floats(0.001, 100))
def test_seconds_are_spread_over_shards_by_rows(shards: np.ndarray, seconds: float) -> None:
    tally = ShardTally()
    tally.spread(seconds=seconds / 2)
    tally.spend(shards, seconds / 2)
    spent = seconds_of(tally)
    assert set(spent) == set(shards.tolist())
    for shard, mine in spent.items():
        assert mine == pytest.approx(seconds * (shards == shard).mean())


@settings(max_examples=100, deadline=None)
@given(SHARDS, st.floats(0, 10), st.floats(0, 10))
def test_what_was_measured_counts_and_the_rest_is_spread(shards: np.ndarray, key: float, rest: float) -> None:
    measured = np.zeros(16)
    measured[shards[0]] = key
    tally = ShardTally()
    tally.spend(shards, key + rest, measured)
    spent = seconds_of(tally)
    assert sum(spent.values()) == pytest.approx(key + rest, abs=1e-9)
    mine = key + rest * float((shards == shards[0]).mean())
    assert spent.get(int(shards[0]), 0.0) == pytest.approx(mine, abs=1e-9)


def test_more_measured_than_spent_is_taken_as_it_is() -> None:
    tally = ShardTally()
    tally.spend(np.array([0, 1]), 1.0, np.array([3.0, 0.0]))
    assert seconds_of(tally) == {0: 3.0}


def test_no_rows_cost_nothing_and_costs_add_up() -> None:
    tally = ShardTally()
    tally.spend(np.array([], dtype=np.int64), 5.0)
    tally.spread(seconds=5.0, size=7)
    assert seconds_of(tally) == {}
    tally = ShardTally()
    tally.spend(np.array([2]), 1.0)
    tally.spend(np.array([2, 3]), 1.0)
    assert seconds_of(tally) == {2: 1.5, 3: 0.5}


WEIGHTED = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 20), st.none() | st.integers(0, 10**9)), min_size=1, max_size=60
)


@settings(max_examples=200, deadline=None)
@given(WEIGHTED, st.booleans())
def test_arrival_times_by_shard_are_those_of_the_rows(partials: list[tuple[int, int, int | None]], many: bool) -> None:
    """Against every row written out, and with so few exact values allowed that they are counted in bins."""
    now, base = 1.8e15, 1_700_000_000_000_000
    shards, rows, times = (np.array(column) for column in zip(*partials, strict=True))
    arrival = np.array([np.nan if t is None else base + t for t in times.tolist()])
    tally = ShardTally()
    tally.receive("s", shards, rows=rows, size=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_tally, "_SORTED", 0.0 if many else 1.0)
        tally.receive("s", shards, rows=rows, arrival=arrival, size=20)
        sums = ShardSums.of([PartReport("c", 0, shards=tally.records())], 10)
    spread = np.nanmax(arrival) - np.nanmin(arrival) if np.isfinite(arrival).any() else 0.0
    for shard in range(10):
        mine = shards == shard
        assert sums.rows[shard] == rows[mine].sum()
        written = np.repeat(arrival[mine], rows[mine])
        written = written[np.isfinite(written)]
        assert sums.timed[shard] == len(written)
        if not len(written):
            assert np.isnan(sums.latency(now)[shard])
            continue
        assert sums.latency(now)[shard] == pytest.approx((now - written).mean() / 1e6, abs=1e-5)
        for found, share in zip(sums.quantiles(now), (0.5, 0.99), strict=True):
            exact = np.quantile((now - written) / 1e6, share, method="inverted_cdf")
            assert found[shard] == pytest.approx(exact, abs=1e-5 + spread / 1e6 * (1e-4 if many else 1e-7))


def test_a_stream_that_several_tables_read_counts_once() -> None:
    tally = ShardTally()
    tally.receive("loans", np.array([1, 1]), size=10)
    tally.receive("loans", np.array([1]), rows=np.array([2]), arrival=np.array([5.0]), size=10)
    tally.receive("loans", np.array([1, 1]), size=10)
    tally.receive("users", np.array([1]), arrival=np.array([8.0]), size=10)
    (record,) = tally.records()
    assert (record["rows"], record["timed"], record["arrival"], record["bytes"]) == (3, 3, 6.0, 40.0)


def test_tasks_that_saw_the_same_shard_are_merged() -> None:
    reports = []
    for arrivals in ([0.0] * 60, [2e6] * 40):
        tally = ShardTally()
        tally.receive("s", np.zeros(len(arrivals), np.int64), arrival=np.array(arrivals))
        tally.spend(np.zeros(1, np.int64), 1.0)
        reports.append(PartReport("c", 0, shards=tally.records()))
    reports[1].slot = NO_SLOT
    sums = ShardSums.of(reports, 2)
    (p50, _), (p99, nothing) = sums.quantiles(3e6)
    assert (sums.latency(3e6)[0], p50, p99) == (pytest.approx(2.2), 3.0, 3.0)
    assert np.isnan(nothing)
    summary = sums.summary(3e6)
    assert summary.mean == pytest.approx(2.2)
    assert (summary.rows, summary.p50, summary.p99) == (100, 3.0, 3.0)
    assert sums.points(3e6)[0].max() == 3.0
    assert sums.seconds.tolist() == [1.0, 0.0]  # one of them works in no slot


def test_the_busiest_key_of_all_operators_is_kept() -> None:
    report = PartReport("by a", 0)
    for found in ((0, "a=1", 0.2), (1, "a=2", 0.6), (2, "a=3", 0.4)):
        report.note_hottest(found)
    assert report.hottest == (1, "a=2", 0.6)


def test_a_report_survives_its_way_to_the_driver() -> None:
    written = replace(segment("s.arrow", 4, 10, 99), held=np.array([0, 3, 7]))
    full = PartReport(
        "by a",
        3,
        seconds=1.25,
        reading=0.25,
        tables={
            "t": TableReport(segment=written, rows=7, partials=2, late=1, max_time=-5),
            "u": TableReport(),
            "v": TableReport(segment=replace(written, held=np.array([10]))),
        },
        results=[ResultFile("w", "part-0.parquet", 9)],
        hottest=(12, "a='ü'", 0.5),
        fetched=100,
        migrated=40,
        usage=TaskUsage(cpu=0.5, queued=0.2, memory=1e6, host="h", executor="3", machine="m", processors=8),
    )
    full.tally.receive("s", np.array([0, 12]), arrival=np.array([1.0, np.nan]), size=8)
    full.tally.spend(np.array([0, 12]), 1.0)
    for report in (full, PartReport("global", 0)):
        line, data = report.to_wire()
        assert "\n" not in line
        there = PartReport.from_wire(line, data)
        assert there.shards.tobytes() == report.tally.records().tobytes()
        for name in ("component", "slot", "seconds", "reading", "results", "hottest", "fetched", "migrated"):
            assert getattr(there, name) == getattr(report, name)
        assert {n: t.segment for n, t in there.tables.items()} == {n: t.segment for n, t in report.tables.items()}
    there = PartReport.from_wire(*full.to_wire())
    held = {n: None if t.held is None else t.held.tolist() for n, t in there.tables.items()}
    assert held == {"t": [0, 3, 7], "u": None, "v": [10]}
    assert (there.usage, there.useful, there.tables["t"].max_time) == (full.usage, 1.0, -5)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), st.none() | st.integers(-9, 9), min_size=1), st.data())
def test_a_clock_follows_the_slowest_of_its_sources(watermarks: dict[str, int | None], data: st.DataObject) -> None:
    joined = data.draw(st.lists(st.sets(st.sampled_from(sorted(watermarks)), min_size=1), max_size=3))
    clocks = ["+".join(sorted(sources)) for sources in joined]
    known = with_clocks(watermarks, clocks)
    assert set(known) == {*watermarks, *clocks}
    for clock in known:
        parts = [watermarks[s] for s in clock.split("+")]
        passed = [p for p in parts if p is not None]
        assert known[clock] == (min(passed) if len(passed) == len(parts) else None)


def test_an_epoch_began_when_spark_says(tmp_path: Path) -> None:
    entry = {"batchWatermarkMs": 0, "batchTimestampMs": 1_700_000_000_123, "conf": {}}
    (tmp_path / "7").write_text(f'v1\n{json.dumps(entry)}\n{{"logOffset":0}}')
    assert batch_time(Folder.at(tmp_path), 7) == 1_700_000_000_123_000


@pytest.mark.parametrize("text", [None, "", "v1", "v1\n{}", "v1\nnot json", 'v1\n{"batchTimestampMs": "soon"}'])
def test_a_log_entry_that_does_not_say_it_is_named(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "7").write_text(text)
    with pytest.raises(CheckpointError, match=f"{tmp_path}/7"):
        batch_time(Folder.at(tmp_path), 7)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(1, 9)), min_size=1, max_size=60), st.floats(0.01, 1))
def test_quantiles_by_weight_are_those_of_the_values_written_out(pairs: list[tuple[float, int]], share: float) -> None:
    values, weights = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    (found,) = weighted_quantiles(values, weights, (share,))
    every = np.sort(np.repeat(values, weights.astype(int)))
    assert found == every[int(np.ceil(share * len(every) - 1e-9)) - 1]
