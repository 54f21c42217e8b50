"""Recordings: whatever is recorded comes back bit for bit, and damaged or foreign files are told apart."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import LatencySummary, Observation, OperatorObservation, TopologyObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan, Proposal, Revision, Subspaces
from rheostat.elastic.policies import Balance, Static
from rheostat.elastic.record.array_codec import ArrayReader, ArrayWriter
from rheostat.elastic.record.recording import (
    FORMAT,
    Header,
    LineWriter,
    RecordedComponent,
    RecordedTurn,
    Recording,
    settings_of,
)
from rheostat.elastic.record.value_codec import from_json, recorded_fields, to_json
from rheostat.errors import ConfigurationError
from tests.elastic.record.values import values_of
from tests.elastic.situations import frozen

PLAN = Plan({"by area": OperatorPlan.even(8, 2)}, 1)
HEADER = Header(topology="lending", components=(RecordedComponent("by area", 8),), plan=PLAN, policy="static")
SOME = settings(max_examples=60, suppress_health_check=list(HealthCheck))


def seen(epoch: int = 0) -> Observation:
    rows = np.arange(8.0) * epoch
    counted = OperatorObservation(plan=PLAN.operators["by area"], arrived=rows, completed=rows, useful=np.ones(2))
    return Observation(time=float(epoch), seconds=1.0, operators={"by area": counted}, cores=np.array([2]), epoch=epoch)


def lines(*turns: RecordedTurn, header: Header = HEADER) -> list[str]:
    writer = LineWriter()
    return [writer.header(header), *map(writer.turn, turns)]


def turns(count: int) -> list[RecordedTurn]:
    return [RecordedTurn(epoch=n, observation=seen(n), plan=PLAN) for n in range(count)]


# Round trips


@SOME
@given(st.lists(values_of(RecordedTurn), min_size=1, max_size=3), values_of(Header))
def test_everything_that_is_recorded_comes_back_bit_for_bit(recorded: list[RecordedTurn], header: Header) -> None:
    again = Recording.of(lines(*recorded, header=header))
    assert frozen(again.header) == frozen(header)
    assert frozen(again.turns) == frozen(tuple(recorded))


KINDS = (
    Observation,
    OperatorObservation,
    TopologyObservation,
    LatencySummary,
    EpochLaw,
    Plan,
    OperatorPlan,
    Subspaces,
    Revision,
    Proposal,
    RecordedTurn,
    Header,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_field_is_left_out(kind: Any) -> None:
    """A field that the constructor does not take, or of a type that the codec does not know, would be."""
    assert [f.name for f, _ in recorded_fields(kind)] == [f.name for f in fields(kind)]

    @settings(SOME, max_examples=5)
    @given(values_of(kind))
    def round_trip(value: Any) -> None:
        written = json.loads(json.dumps(to_json(kind, value, ArrayWriter()), allow_nan=False))
        assert list(written) == [f.name for f in fields(kind)]
        assert frozen(from_json(kind, written, ArrayReader())) == frozen(value)

    round_trip()


KINDS_OF_ARRAYS = st.sampled_from([np.dtype(kind) for kind in ("<f8", "<i8", "?", "<i4", ">f8")])


@SOME
@given(npst.arrays(KINDS_OF_ARRAYS, npst.array_shapes(max_dims=2, min_side=0)))
def test_arrays_come_back_bit_for_bit(array: Any) -> None:
    again = ArrayReader().array(json.loads(json.dumps(ArrayWriter().text(array))))
    assert again.shape == array.shape
    assert again.astype(array.dtype).tobytes() == array.tobytes()
    assert again.dtype.isnative


def test_an_array_of_objects_is_refused() -> None:
    with pytest.raises(TypeError, match="numbers or booleans"):
        ArrayWriter().text(np.array([None]))


def test_a_type_that_cannot_be_recorded_is_an_error_and_no_gap() -> None:
    @dataclass(frozen=True)
    class Odd:
        what: complex

    with pytest.raises(TypeError, match="cannot be recorded"):
        to_json(complex, 1j, ArrayWriter())


# Size


def test_arrays_that_stay_the_same_are_written_once() -> None:
    """8,192 shards: a routing table and costs that do not change cost next to nothing from the second epoch on."""
    shards = 8192
    plan = Plan({"by area": OperatorPlan(np.random.default_rng(1).integers(0, 16, shards), np.zeros(16, dtype=int))}, 1)
    cost = np.random.default_rng(2).random(shards)
    part = OperatorObservation(
        plan=plan.operators["by area"], arrived=cost, completed=cost, useful=np.ones(16), cost=cost
    )
    observation = replace(seen(), operators={"by area": part})
    written = lines(*[RecordedTurn(epoch=n, observation=observation, plan=plan) for n in range(4)])
    assert len(written[1]) > 30_000
    assert all(len(line) < 3_000 for line in written[2:])
    again = Recording.of(written).turns[-1]
    assert again.observation.operators["by area"].completed.tobytes() == cost.tobytes()


def test_what_was_never_measured_is_short() -> None:
    empty = np.full(8192, np.nan)
    part = replace(seen().operators["by area"], latency=empty, state=empty, p99=np.zeros(8192))
    line = lines(RecordedTurn(epoch=0, observation=replace(seen(), operators={"by area": part}), plan=PLAN))[1]
    assert len(line) < 3_000


# Files


def test_a_file_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(lines(*turns(3))) + "\n")
    again = Recording.read(path)
    assert [t.epoch for t in again.turns] == [0, 1, 2]
    assert frozen(again.turns[2].observation) == frozen(seen(2))


@given(st.integers(1, 400))
@settings(max_examples=20)
def test_a_torn_last_line_is_ignored(missing: int) -> None:
    written = lines(*turns(3))
    again = Recording.of([*written[:-1], written[-1][:-missing]])
    assert [t.epoch for t in again.turns] == [0, 1]


def test_a_recording_without_a_turn_is_a_recording() -> None:
    assert Recording.of(lines()).turns == ()


def test_a_damaged_line_in_the_middle_is_an_error() -> None:
    written = lines(*turns(3))
    with pytest.raises(ConfigurationError, match="line 3: it is damaged"):
        Recording.of([written[0], written[1], written[2][:50], written[3]])


def test_a_missing_line_is_noticed() -> None:
    """Its arrays are missing, too: the routing of later lines refers to them."""
    written = lines(*turns(4))
    with pytest.raises(ConfigurationError, match=r"line 2: array \d+ is not in this line"):
        Recording.of([written[0], *written[3:]])


@pytest.mark.parametrize("text", ["", "title = 1\n", '{"a": 1}\n', "[1]\n", "\x80\x81"])
def test_other_files_are_no_recordings(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match="other.toml is not a recording: make one with"):
        Recording.read(path)


def test_a_missing_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="none.jsonl cannot be read: No such file"):
        Recording.read(tmp_path / "none.jsonl")


def test_a_newer_format_is_refused() -> None:
    first = lines()[0].replace(f'"rheostat recording":{FORMAT}', f'"rheostat recording":{FORMAT + 1}')
    with pytest.raises(ConfigurationError, match=f"has format {FORMAT + 1} of recordings.*update"):
        Recording.of([first])


def test_a_field_of_a_newer_version_is_refused_and_one_of_an_older_version_has_its_default() -> None:
    _, line = lines(*turns(1))
    value = json.loads(line)
    with pytest.raises(ConfigurationError, match="line 2: RecordedTurn has no colour; a newer version"):
        Recording.of([lines()[0], json.dumps({**value, "colour": 1})])
    del value["failure"], value["observation"]["expected"]
    (old,) = Recording.of([lines()[0], json.dumps(value)]).turns
    assert old.failure == ""
    assert math.isnan(old.observation.expected)
    del value["plan"]
    with pytest.raises(ConfigurationError, match="line 2: RecordedTurn lacks plan"):
        Recording.of([lines()[0], json.dumps(value)])


# The header


def test_the_promise_comes_back() -> None:
    assert HEADER.promise is None
    promise = replace(HEADER, bound=1.5, window=2.0).promise
    assert promise is not None
    assert (promise.seconds, promise.window) == (1.5, 2.0)


def test_settings_are_words() -> None:
    assert settings_of(Balance(threshold=1.1, ahead=True))["ahead"] == "True"
    assert "name" not in settings_of(Static())
