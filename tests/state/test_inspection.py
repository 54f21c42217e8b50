"""``inspect`` on a small checkpoint that was made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rheostat.cli.main import app
from rheostat.elastic.model.plan import Action, OperatorPlan, Revision
from rheostat.elastic.routing.balance import rescale
from rheostat.elastic.routing.requests import Change
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.errors import CheckpointError
from rheostat.state.checkpoint import Checkpoint
from rheostat.state.files import Folder
from rheostat.state.inspection import inspect
from rheostat.state.manifest import file_name
from rheostat.state.segments import Segment
from tests.state.builders import SHARDS, written

LOADS = ((0, 3.0), (1, 1.0), (15, 2.0))
BEFORE = (0,) * 8 + (1,) * 8
SECONDS = ShardLoads.of(SHARDS, LOADS).seconds
AFTER = rescale(BEFORE, SECONDS, 3).routing
ASKED = Revision("by key", OperatorPlan.even(SHARDS, 3), Action.SCALE_OUT, ("asked for",), asked="rescale")
CHANGE = Change.between(BEFORE, AFTER, ASKED, SECONDS, 1)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, list[Segment]]:
    """Two epochs: the first writes two segments, the second folds one of them and changes the routing."""
    path = tmp_path / "checkpoint"
    checkpoint = Checkpoint.open(str(path), SHARDS)
    folder = checkpoint.table_folder("area")
    first = written(folder, [(0, 0, 0, "a", 1), (0, 0, 0, "b", 2), (0, 0, -1, "c", 3)], 0, 0)
    second = written(folder, [(0, 5, 1 << 60, "d", 1)], 0, 1)
    third = written(folder, [(0, 5, 1 << 60, "d", 1), (0, 9, 7, "e", 1)], 1, 0)
    topology = {"area": {"table": "area", "keys": [["key", "string"]], "source": "source"}}
    one = checkpoint.manifest.at(
        0,
        topology=topology,
        watermarks={"source": None},
        routing={"by key": BEFORE},
        tables={"area": (first, second)},
        totals={"rows": 10},
    )
    checkpoint.commit(one)
    two = one.at(
        1,
        watermarks={"source": 5},
        routing={"by key": AFTER},
        tables={"area": (first, third)},
        totals={"rows": 17},
        loads={"by key": ShardLoads.of(SHARDS, LOADS).to_text()},
        changes=(CHANGE.to_json(),),
    )
    checkpoint.commit(two)
    checkpoint.close()
    return path, [first, second, third]


def test_the_figures_of_a_checkpoint(made: tuple[Path, list[Segment]]) -> None:
    path, (first, second, third) = made
    found = inspect(str(path))
    assert {k: found[k] for k in ("checkpoint", "format", "shards", "epoch", "totals", "watermarks")} == {
        "checkpoint": str(path),
        "format": 2,
        "shards": SHARDS,
        "epoch": 1,
        "totals": {"rows": 17},
        "watermarks": {"source": 5},
    }
    assert found["operators"] == {"area": {"table": "area", "keys": [["key", "string"]]}}
    assert found["epochs"] == [
        {
            "epoch": 0,
            "rows": 10,
            "state_rows": 4,
            "state_bytes": first.bytes + second.bytes,
            "segments": 2,
            "written": 2,
            "written_bytes": first.bytes + second.bytes,
            "folded": 0,
            "slots": {"by key": 2},
        },
        {
            "epoch": 1,
            "rows": 7,
            "state_rows": 5,
            "state_bytes": first.bytes + third.bytes,
            "segments": 2,
            "written": 1,
            "written_bytes": third.bytes,
            "folded": 1,
            "slots": {"by key": 3},
        },
    ]


def test_components_have_routing_and_load(made: tuple[Path, list[Segment]]) -> None:
    component = inspect(str(made[0]))["components"]["by key"]
    assert component["slots"] == 3
    assert component["routing"] == list(AFTER)
    assert sum(component["shards_per_slot"]) == SHARDS
    assert sum(component["seconds_per_slot"]) == pytest.approx(6)
    assert component["imbalance"] == pytest.approx(1.5)
    assert component["busiest_shards"] == [
        {"shard": 0, "slot": AFTER[0], "seconds": 3.0},
        {"shard": 15, "slot": AFTER[15], "seconds": 2.0},
        {"shard": 1, "slot": AFTER[1], "seconds": 1.0},
    ]


def test_tables_have_segments_and_the_sizes_of_shards(made: tuple[Path, list[Segment]]) -> None:
    path, (first, _, third) = made
    table = inspect(str(path))["tables"]["area"]
    assert (table["rows"], table["bytes"]) == (5, first.bytes + third.bytes)
    assert [(s["file"], s["epoch"], s["rows"]) for s in table["segments"]] == [(first.file, 0, 3), (third.file, 1, 2)]
    assert table["segments_by_rank"] == {0: 2}
    assert table["shard_bytes"] == {
        "mean": round((first.bytes + third.bytes) / SHARDS),
        "largest": round(first.bytes * 2 / 3 + third.bytes / 2),
        "largest_shard": 0,
        "empty": SHARDS - 3,
    }


def test_changes_of_routing_are_listed(made: tuple[Path, list[Segment]]) -> None:
    (change,) = inspect(str(made[0]))["changes"]
    assert (change["kind"], change["slots"], change["reason"]) == ("rescale", [2, 3], CHANGE.reason)


def test_a_checkpoint_in_which_nothing_has_happened_yet(tmp_path: Path) -> None:
    Checkpoint.open(str(tmp_path), 8).close()
    found = inspect(str(tmp_path))
    assert (found["epoch"], found["epochs"], found["tables"], found["components"]) == (-1, [], {}, {})


def test_a_running_query_is_not_disturbed(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 8)
    before = sorted(p for p in tmp_path.rglob("*"))
    inspect(str(tmp_path))
    assert sorted(p for p in tmp_path.rglob("*")) == before
    checkpoint.commit(checkpoint.manifest.at(0))
    checkpoint.close()


def test_a_folder_that_is_not_a_checkpoint_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(CheckpointError, match=f"{path} is not a checkpoint: it has no rheostat.json"):
            inspect(str(path))


@pytest.mark.parametrize("identity", ["{", "[]", '{"format": 1}'])
def test_a_damaged_identity_is_named(tmp_path: Path, identity: str) -> None:
    (tmp_path / "rheostat.json").write_text(identity)
    with pytest.raises(CheckpointError, match=rf"{tmp_path}/rheostat.json is damaged"):
        inspect(str(tmp_path))


def test_a_manifest_that_a_running_query_has_just_deleted_is_left_out(
    made: tuple[Path, list[Segment]], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Folder.names

    def with_one_gone(self: Folder, *, hidden: bool = False) -> list[str]:
        gone = [file_name(-1)] if self.uri.endswith("epochs") else []
        return [*gone, *names(self, hidden=hidden)]

    monkeypatch.setattr(Folder, "names", with_one_gone)
    assert [e["epoch"] for e in inspect(str(made[0]))["epochs"]] == [0, 1]


def test_the_oldest_retained_epoch_does_not_claim_the_rows_of_those_before(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 8, retain=2)
    for epoch in range(5):
        checkpoint.commit(checkpoint.manifest.at(epoch, totals={"rows": 100 * (epoch + 1)}))
    checkpoint.close()
    oldest, newest = inspect(str(tmp_path))["epochs"]
    assert newest["rows"] == 100
    assert oldest["rows"] in (None, 100)


def run_inspect(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["inspect", *arguments])


def test_the_command_prints_json(made: tuple[Path, list[Segment]]) -> None:
    done = run_inspect(str(made[0]), "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(json.dumps(inspect(str(made[0]))))


def test_the_command_prints_tables(made: tuple[Path, list[Segment]]) -> None:
    done = run_inspect(str(made[0]))
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "epoch 1, 16 shards, format 2" in text
    for title in ("epochs", "components", "tables", "routing changes"):
        assert title in text


def test_the_command_refuses_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    done = run_inspect(str(tmp_path))
    assert done.exit_code != 0
    assert isinstance(done.exception, CheckpointError)
