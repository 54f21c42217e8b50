"""Recorded loads: all formats are read and gaps are filled; without recorded loads, synthetic ones are used."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from rheostat.elastic.elysium.forecasts.series import DAY, WEEK
from rheostat.errors import ConfigurationError
from rheostat.workloads.load_traces import folder, loads, read, synthetic

DATA = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[3] / "shared" / "data"))
recorded = pytest.mark.skipif(not (DATA / "load").is_dir(), reason="RHEOSTAT_DATA names no folder with recorded loads")


def written(folder: Path, text: str) -> Path:
    path = folder / "some.csv"
    path.write_text(text)
    return path


def test_times_with_a_gap_get_the_value_before_it(tmp_path: Path) -> None:
    found = read(
        written(
            tmp_path,
            "period,count\n1998-04-30 21:30:00,2\n1998-04-30 21:31:00,11\n"
            "1998-04-30 21:34:00,16\n1998-04-30 21:35:00,1\n",
        )
    )
    assert found.values.tolist() == [2, 11, 11, 11, 16, 1]
    assert found.step == 60.0
    assert found.start == 893_971_800.0  # 1998-04-30 21:30 UTC


def test_minutes_in_which_nothing_was_collected_get_the_value_before_them(tmp_path: Path) -> None:
    text = "minute_index,tweets,min_per_s,max_per_s\n0,27,3,6\n1,0,0,0\n2,0,0,0\n3,30,4,7\n4,0,0,0\n"
    found = read(written(tmp_path, text))
    assert found.values.tolist() == [27, 27, 27, 30, 30]


def test_an_empty_minute_of_a_file_that_only_counts_is_a_count_of_zero(tmp_path: Path) -> None:
    text = "timestamp,value\n2015-02-26 21:42:53,104\n2015-02-26 21:47:53,0\n2015-02-26 21:52:53,9\n"
    found = read(written(tmp_path, text))
    assert (found.values.tolist(), found.step) == ([104, 0, 9], 300.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a header"),
        ("a,b\n", "needs a header"),
        ("a,b\nx,1\n", "is not a load"),
        ("a,b\n0,x\n1,2\n", "is not a load"),
        ("a,b\n5,1\n4,2\n", "ascending"),
    ],
)
def test_what_is_no_load_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(written(tmp_path, text))


def test_the_environment_names_the_folder_and_an_argument_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RHEOSTAT_DATA", raising=False)
    assert folder() is None
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        (place / "load").mkdir(parents=True)
        written(place / "load", "a,b\n0,1\n1,2\n")
    monkeypatch.setenv("RHEOSTAT_DATA", str(here))
    assert folder() == here / "load"
    assert folder(there) == there / "load"
    found = loads()
    assert (list(found.series), found.recorded) == (["some"], True)


def test_without_a_folder_synthetic_loads_stand_in_and_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RHEOSTAT_DATA", str(tmp_path))
    found = loads(seed=1)
    assert not found.recorded
    assert "synthetic" in found.note
    assert len(found.series) == 3
    np.testing.assert_array_equal(
        found.series["synthetic minutes"].values, loads(seed=1).series["synthetic minutes"].values
    )


def test_synthetic_loads_have_days_weeks_and_bursts() -> None:
    found = synthetic(days=56, step=1800.0, seed=1)
    logs = np.log(found.values + 1)
    a_day, odd = (np.corrcoef(logs[:-lag], logs[lag:])[0, 1] for lag in (found.cycle(DAY), found.cycle(DAY) // 2))
    assert a_day > 0.7
    assert odd < 0
    by_week = logs[: 8 * found.cycle(WEEK)].reshape(8, 7, -1).mean(axis=(0, 2))
    assert by_week[:5].min() > by_week[5:].max()
    ratio = found.values[1:] / np.maximum(found.values[:-1], 1)
    calm = synthetic(days=56, step=1800.0, seed=1, bursts=0.0).values
    assert ratio.max() > 1.5 * (calm[1:] / np.maximum(calm[:-1], 1)).max()


@recorded
def test_all_recorded_loads_are_read() -> None:
    found = loads(DATA).series
    assert found["worldcup98_requests_per_minute"].values.max() == 229_426
    assert found["nyc_taxi"].step == 1800.0
    tweets = found["twitter_stream_202108_tweets_per_minute"]
    assert len(tweets) == 31_651
    assert tweets.values.min() > 0
