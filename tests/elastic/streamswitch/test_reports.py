"""What tasks report: seconds by shard, lines that travel through Spark; and what time it is where streams meet."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import CheckpointError
from rheostat.spark.epoch.clocks import batch_time, with_clocks
from rheostat.spark.stage.task_reports import PartReport, ResultFile, TableReport
from rheostat.state.files import Folder
from tests.state.builders import segment

SHARDS = st.lists(st.integers(0, 15), min_size=1, max_size=40).map(np.array)


@settings(max_examples=100, deadline=None)
@given(SHARDS, st.floats(0.001, 100))
def test_seconds_are_spread_over_shards_by_rows(shards: np.ndarray, seconds: float) -> None:
    report = PartReport("by a", 0)
    report.spend(shards, seconds)
    assert set(report.shards) == set(shards.tolist())
    assert sum(report.shards.values()) == pytest.approx(seconds, abs=1e-5)
    for shard, spent in report.shards.items():
        assert spent == pytest.approx(seconds * (shards == shard).mean(), abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(SHARDS, st.floats(0, 10), st.floats(0, 10))
def test_what_was_measured_counts_and_the_rest_is_spread(shards: np.ndarray, key: float, rest: float) -> None:
    measured = np.zeros(16)
    measured[shards[0]] = key
    report = PartReport("by a", 0)
    report.spend(shards, key + rest, measured)
    assert sum(report.shards.values()) == pytest.approx(key + rest, abs=1e-5)
    mine = key + rest * float((shards == shards[0]).mean())
    assert report.shards.get(int(shards[0]), 0.0) == pytest.approx(mine, abs=1e-6)


def test_more_measured_than_spent_is_taken_as_it_is() -> None:
    report = PartReport("by a", 0)
    report.spend(np.array([0, 1]), 1.0, np.array([3.0, 0.0]))
    assert report.shards == {0: 3.0}


def test_no_rows_cost_nothing_and_costs_add_up() -> None:
    report = PartReport("by a", 0)
    report.spend(np.array([], dtype=np.int64), 5.0)
    assert report.shards == {}
    report.spend(np.array([2]), 1.0)
    report.spend(np.array([2, 3]), 1.0)
    assert report.shards == {2: 1.5, 3: 0.5}


def test_the_busiest_key_of_all_operators_is_kept() -> None:
    report = PartReport("by a", 0)
    for found in ((0, "a=1", 0.2), (1, "a=2", 0.6), (2, "a=3", 0.4)):
        report.note_hottest(found)
    assert report.hottest == (1, "a=2", 0.6)


def test_a_report_survives_a_way_through_json() -> None:
    full = PartReport(
        "by a",
        3,
        seconds=1.25,
        tables={
            "t": TableReport(segment=segment("s.arrow", 4, 10, 99), rows=7, partials=2, late=1, max_time=-5),
            "u": TableReport(),
        },
        results=[ResultFile("w", "part-0.parquet", 9)],
        shards={0: 0.5, 12: 0.25},
        hottest=(12, "a='ü'", 0.5),
        fetched=100,
        migrated=40,
    )
    for report in (full, PartReport("global", 0)):
        line = report.to_json()
        assert "\n" not in line
        assert PartReport.from_json(line) == report


def test_arrivals_survive_too() -> None:
    report = PartReport("by a", 0, tables={"t": TableReport(arrivals=[(1.5, 3)])})
    ((when, rows),) = PartReport.from_json(report.to_json()).tables["t"].arrivals
    assert (when, rows) == (1.5, 3)


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
