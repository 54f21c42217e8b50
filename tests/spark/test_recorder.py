"""Recording a running query: what its policy saw and decided, decided again bit for bit."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.elastic.loop.turn import Control, Turn
from rheostat.elastic.model.plan import STAY
from rheostat.elastic.record.decision_replay import first_difference, replay_decisions
from rheostat.elastic.record.recording import Recording
from rheostat.simulate.replay.recorded_load import RecordedLoad
from rheostat.simulate.replay.replay_error import ReplayError
from rheostat.simulate.replay.run_figures import RunFigures
from rheostat.simulate.replay.what_if import replay_plans, replay_slots
from rheostat.spark.recorder import Recorder
from tests.elastic.record.test_recording import HEADER, PLAN, seen
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, running
from tests.spark.streams import SECOND, Batches, read_stream

SKEWED = [[(n * SECOND, f"k{n * n % 7}", n) for n in range(40)] for _ in range(6)]


def topology(spark: SparkSession, folder: Path) -> rh.Topology:
    t = rh.Topology("recorded")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts")
    rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(rh.sinks.memory())
    return t


def test_a_recorded_run_is_decided_again_bit_for_bit(spark: SparkSession, tmp_path: Path) -> None:
    Batches.of(*SKEWED[:3]).write(tmp_path / "in")
    policy, path = rh.policies.Balance(threshold=1.05, ahead=True), tmp_path / "run.jsonl"
    query = topology(spark, tmp_path).start(
        str(tmp_path / "checkpoint"), slots=3, shards=16, policy=policy, record=path
    )
    try:
        assert query.await_epoch(2, 60)
        query.rescale(2)
        Batches.of(*SKEWED[3:]).write(tmp_path / "in", first=3)
        assert query.await_epoch(5, 60)
    finally:
        query.stop()
    recording = Recording.read(path)
    assert (recording.header.topology, recording.header.policy) == ("recorded", "balance")
    assert recording.header.settings["threshold"] == "1.05"
    assert [(c.name, c.shards, c.level) for c in recording.header.components] == [("by key", 16, 0)]
    assert [t.epoch for t in recording.turns] == list(range(6))
    assert [r.asked for t in recording.turns for r in t.asked] == ["rescale"]
    moves = [r for t in recording.turns for r in t.accepted if not r.asked]
    assert moves, "nothing to compare: the policy decided nothing"
    assert recording.turns[-1].plan.slots() == {"by key": 2}
    again = replay_decisions(recording, policy)
    assert first_difference(recording.turns, again) is None
    assert first_difference(recording.turns, replay_decisions(recording, rh.policies.Static())) is not None
    for before, after in zip(recording.turns, recording.turns[1:], strict=False):
        assert after.observation.epoch == before.epoch
        work = after.observation.operators["by key"].work
        assert len(work) == 16
        assert np.isfinite(work).all()
        assert work.sum() > 0


def test_a_recorded_run_is_replayed_with_its_own_rows_and_lengths(spark: SparkSession, tmp_path: Path) -> None:
    """Promised, scaled by StreamSwitch, recorded; then simulated with the same plans, and with others."""
    batches = Batches.of(*([(n * SECOND, f"k{n % 50}", n) for n in range(300)] for _ in range(10)))
    batches.write(tmp_path / "in")
    promise, path = rh.Latency("1 minute"), tmp_path / "run.jsonl"
    query = topology(spark, tmp_path).start(
        str(tmp_path / "checkpoint"), slots=(1, 3), shards=16, slo=promise, record=path
    )
    try:
        assert query.await_epoch(9, 90)
    finally:
        query.stop()
    recording = Recording.read(path)
    assert recording.header.slots == (1, 3)
    assert str(recording.header.promise) == str(promise)
    load = RecordedLoad.of(recording)
    assert [o.operators["by key"].rows.sum() for o in load.seen] == [300.0] * len(load.seen)
    assert len(load.seen) >= 8
    again = replay_plans(recording, load)
    assert sum(t.observation.operators["by key"].rows.sum() for t in again.turns) == 300 * len(load.seen)
    error = ReplayError.between(recording, again, promise)
    assert error.epoch_seconds < 1.0, "lengths of tiny epochs vary, but not by this much"
    assert RunFigures.of(replay_slots(recording, 3, load), promise).slots == pytest.approx(3)
    policy = rh.policies.policy_for_spark("streamswitch", promise, (1, 3))
    assert first_difference(recording.turns, replay_decisions(recording, policy)) is None


def test_a_query_is_recorded_from_any_epoch_on(spark: SparkSession, tmp_path: Path) -> None:
    Batches.of(*SKEWED[:2]).write(tmp_path / "in")
    query = topology(spark, tmp_path).start(str(tmp_path / "checkpoint"), slots=2, shards=16)
    try:
        assert query.await_epoch(1, 60)
        query.record(tmp_path / "later.jsonl")
        with pytest.raises(rh.ConfigurationError, match=r"recorded to .*later.jsonl already"):
            query.record(tmp_path / "other.jsonl")
        Batches.of(*SKEWED[2:4]).write(tmp_path / "in", first=2)
        assert query.await_epoch(3, 60)
    finally:
        query.stop()
    recording = Recording.read(tmp_path / "later.jsonl")
    assert [t.epoch for t in recording.turns] == [2, 3]
    assert not recording.header.complete


def test_a_file_that_exists_is_kept_and_the_checkpoint_is_released(spark: SparkSession, tmp_path: Path) -> None:
    Batches.of(*SKEWED[:1]).write(tmp_path / "in")
    (tmp_path / "run.jsonl").write_text("mine")
    with pytest.raises(rh.ConfigurationError, match=r"run.jsonl': the file exists; name a new one"):
        topology(spark, tmp_path).start(str(tmp_path / "checkpoint"), record=tmp_path / "run.jsonl")
    with pytest.raises(rh.ConfigurationError, match="No such file or directory"):
        topology(spark, tmp_path).start(str(tmp_path / "checkpoint"), record=tmp_path / "no folder" / "run.jsonl")
    assert (tmp_path / "run.jsonl").read_text() == "mine"
    query = topology(spark, tmp_path).start(str(tmp_path / "checkpoint"), record=tmp_path / "new.jsonl")
    query.stop()


class FullDisk:
    """A file that cannot be written any more."""

    def write(self, text: str) -> None:
        raise OSError(28, "No space left on device")

    def close(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_full_disk_ends_the_recording_and_not_the_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr(Path, "open", lambda *_, **__: FullDisk())
    with pytest.warns(UserWarning, match="No space left on device; the recording ends, the query goes on"):
        recorder.begin(tmp_path / "run.jsonl", HEADER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorder.add(0, seen(), PLAN, Turn(Control.start(rh.policies.Static(), PLAN), None, (), (), STAY))
        recorder.close()


def test_a_new_recording_may_follow(tmp_path: Path) -> None:
    recorder = Recorder()
    for name in ("one", "two"):
        recorder.begin(tmp_path / name, HEADER)
        recorder.close()
        assert Recording.read(tmp_path / name).header.topology == "lending"
