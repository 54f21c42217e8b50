"""Writes a recording of a running query: a line per epoch, on the driver, flushed at once.

A recording is for analysis. If its file cannot be written any more, the query goes on without it.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rheostat.elastic.loop.turn import Turn
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.record.recording import Header, LineWriter, RecordedTurn
from rheostat.errors import ConfigurationError


class Recorder:
    """Records nothing until ``begin``. The epochs' thread calls ``add``, any thread the rest.

    >>> recorder = Recorder()
    >>> recorder.path is None
    True
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self._file: TextIO | None = None
        self._lines = LineWriter()
        self._lock = threading.Lock()

    def begin(self, path: Path | str, header: Header) -> None:
        """Create the file and write its header.

        Raises:
            ConfigurationError: the file exists or cannot be written, or a recording is under way.
        """
        with self._lock:
            if self._file is not None:
                raise ConfigurationError(f"the query is being recorded to {self.path} already")
            try:
                self._file = Path(path).open("x", encoding="utf-8")  # noqa: SIM115 - open until the query ends
            except FileExistsError as error:
                raise ConfigurationError(f"record={str(path)!r}: the file exists; name a new one") from error
            except OSError as error:
                raise ConfigurationError(
                    f"record={str(path)!r}: {error.strerror}; name a file in a folder that can be written"
                ) from error
            self.path, self._lines = Path(path), LineWriter()
            self._write(self._lines.header(header))

    @property
    def active(self) -> bool:
        """True while a recording is under way."""
        return self._file is not None

    def add(self, epoch: int, observation: Observation, plan: Plan, turn: Turn) -> None:
        """Write a turn of the policy loop.

        Args:
            epoch: number of the epoch that begins.
            observation: what the policy saw.
            plan: the plan in force before the turn.
            turn: what came of it.
        """
        with self._lock:
            if self._file is None:
                return
            recorded = RecordedTurn(
                epoch=epoch,
                observation=observation,
                plan=plan,
                asked=turn.asked,
                accepted=turn.accepted,
                refused=turn.refused,
                proposal=turn.proposal,
                request=turn.request,
                failure=turn.failure,
                skipped=turn.skipped,
                learned=turn.learned,
            )
            self._write(self._lines.turn(recorded))

    def close(self) -> None:
        """End the recording. Without one, nothing happens."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    def _write(self, line: str) -> None:
        file = self._file
        if file is None:
            return
        try:
            file.write(line + "\n")
            file.flush()
        except OSError as error:
            self._file = None
            with suppress(OSError):
                file.close()
            warnings.warn(f"{self.path}: {error.strerror}; the recording ends, the query goes on", stacklevel=2)
