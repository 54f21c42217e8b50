"""The metric store: readings survive reopening, are stored once, and locks have a time limit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.elysium.testbed.metric_store import BANDWIDTH, CPU, MEMORY, Batch, MetricStore
from rheostat.elastic.elysium.profiles.samples import INPUT
from rheostat.errors import CheckpointError, CheckpointInUseError

BATCH = Batch(
    traffic=[
        (0.0, "t", INPUT, 0, "a", 0, 10.0),
        (0.0, "t", "a", 0, "b", 0, 12.0),
        (0.0, "t", "a", 0, "b", 1, 8.0),
        (0.0, "other", INPUT, 0, "b", 0, 99.0),
        (10.0, "t", INPUT, 0, "a", 0, 20.0),
        (10.0, "t", "a", 0, "b", 0, 21.0),
    ],
    slots=[
        (0.0, "t", "a", 0, 0, CPU, 5.0),
        (0.0, "t", "b", 0, 0, CPU, 6.0),
        (0.0, "t", "b", 1, 1, CPU, 7.0),
        (0.0, "t", "b", 1, 1, MEMORY, 700.0),
        (10.0, "t", "b", 0, 0, CPU, 9.0),
        (0.0, "other", "b", 0, 1, CPU, 1.0),
    ],
    nodes=[(0.0, 0, CPU, 15.0), (0.0, 1, CPU, 11.0), (0.0, 1, BANDWIDTH, 3.0), (20.0, 0, CPU, 1.0)],
    loads=[(0.0, "t", 10.0), (10.0, "t", 20.0), (130.0, "t", 40.0), (0.0, "other", 5.0)],
)


@pytest.fixture
def store() -> Iterator[MetricStore]:
    with MetricStore() as opened:
        opened.record(BATCH)
        yield opened


def test_slots_are_paired_with_what_they_received(store: MetricStore) -> None:
    uses = store.slot_uses("t", "b")
    assert (uses.given.tolist(), uses.used.tolist()) == ([12.0, 8.0, 21.0], [6.0, 7.0, 9.0])
    assert store.slot_uses("t", "a").given.tolist() == [10.0]
    assert store.slot_uses("t", "b", MEMORY).used.tolist() == [700.0]
    assert store.slot_uses("t", "b", since=5.0).used.tolist() == [9.0]
    assert store.slot_uses("t", "b", until=10.0).used.tolist() == [6.0, 7.0]
    assert len(store.slot_uses("t", "nobody")) == 0


def test_nodes_are_paired_with_the_sum_of_their_slots(store: MetricStore) -> None:
    uses = store.node_uses()
    # Node 0: 5 + 6; node 1: 7 of t and 1 of the other topology. At second 20 no slot was recorded.
    assert (uses.given.tolist(), uses.used.tolist()) == ([11.0, 8.0], [15.0, 11.0])


def test_traffic_is_summed_over_slots(store: MetricStore) -> None:
    traffic = store.traffic("t")
    rows = list(zip(traffic.times, traffic.upstream, traffic.downstream, traffic.rates, strict=True))
    assert rows == [
        (0.0, INPUT, "a", 10.0),
        (0.0, "a", "b", 20.0),
        (10.0, INPUT, "a", 20.0),
        (10.0, "a", "b", 21.0),
    ]


def test_loads_are_means_by_minute_and_gaps_get_the_value_before(store: MetricStore) -> None:
    series = store.loads("t")
    assert (series.values.tolist(), series.start, series.step) == ([15.0, 15.0, 40.0], 0.0, 60.0)
    assert store.loads("t", until=100.0).values.tolist() == [15.0]
    assert store.loads("t", since=5.0).values.tolist() == [20.0, 20.0, 40.0]
    assert len(store.loads("nobody")) == 0


def test_steps_of_the_load_begin_where_they_are_asked_to(store: MetricStore) -> None:
    series = store.loads("t", origin=10.0)
    assert (series.values.tolist(), series.start) == ([10.0, 20.0, 20.0, 40.0], -50.0)


def test_sums_with_nan_readings_are_left_out(store: MetricStore) -> None:
    store.record(
        Batch(
            traffic=[(30.0, "t", "a", 0, "b", 0, np.nan), (30.0, "t", "a", 0, "b", 1, 5.0)],
            slots=[(30.0, "t", "b", 0, 0, CPU, 3.0), (30.0, "t", "b", 1, 0, CPU, np.nan)],
            nodes=[(30.0, 0, CPU, 9.0)],
            loads=[(60.0, "t", np.nan), (61.0, "t", np.inf), (62.0, "t", 7.0), (240.0, "t", np.nan)],
        )
    )
    assert 30.0 not in store.traffic("t").times
    assert store.slot_uses("t", "b", since=30.0).given.tolist() == []
    assert store.node_uses(since=30.0).given.tolist() == []
    assert store.loads("t").values.tolist() == [15.0, 7.0, 40.0]


def test_a_reading_written_twice_is_stored_once(store: MetricStore) -> None:
    before = store.slot_uses("t", "b").given.tolist(), store.node_uses().given.tolist()
    store.record(BATCH)
    assert (store.slot_uses("t", "b").given.tolist(), store.node_uses().given.tolist()) == before


def test_readings_survive_reopening(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    with MetricStore(path) as first:
        first.record(BATCH)
    with MetricStore(path) as second:
        assert second.slot_uses("t", "b").used.tolist() == [6.0, 7.0, 9.0]
        second.record(Batch(loads=[(200.0, "t", 1.0)]))
    with MetricStore(path) as third:
        assert third.loads("t").values.tolist() == [15.0, 15.0, 40.0, 1.0]


def test_a_batch_is_written_whole_or_not_at_all(store: MetricStore) -> None:
    broken = Batch(traffic=[(50.0, "t", INPUT, 0, "a", 0, 1.0)], loads=[(50.0, "t")])  # type: ignore[list-item]
    with pytest.raises(sqlite3.Error):
        store.record(broken)
    assert store.traffic("t").times.max() == 10.0
    store.record(Batch(traffic=[(50.0, "t", INPUT, 0, "a", 0, 1.0)]))
    assert store.traffic("t").times.max() == 50.0


def test_a_crash_in_the_middle_of_a_batch_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    with MetricStore(path) as store:
        store.record(BATCH)
    with closing(sqlite3.connect(path, isolation_level=None)) as dying:
        dying.execute("BEGIN IMMEDIATE")
        dying.execute("INSERT INTO load VALUES (300.0, 't', 1.0)")
    with MetricStore(path) as store:
        assert store.loads("t").values.tolist() == [15.0, 15.0, 40.0]


def test_old_readings_can_be_forgotten(store: MetricStore) -> None:
    assert store.forget(before=10.0) == 4 + 5 + 3 + 2
    assert store.slot_uses("t", "b").used.tolist() == [9.0]
    assert store.forget(before=10.0) == 0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process that writes and does not end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


def test_a_writer_gives_up_on_a_lock_after_its_time_limit(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    with MetricStore(path, timeout=0.05) as store:
        store.record(BATCH)
        with locked(path):
            with pytest.raises(CheckpointInUseError, match="more than 0.05 seconds"):
                store.record(Batch(loads=[(500.0, "t", 1.0)]))
            assert store.loads("t").values.tolist() == [15.0, 15.0, 40.0]  # readers do not wait
        store.record(Batch(loads=[(180.0, "t", 1.0)]))
        assert len(store.loads("t")) == 4


def test_files_of_a_newer_format_and_files_of_something_else_are_refused(tmp_path: Path) -> None:
    newer, other = tmp_path / "newer.sqlite", tmp_path / "other.sqlite"
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(CheckpointError, match="format 99"):
        MetricStore(newer)
    other.write_bytes(b"this is no database" * 100)
    with pytest.raises(CheckpointError, match="damaged"):
        MetricStore(other)
    with pytest.raises(CheckpointError, match="cannot be used"):
        MetricStore(tmp_path / "no" / "such" / "folder.sqlite")


readings = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 1), st.floats(0, 1e9)),
    max_size=30,
)


@settings(max_examples=50, deadline=None)
@given(readings, readings)
def test_pairs_are_those_that_a_dictionary_finds(
    slots: list[tuple[int, str, int, int, float]], rates: list[tuple[int, str, int, int, float]]
) -> None:
    used = {(t, o, s): amount for t, o, s, _, amount in slots}
    received: dict[tuple[int, str, int, int], float] = {(t, o, s, sender): rate for t, o, s, sender, rate in rates}
    with MetricStore() as store:
        store.record(
            Batch(
                traffic=[(float(t), "t", "x", sender, o, s, rate) for t, o, s, sender, rate in rates],
                slots=[(float(t), "t", o, s, node, CPU, amount) for t, o, s, node, amount in slots],
            )
        )
        found = store.slot_uses("t", "a")
    expected = [
        (sum(received[t, "a", s, n] for n in (0, 1) if (t, "a", s, n) in received), used[t, "a", s])
        for t, s in sorted({(t, s) for t, o, s in used if o == "a"} & {(t, s) for t, o, s, _ in received if o == "a"})
    ]
    np.testing.assert_allclose(np.column_stack([found.given, found.used]).reshape(-1, 2), np.reshape(expected, (-1, 2)))
