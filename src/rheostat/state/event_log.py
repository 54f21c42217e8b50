"""The event log of a checkpoint: small immutable files, one per turn that had something to say.

events/N.json      the events of one turn; N is the number of its first event, with 20 digits
events/N-M.json    the events from N to M, folded from many such files

A file is written atomically and never changed. When there are many, the older ones are folded: a new file with all
their events is written, then they are deleted. A crash in between leaves events twice, which readers notice by their
numbers. Beyond a bound, the oldest folded files are deleted. No file is ever appended to, so any filesystem will do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from rheostat.errors import CheckpointError
from rheostat.state.files import Folder

KEPT_EVENTS = 10_000
"""How many events a log keeps, at least; it deletes older ones a folded file at a time."""

FOLD_AT = 128
"""The number of files with one turn each at which the older ones are folded."""

_UNFOLDED = 16
"""How many of the newest files are not folded: the epochs of their events may not be committed yet."""

Plain = Mapping[str, Any]
"""An event as plain values. It has at least ``number``; folding removes ``detail``."""


class EventLog:
    """The event log of a checkpoint that this process owns.

    Args:
        folder: the folder of the events. It is created when the first event is written.
        kept: how many events to keep, at least.
        fold_at: the number of files with one turn each at which the older ones are folded.

    Attributes:
        events: the events when the log was opened, oldest first.
    """

    def __init__(self, folder: Folder, kept: int = KEPT_EVENTS, fold_at: int = FOLD_AT) -> None:
        self._folder, self._kept, self._fold_at = folder, kept, fold_at
        files = _read_files(folder, folder.names())
        self._folded = {file.name: len(file.events) for file in files if file.folded}
        held = {event["number"] for file in files if file.folded for event in file.events}
        self._single: dict[str, Sequence[Plain]] = {}
        for file in files:
            if not file.folded and file.events and held.issuperset(e["number"] for e in file.events):
                folder.delete(file.name)  # a crash came between folding and deleting
            elif not file.folded:
                self._single[file.name] = file.events
        self._created = bool(files)
        self.events = _merged(files)

    def append(self, events: Sequence[Plain]) -> None:
        """Write events as one file, and fold or delete old files if there are too many. No events, no file.

        Args:
            events: the events, numbered in order, with numbers above those of all events before.
        """
        if not events:
            return
        if not self._created:
            self._folder.create()
            self._created = True
        name = f"{events[0]['number']:020d}.json"
        self._folder.write(name, _encode(events))
        self._single[name] = events
        if len(self._single) >= self._fold_at + _UNFOLDED:
            self._fold()

    def _fold(self) -> None:
        """Fold all but the newest files into one, then delete the oldest folded files that are beyond the bound."""
        names = sorted(self._single)[:-_UNFOLDED]
        events = [{k: v for k, v in e.items() if k != "detail"} for name in names for e in self._single[name]]
        if events:
            name = f"{events[0]['number']:020d}-{events[-1]['number']:020d}.json"
            self._folder.write(name, _encode(events))
            self._folded[name] = len(events)
        for single in names:
            self._folder.delete(single)
            del self._single[single]
        total = sum(self._folded.values()) + sum(map(len, self._single.values()))
        for name in sorted(self._folded):
            total -= self._folded[name]
            if total < self._kept:
                break
            self._folder.delete(name)
            del self._folded[name]


def read_events(folder: Folder) -> list[Plain]:
    """Return all events in a folder, oldest first, without owning the checkpoint.

    If the owner folds files meanwhile, the folder is listed again. Files that cannot be read are left out.
    """
    for _ in range(5):
        files = _read_files(folder, folder.names())
        if not any(file.missing for file in files):
            break
    return _merged(files)


@dataclass(frozen=True)
class _File:
    """One file of the log; ``missing`` if it was deleted after the folder was listed."""

    name: str
    events: Sequence[Plain]
    missing: bool = False

    @property
    def folded(self) -> bool:
        return "-" in self.name


def _read_files(folder: Folder, names: Sequence[str]) -> list[_File]:
    """Read files, several at a time, since each takes a while on an object store."""
    wanted = [name for name in names if name.endswith(".json")]
    if not wanted:
        return []
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(lambda name: _read_file(folder, name), wanted))


def _read_file(folder: Folder, name: str) -> _File:
    try:
        return _File(name, [dict(event) for event in json.loads(folder.read(name))["events"] if "number" in event])
    except CheckpointError:
        return _File(name, (), missing=True)
    except (ValueError, KeyError, TypeError):  # damaged: the events are lost, and the query can do without them
        return _File(name, ())


def _merged(files: Sequence[_File]) -> list[Plain]:
    """Return the events of all files in order, each once; from the file that has its detail if there are two."""
    by_number: dict[int, Plain] = {}
    for file in sorted(files, key=lambda file: not file.folded):
        by_number.update({event["number"]: event for event in file.events})
    return [by_number[number] for number in sorted(by_number)]


def _encode(events: Sequence[Plain]) -> bytes:
    return json.dumps({"events": list(events)}, separators=(",", ":"), allow_nan=False).encode()
