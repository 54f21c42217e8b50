"""``rheostat simulate --replay``: its figures, its figure, and errors for what it cannot do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rheostat.cli.main import app
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import Balance, Static, policy_for_spark
from rheostat.elastic.record.recording import LineWriter, Recording
from rheostat.errors import ConfigurationError
from rheostat.simulate.replay.replay_report import decides_again, notes_on, replay_report
from tests.simulate.replay.worlds import World

PROMISE = Latency("2 seconds", over="1 second")
SWITCH = policy_for_spark("streamswitch", PROMISE, (1, 16))


def write(recording: Recording, path: Path) -> Path:
    lines = LineWriter()
    path.write_text("\n".join([lines.header(recording.header), *map(lines.turn, recording.turns)]) + "\n")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(World(SWITCH, seconds=60.0).recording(), tmp_path_factory.mktemp("runs") / "run.jsonl")


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


def test_policies_and_slots_side_by_side_as_json(run: Path, tmp_path: Path) -> None:
    plot = tmp_path / "replay.svg"
    result = invoke("--replay", run, "--policy", "drs-lb", "--policy", "static", "--slots", 6, "--plot", plot, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert list(report["runs"]) == ["recorded", "replayed", "drs-lb", "static", "6 slots"]
    assert report["runs"]["6 slots"]["slots"] == pytest.approx(6)
    assert report["decides_again"] is True
    assert report["error"]["epoch_seconds"] < 0.05
    assert report["promise"] == {"seconds": 2.0, "window": 1.0}
    assert "recorded" in plot.read_text()


def test_a_table_for_people(run: Path, tmp_path: Path) -> None:
    result = invoke("--replay", run, "--policy", "streamswitch", "--slo", "5 seconds", "--plot", tmp_path / "r.svg")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    for part in ("within 5 s over 1 s", "error of the replay: epochs", "bit for bit", "fewest fixed slots", "figure:"):
        assert part in text
    assert "streamswitch: " in text


def test_a_recording_without_a_promise_has_no_success(run: Path, tmp_path: Path, capsys: Any) -> None:
    recording = Recording.read(run)
    bare = write(Recording(replace(recording.header, bound=float("nan")), recording.turns), tmp_path / "bare.jsonl")
    replay_report(bare, [], [3], None, tmp_path / "bare.svg", as_json=True)
    report = json.loads(capsys.readouterr().out)
    assert report["hindsight_slots"] is None
    assert report["runs"]["3 slots"]["success"] is None
    assert report["runs"]["3 slots"]["latency"] > 0


def test_other_decisions_are_told_apart(run: Path) -> None:
    recording = Recording.read(run)
    assert decides_again(recording) is True
    turns = tuple(replace(t, accepted=()) for t in recording.turns)
    assert decides_again(Recording(recording.header, turns)) is False
    assert decides_again(Recording(replace(recording.header, complete=False), turns)) is None
    assert decides_again(Recording(replace(recording.header, policy="my own"), turns)) is None
    own = World(Balance(threshold=3.0), seconds=5.0).recording()
    assert decides_again(own) is None


def test_notes_say_what_the_run_cannot_tell(run: Path) -> None:
    assert notes_on(Recording.read(run)) == []
    fixed = World(Static(), seconds=10.0).recording()
    assert "never changed its slots" in notes_on(fixed)[0]
    behind = [replace(t, observation=replace(t.observation, behind=5.0)) for t in fixed.turns]
    assert "held rows back" in notes_on(Recording(fixed.header, tuple(behind)))[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either a scenario or --replay"),
        (("scenarios/epochs.toml", "--replay", "RUN"), "give either a scenario or --replay"),
        (("scenarios/epochs.toml", "--slots", "3"), "it belongs to --replay"),
        (("scenarios/epochs.toml", "--policy", "drs", "--policy", "static"), "a scenario runs one policy"),
        (("--replay", "RUN", "--seconds", "3"), "it belongs to a scenario"),
        (("--replay", "RUN", "--slots", "0"), "equal to 1"),
        (("--replay", "no such file"), "does not exist"),
    ],
)
def test_options_that_do_not_fit_are_refused(run: Path, arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*(str(run) if a == "RUN" else a for a in arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 1\n", "other.jsonl is not a recording: make one with start"),
        ('{"rheostat recording": 99}\n', "has format 99 of recordings"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "other.jsonl").write_text(text)
    result = invoke("--replay", tmp_path / "other.jsonl")
    assert isinstance(result.exception, ConfigurationError)
    assert message in str(result.exception)


def test_an_unknown_policy_and_too_many_slots_are_refused(run: Path) -> None:
    assert "policy 'best' is not known" in str(invoke("--replay", run, "--policy", "best").exception)
    assert "between 1 and 32 slots" in str(invoke("--replay", run, "--slots", 33).exception)
