"""The event log: every event once and in order, whatever is folded, deleted or interrupted."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.state.event_log import EventLog, read_events
from rheostat.state.files import Folder


def event(number: int) -> dict[str, Any]:
    return {"number": number, "kind": "test", "detail": {"routing": [number] * 3}}


def numbers(events: Any) -> list[int]:
    return [e["number"] for e in events]


def test_nothing_is_written_before_the_first_event(tmp_path: Path) -> None:
    log = EventLog(Folder.at(tmp_path / "events"))
    log.append([])
    assert not (tmp_path / "events").exists()
    assert read_events(Folder.at(tmp_path / "events")) == []


def test_one_file_per_turn_and_no_file_changes(tmp_path: Path) -> None:
    log = EventLog(Folder.at(tmp_path))
    log.append([event(1), event(2)])
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    log.append([event(3)])
    after = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert sorted(after) == [f"{1:020d}.json", f"{3:020d}.json"]
    assert before.items() <= after.items()
    assert EventLog(Folder.at(tmp_path)).events == [event(1), event(2), event(3)]


class Killed(RuntimeError):
    """What a fault raises."""


class Faulty(Folder):
    """A folder whose writes and deletions fail after a number of them."""

    left = 10**9

    def write(self, name: str, data: bytes) -> None:
        self._count()
        super().write(name, data)

    def delete(self, name: str) -> None:
        self._count()
        super().delete(name)

    @classmethod
    def _count(cls) -> None:
        if cls.left == 0:
            raise Killed
        cls.left -= 1


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=120),
    st.integers(2, 10),
    st.integers(5, 200),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_every_event_once_and_in_order_whatever_is_interrupted(
    turns: list[int], fold_at: int, kept: int, faults: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        faulty = Faulty(name)
        Faulty.left = faults.pop() if faults else 10**9
        log = EventLog(faulty, kept, fold_at)
        number, written = 1, 0
        for size in turns:
            events = [event(number + i) for i in range(size)]
            number += size
            while True:
                try:
                    log.append(events)
                    break
                except Killed:
                    Faulty.left = 10**9
                    if numbers(read_events(Folder(name)))[-1:] == [number - 1]:
                        log = EventLog(faulty, kept, fold_at)
                        break  # it was written, and folding failed
                    log = EventLog(faulty, kept, fold_at)
                finally:
                    if Faulty.left > 10**8 and faults:
                        Faulty.left = faults.pop()
            written = number - 1
            found = numbers(read_events(Folder(name)))
            assert found == list(range(written - len(found) + 1, written + 1))
            assert len(found) >= min(kept, written)
        Faulty.left = 10**9
        assert len(list(Path(name).iterdir())) <= fold_at + 16 + (kept + 3 * fold_at) // fold_at + 1
        assert numbers(EventLog(Folder(name), kept, fold_at).events) == numbers(read_events(Folder(name)))


def test_folding_keeps_the_newest_details_and_drops_old_ones(tmp_path: Path) -> None:
    log = EventLog(Folder.at(tmp_path), fold_at=10)
    for number in range(1, 100):
        log.append([event(number)])
    found = read_events(Folder.at(tmp_path))
    assert numbers(found) == list(range(1, 100))
    assert all("detail" in e for e in found[-16:])
    assert not any("detail" in e for e in found[:50])
    assert len(list(tmp_path.iterdir())) < 40


def test_the_oldest_events_go_beyond_the_bound(tmp_path: Path) -> None:
    log = EventLog(Folder.at(tmp_path), kept=50, fold_at=10)
    for number in range(1, 500):
        log.append([event(number)])
    found = numbers(read_events(Folder.at(tmp_path)))
    assert found == list(range(found[0], 500))
    assert 50 <= len(found) <= 50 + 10 + 16


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"events": 3}'])
def test_a_damaged_file_costs_its_own_events_only(tmp_path: Path, damage: bytes) -> None:
    log = EventLog(Folder.at(tmp_path))
    for number in (1, 2, 3):
        log.append([event(number)])
    (tmp_path / f"{2:020d}.json").write_bytes(damage)
    assert numbers(read_events(Folder.at(tmp_path))) == [1, 3]
    again = EventLog(Folder.at(tmp_path))
    again.append([event(4)])
    assert numbers(read_events(Folder.at(tmp_path))) == [1, 3, 4]


def test_a_reader_finds_everything_while_files_are_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(Folder.at(tmp_path), fold_at=4)
    for number in range(1, 20):
        log.append([event(number)])
    listed = Folder.names
    folded: list[int] = []

    def names(self: Folder, *, hidden: bool = False) -> list[str]:
        found = listed(self, hidden=hidden)
        if not folded:
            folded.append(1)
            log.append([event(20)])  # which folds the older ones
        return found

    monkeypatch.setattr(Folder, "names", names)
    assert numbers(read_events(Folder.at(tmp_path))) == list(range(1, 21))
