"""Segments are kept as long as a retained manifest lists them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.state.checkpoint import Checkpoint
from rheostat.state.manifest import file_name
from rheostat.state.segments import Segment
from tests.state.builders import commit, segment, written


def segments_on_disk(path: Path, table: str = "area") -> set[str]:
    return {p.name for p in (path / "state" / table).iterdir()}


def epochs_on_disk(path: Path) -> list[int]:
    return sorted(int(p.stem) for p in (path / "epochs").iterdir())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.booleans()), min_size=1, max_size=12), st.integers(0, 4))
def test_exactly_the_segments_of_retained_manifests_are_on_disk(
    steps: list[tuple[bool, int, bool]], retain: int
) -> None:
    """Random histories of segments that are written, folded, or left behind by killed epochs, with restarts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        checkpoint = Checkpoint.open(folder, 16, retain)
        live: list[Segment] = []
        mentioned: list[set[str]] = []
        for number, (adds, folds, restarts) in enumerate(steps):
            live = live[folds:]
            if adds or not mentioned:
                live.append(written(checkpoint.table_folder("area"), [(0, 0, number, "a", 1)], epoch=number))
            commit(checkpoint, live)
            mentioned.append({s.file for s in live})
            kept = mentioned[-max(retain, 2) :]
            assert segments_on_disk(path) == set().union(*kept)
            assert epochs_on_disk(path) == list(range(len(mentioned)))[-max(retain, 2) :]
            if restarts:
                written(checkpoint.table_folder("area"), [(0, 0, number, "killed", 1)], epoch=number + 1)
                checkpoint.close()
                checkpoint = Checkpoint.open(folder, 16, retain)
                assert segments_on_disk(path) == set().union(*kept)
                assert checkpoint.manifest.epoch == number
        checkpoint.close()


def test_staged_results_of_a_killed_epoch_are_deleted_on_open(tmp_path: Path) -> None:
    Checkpoint.open(str(tmp_path), 16).close()
    (tmp_path / "results" / "area_windows").mkdir()
    (tmp_path / "results" / "area_windows" / "part-0.parquet").write_bytes(b"half")
    (tmp_path / "state" / "unknown").mkdir()
    (tmp_path / "state" / "unknown" / "x.arrow").write_bytes(b"half")
    Checkpoint.open(str(tmp_path), 16).close()
    assert list((tmp_path / "results").iterdir()) == []
    assert segments_on_disk(tmp_path, "unknown") == set()


@pytest.mark.parametrize("place", ["state", "results"])
def test_a_stray_file_does_not_keep_a_checkpoint_from_opening(tmp_path: Path, place: str) -> None:
    Checkpoint.open(str(tmp_path), 16).close()
    (tmp_path / place / "notes.txt").write_text("somebody's")
    Checkpoint.open(str(tmp_path), 16).close()


def test_what_does_not_belong_to_state_is_left_alone(tmp_path: Path) -> None:
    Checkpoint.open(str(tmp_path), 16).close()
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "offsets").write_text("theirs")
    (tmp_path / "aside").mkdir()
    (tmp_path / "aside" / "rows").write_text("the user's")
    Checkpoint.open(str(tmp_path), 16).close()
    assert (tmp_path / "spark" / "offsets").exists()
    assert (tmp_path / "aside" / "rows").exists()


def test_a_segment_that_is_already_gone_does_not_stop_an_epoch(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16, retain=2)
    commit(checkpoint, [segment("never written")])
    for _ in range(3):
        commit(checkpoint, [])
    checkpoint.close()
    assert epochs_on_disk(tmp_path) == [2, 3]


def test_forgotten_tables_go_when_no_retained_epoch_has_them(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16, retain=2)
    kept, gone = (written(checkpoint.table_folder(t), [(0, 0, 1, "a", 1)]) for t in ("kept", "gone"))
    checkpoint.commit(checkpoint.manifest.at(0, tables={"kept": (kept,), "gone": (gone,)}))
    checkpoint.forget_tables(except_for=["kept"])
    assert checkpoint.manifest.tables == {"kept": (kept,)}
    for epoch, there in ((1, {gone.file}), (2, set())):
        checkpoint.commit(checkpoint.manifest.at(epoch))
        assert segments_on_disk(tmp_path, "gone") == there
        assert segments_on_disk(tmp_path, "kept") == {kept.file}
    checkpoint.close()


def run(path: Path, retain: int, epochs: int) -> None:
    """Run some epochs and stop."""
    checkpoint = Checkpoint.open(str(path), 16, retain)
    for _ in range(epochs):
        commit(checkpoint, [])
    checkpoint.close()


def test_fewer_retained_epochs_take_effect_with_the_next_run(tmp_path: Path) -> None:
    run(tmp_path, retain=10, epochs=3)
    run(tmp_path, retain=2, epochs=2)
    assert epochs_on_disk(tmp_path)[-2:] == [3, 4]
    assert not (tmp_path / "epochs" / file_name(2)).exists()


def test_manifests_whose_segments_are_gone_are_deleted(tmp_path: Path) -> None:
    run(tmp_path, retain=10, epochs=6)
    run(tmp_path, retain=2, epochs=3)
    assert epochs_on_disk(tmp_path) == [7, 8]


def test_retaining_fewer_and_then_more_epochs_goes_on(tmp_path: Path) -> None:
    run(tmp_path, retain=10, epochs=6)
    run(tmp_path, retain=2, epochs=3)
    run(tmp_path, retain=10, epochs=1)
    assert epochs_on_disk(tmp_path)[-1] == 9
