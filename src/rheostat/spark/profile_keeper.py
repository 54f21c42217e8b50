"""Keeps the profile that a policy learns, in a small file of the checkpoint (ELYSIUM section 4).

The file ``profile.json`` is written now and then and when the query ends, and read when it starts. ``rheostat profile``
writes one before the first run. The query works without it: a file that cannot be read or written costs a message.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.past_loads import loads_of, resampled
from rheostat.elastic.elysium.live.profile_policies import Profiled
from rheostat.elastic.elysium.live.query_profile import QueryProfile, StoredProfile, read_profile
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.record.recording import Recording
from rheostat.errors import CheckpointError, ConfigurationError
from rheostat.state.files import Folder
from rheostat.workloads.load_traces import read as read_load

PROFILE_FILE = "profile.json"
"""Name of the file in the checkpoint."""

_EVERY = 60.0
"""Seconds between two writes of a running query."""


class ProfileKeeper:
    """Reads and writes the profile of a query. The thread of the epochs calls ``after_turn``.

    Args:
        folder: the folder of the checkpoint.
        topology: name of the topology.
        every: seconds between two writes.
    """

    def __init__(self, folder: Folder, topology: str, every: float = _EVERY) -> None:
        self._folder, self._topology, self._every = folder, topology, every
        self._written = time.monotonic()
        self._failed = False

    def recall(self, declarations: Mapping[str, str]) -> StoredProfile:
        """Return what the checkpoint knows; an empty profile if there is no file.

        Args:
            declarations: fingerprint of the declaration of each component.
        """
        where = f"{self._folder.uri}/{PROFILE_FILE}"
        if not self._folder.exists(PROFILE_FILE):
            return StoredProfile(QueryProfile())
        try:
            text = self._folder.read(PROFILE_FILE).decode()
            return read_profile(text, declarations, time.time(), where)
        except (ConfigurationError, CheckpointError, UnicodeDecodeError, OSError) as error:
            return StoredProfile(QueryProfile(), messages=(f"{error}; the query learns anew",))

    def after_turn(self, policy: Profiled, history: Any, declarations: Mapping[str, str]) -> None:
        """Write what the policy has learned, if the last write is some time ago."""
        if time.monotonic() - self._written >= self._every:
            self.save(policy, history, declarations)

    def save(self, policy: Profiled, history: Any, declarations: Mapping[str, str]) -> None:
        """Write what the policy has learned, if it knows anything."""
        self._written = time.monotonic()
        profile = policy.profile_of(history)
        if any(operator.known for operator in profile.operators.values()):
            self.write(profile, declarations)

    def write(self, profile: QueryProfile, declarations: Mapping[str, str]) -> None:
        """Write a profile. A failure costs a warning, once."""
        try:
            text = profile.to_json(self._topology, declarations, time.time())
            self._folder.write(PROFILE_FILE, text.encode())
        except (OSError, pa.ArrowException) as error:
            if not self._failed:
                warnings.warn(f"{self._folder.uri}/{PROFILE_FILE} cannot be written: {error}", stacklevel=2)
            self._failed = True


def with_profile(
    policy: Policy,
    keeper: ProfileKeeper,
    declarations: Mapping[str, str],
    history: Path | str | None,
    note: Callable[..., None],
) -> Policy:
    """Return the policy with what is known of the query, if it learns a profile. What was discarded is told.

    Args:
        policy: the policy.
        keeper: reads the profile of the checkpoint.
        declarations: fingerprint of the declaration of each component.
        history: a recorded load for forecasts, instead of the query's own; None if there is none.
        note: stores an event, called with ``what`` was discarded.

    Raises:
        ConfigurationError: there is a history, but the policy forecasts nothing.
    """
    if not isinstance(policy, Profiled):
        if history is not None:
            raise ConfigurationError(
                f"history=: policy {policy.name!r} forecasts nothing: pass policy='elysium-proactive', or leave it out"
            )
        return policy
    stored = keeper.recall(declarations)
    known = stored.profile if stored.profile.operators or len(stored.profile.loads) else policy.profile
    if history is not None:
        known = replace(known, loads=past_loads(history, policy.period))
    for message in stored.messages:
        warnings.warn(message, stacklevel=3)
        note(what=message)
    return policy.knowing(known)


def past_loads(path: Path | str, period: float) -> Series:
    """Return the load of a file, for forecasts: a recording of a run, or a CSV file with times and rows per second.

    Args:
        path: the file: ``.jsonl`` is a recording of ``start(record=...)``, everything else CSV.
        period: seconds of an assessment period.

    Raises:
        ConfigurationError: the file cannot be read, is of another kind, or is too short.
    """
    file = Path(path)
    if not file.is_file():
        raise ConfigurationError(
            f"history={str(path)!r}: there is no such file; pass a CSV file or a recording of start(record=...)"
        )
    if file.suffix == ".jsonl":
        loads = loads_of((turn.observation for turn in Recording.read(file).turns), period)
    else:
        loads = resampled(read_load(file), period)
    if len(loads) < 2:
        raise ConfigurationError(f"history={str(path)!r}: {len(loads)} periods of {period:g} s are too few")
    return loads
