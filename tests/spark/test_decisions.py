"""Policies at the wheel of a real query: whatever they decide, however they fail, results are those of a static run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import rheostat as rh
from rheostat.cli.main import app
from rheostat.elastic.record.decision_replay import first_difference, replay_decisions
from rheostat.elastic.record.recording import Recording
from rheostat.state.inspection import inspect
from tests.spark.crashing_job import WINDOWS as JOB_WINDOWS
from tests.spark.deciding_job import DECIDES_AT
from tests.spark.drawn_policy import DrawnPlans, ScriptedSlots
from tests.spark.processors import expected_running, expected_trace, same
from tests.spark.streams import SECOND, Batches, assert_same, expected, run
from tests.spark.test_rescale import WINDOWS, result, topology

BATCHES = Batches.of(*([((e * 40 + i) * SECOND, f"k{i % 7}", i) for i in range(30)] for e in range(6)))


class Killed(RuntimeError):
    """What a fault raises."""


def assert_results(folder: Path, given_batches: Batches) -> None:
    assert same(result(folder, "running"), expected_running(given_batches))
    assert same(result(folder, "trace"), expected_trace(given_batches))
    closed = expected(given_batches, WINDOWS)
    if len(closed):
        assert_same(result(folder, "windows"), closed)


row = st.tuples(st.integers(0, 300), st.sampled_from(["a", "b", "c", "d", None, "é"]), st.integers(0, 9))


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    batches=st.lists(st.lists(row, min_size=1, max_size=25), min_size=3, max_size=6),
    dies=st.sets(st.tuples(st.integers(0, 5), st.sampled_from(["decide", "ingest", "sinks", "commit"])), max_size=3),
)
def test_results_do_not_depend_on_decisions(spark: SparkSession, seed: int, batches: Any, dies: set[Any]) -> None:
    """A policy that draws its plans; epochs die after some steps, and the query is started again."""
    given_batches = Batches.of(*([(t * SECOND, k, v) for t, k, v in rows] for rows in batches))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given_batches.write(folder / "in")
        left = {(epoch, step) for epoch, step in dies if epoch < len(batches)}
        while True:
            begun = [p.name for p in (folder / "checkpoint" / "epochs").glob("*.json")]
            at = {"epoch": max((int(n.removesuffix(".json")) for n in begun), default=-1) + 1}

            def probe(step: str, at: dict[str, int] = at) -> None:
                if (at["epoch"], step) in left:
                    left.discard((at["epoch"], step))
                    raise Killed
                at["epoch"] += step == "commit"

            policy = DrawnPlans(seed)
            query = topology(spark, folder).start(
                str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW, shards=16, slots=None, policy=policy, probe=probe
            )
            try:
                assert query.await_termination(120)
                break
            except Killed:
                continue
        assert not left
        assert_results(folder, given_batches)
        decisions = query.decisions()
        assert [d["number"] for d in inspect(str(folder / "checkpoint"))["decisions"]] == [d.number for d in decisions]
        assert {d.policy for d in decisions} <= {"drawn"}


def test_a_decision_expects_something_and_something_happens(spark: SparkSession, tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    policy = ScriptedSlots([None, 3])
    query = run(topology(spark, tmp_path), tmp_path / "checkpoint", slots=2, shards=16, policy=policy)
    assert_results(tmp_path, BATCHES)
    (decision,) = query.decisions()
    assert (decision.epoch, decision.component, decision.action, decision.slots) == (1, "by key", "scale out", (2, 3))
    assert (decision.policy, decision.reasons, decision.expected_latency) == ("scripted", ("turn 2",), 0.5)
    assert decision.outcome.startswith("observed after")
    assert decision.seconds > 0
    assert query.progress[1].decisions[0].number == decision.number
    assert [len(p.decisions) for p in query.progress] == [0, 1, 0, 0, 0, 0]
    assert [len(p.slot_seconds["by key"]) for p in query.progress] == [2, 3, 3, 3, 3, 3]
    # A quiet epoch writes nothing: there are the start, the decision and its outcome.
    assert len(list((tmp_path / "checkpoint" / "events").glob("*.json"))) == 3
    json.dumps(query.progress[1].to_dict())
    # Another run lists it too, and so does the command line.
    Batches(BATCHES.frames[:1]).write(tmp_path / "in", first=6)
    again = run(topology(spark, tmp_path), tmp_path / "checkpoint")
    assert again.decisions() == query.decisions()
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "checkpoint"), "--json"])
    (found,) = json.loads(shown.stdout)["decisions"]
    assert (found["slots"], found["reasons"], found["outcome"]) == ([2, 3], ["turn 2"], decision.outcome)
    table = CliRunner().invoke(app, ["inspect", str(tmp_path / "checkpoint")], env={"COLUMNS": "300"}).stdout
    assert "scale out" in table
    assert "latency 0.50 s" in table


def fail() -> None:
    raise ZeroDivisionError("nothing to divide by")


def test_a_policy_that_raises_is_left_out_and_the_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    policy = ScriptedSlots([fail, fail, fail, None, 3])
    options = {"slots": 2, "shards": 16, "policy": policy, "record": tmp_path / "run.jsonl"}
    query = run(topology(spark, tmp_path), tmp_path / "checkpoint", **options)
    assert_results(tmp_path, BATCHES)
    assert [p.policy_failure for p in query.progress] == ["ZeroDivisionError: nothing to divide by"] * 3 + [""] * 3
    assert [(d.epoch, d.slots) for d in query.decisions()] == [(4, (2, 3))]  # it has learned all the time
    events = inspect(str(tmp_path / "checkpoint"))["events"][1:]
    assert [(e["kind"], e["values"]["times"]) for e in events] == [
        ("policy failed", 1),
        ("policy failed", 2),
        ("policy recovered", 3),
    ]
    assert "in fail" in events[0]["values"]["trace"]
    recorded = Recording.read(tmp_path / "run.jsonl")
    assert first_difference(recorded.turns, replay_decisions(recorded, policy)) is None


def test_a_policy_that_hangs_is_left_out_and_users_are_served(spark: SparkSession, tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    release = threading.Event()
    queries: list[rh.Query] = []
    started = threading.Event()

    def hang() -> int:
        release.wait(120)
        return 5

    def on_progress(progress: rh.Progress) -> None:
        started.wait(60)
        if progress.epoch == 1:
            queries[0].rescale(3)
        if progress.epoch == 3:
            release.set()

    policy = ScriptedSlots([hang])
    query = topology(spark, tmp_path).start(
        str(tmp_path / "checkpoint"),
        trigger=rh.AVAILABLE_NOW,
        slots=2,
        shards=16,
        policy=policy,
        policy_limit="50 milliseconds",
        on_progress=on_progress,
    )
    queries.append(query)
    started.set()
    try:
        assert query.await_termination(120)
    finally:
        release.set()
    assert_results(tmp_path, BATCHES)
    failures = [p.policy_failure for p in query.progress]
    assert failures[0] == "the policy did not decide within 0.05 s"
    assert "still busy" in failures[1]
    assert [(d.policy, d.slots) for d in query.decisions() if d.policy == "user"] == [("user", (2, 3))]
    # What the stuck turn said in the end is lost; a later turn may ask for the same.
    assert all(d.epoch > 3 for d in query.decisions() if d.policy == "scripted")


def test_a_person_takes_over_and_gives_back(spark: SparkSession, tmp_path: Path) -> None:
    Batches(BATCHES.frames[:1]).write(tmp_path / "in")
    policy = ScriptedSlots([None, 4, 4, 4])
    query = topology(spark, tmp_path).start(str(tmp_path / "checkpoint"), slots=2, shards=16, policy=policy)
    try:
        assert query.await_epoch(0)
        query.pause_policy("a surge is coming")
        query.pause_policy("again")
        assert query.policy_paused
        query.rescale(3)
        Batches(BATCHES.frames[1:2]).write(tmp_path / "in", first=1)
        assert query.await_epoch(1)
        assert len(set(query.routing["by key"])) == 3
        query.resume_policy()
        assert not query.policy_paused
        Batches(BATCHES.frames[2:3]).write(tmp_path / "in", first=2)
        assert query.await_epoch(2)
        assert len(set(query.routing["by key"])) == 4
    finally:
        query.stop()
    assert [(d.policy, d.slots) for d in query.decisions()] == [("user", (2, 3)), ("scripted", (3, 4))]
    events = inspect(str(tmp_path / "checkpoint"))["events"]
    assert [e["kind"] for e in events] == ["started", "policy paused", "policy continued"]
    assert events[1]["values"]["reason"] == "a surge is coming"
    assert_results(tmp_path, Batches(BATCHES.frames[:3]))


def killed_after_deciding(spark: SparkSession, folder: Path) -> None:
    """A query that dies when the decision for epoch 1 is stored and not applied yet."""
    BATCHES.write(folder / "in")
    decided: list[str] = []

    def probe(step: str) -> None:
        decided.extend([step] if step == "decide" else [])
        if len(decided) == 2:
            raise Killed

    query = topology(spark, folder).start(
        str(folder / "checkpoint"),
        trigger=rh.AVAILABLE_NOW,
        slots=2,
        shards=16,
        policy=ScriptedSlots([None, 3]),
        probe=probe,
    )
    with pytest.raises(Killed):
        query.await_termination(60)
    assert query.status.epoch == 0


def test_a_stored_proposal_is_resumed_in_the_first_epoch(spark: SparkSession, tmp_path: Path) -> None:
    killed_after_deciding(spark, tmp_path)
    query = run(topology(spark, tmp_path), tmp_path / "checkpoint", policy=ScriptedSlots([]))
    assert_results(tmp_path, BATCHES)
    assert [len(p.slot_seconds["by key"]) for p in query.progress] == [3] * 5
    (decision,) = query.decisions()
    assert (decision.epoch, decision.slots) == (1, (2, 3))
    assert decision.outcome.startswith("observed after")
    (change,) = query.progress[0].changes
    assert "resumed: the query ended before epoch 1 was committed" in change.reason


@pytest.mark.parametrize(
    ("options", "slots", "why"),
    [
        ({"slots": 4, "policy": ScriptedSlots([])}, 4, "the query was started with slots=4"),
        ({"policy": "balance"}, 2, "scripted decided it, and the policy is balance now"),
    ],
)
def test_a_stored_proposal_that_does_not_fit_is_dropped(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], slots: int, why: str
) -> None:
    killed_after_deciding(spark, tmp_path)
    query = run(topology(spark, tmp_path), tmp_path / "checkpoint", **options)
    assert_results(tmp_path, BATCHES)
    assert len(query.progress[0].slot_seconds["by key"]) == slots
    assert query.decisions()[0].outcome.startswith("dropped: ")
    assert why in query.decisions()[0].outcome


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_driver_killed_between_decision_and_application(tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    command = [sys.executable, "-m", "tests.spark.deciding_job", str(tmp_path)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, cwd=root
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "decided\n"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
    killed = inspect(str(tmp_path / "checkpoint"))
    assert killed["epoch"] == DECIDES_AT - 1
    assert killed["epochs"][-1]["slots"]["by key"] == 2
    assert [(d["epoch"], d["slots"], d["outcome"]) for d in killed["decisions"]] == [(DECIDES_AT, [2, 3], "accepted")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=root, check=False)
    assert done.stdout.splitlines() == ["done"], done.stderr
    found = inspect(str(tmp_path / "checkpoint"))
    assert [e["slots"]["by key"] for e in found["epochs"]] == [2, 2, 3, 3, 3, 3]
    assert [e["kind"] for e in found["events"]] == ["started", "proposal resumed", "started"]
    assert found["decisions"][0]["outcome"].startswith("observed after")
    out = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert_same(out, expected(BATCHES, JOB_WINDOWS, slack=20 * SECOND))
    assert same(result(tmp_path, "running"), expected_running(BATCHES))


def test_ranges_and_promises_that_make_no_sense(spark: SparkSession, tmp_path: Path) -> None:
    Batches.of([(0, "a", 1)]).write(tmp_path / "in")
    for options, message in (
        ({"slots": (1, 4)}, "policy 'static' takes no range of slots"),
        ({"slots": (4, 1), "policy": "streamswitch"}, "the fewest come first"),
        ({"slots": (1, 9000), "policy": "streamswitch"}, "between 1 and 8192 slots"),
        ({"slo": "1 second"}, "is not a promise"),
        ({"policy_limit": "0 seconds"}, "policy_limit"),
    ):
        with pytest.raises(rh.ConfigurationError, match=message):
            topology(spark, tmp_path).start(str(tmp_path / "checkpoint"), **options)
        assert not (tmp_path / "checkpoint").exists()
    with pytest.raises(rh.ConfigurationError, match="between 1 and 16 slots"):
        topology(spark, tmp_path).start(
            str(tmp_path / "checkpoint"), shards=16, slots=(1, 32), policy="streamswitch", slo=rh.Latency("1 second")
        )
