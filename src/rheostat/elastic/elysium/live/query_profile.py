"""The profiles of a query as one value: what its policy learned, and what a file keeps of it.

The file is JSON of a few kilobytes. With every operator goes a fingerprint of its declaration: what was learned of an
operator that is now declared differently is discarded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rheostat.elastic.elysium.configuration import Thresholds
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.epoch_use import operator_use
from rheostat.elastic.elysium.live.use_profile import UseProfile
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation
from rheostat.errors import ConfigurationError

FORMAT = 1
"""Version of the file."""

_MARK = "rheostat profile"
"""The key of the file that holds the version."""

HALF_LIFE = 3600.0
"""Seconds after which an epoch counts half as much."""

_EPOCH = ("overhead", "task", "reading", "node_delay")
"""Figures of the query as a whole that a file keeps."""

KEPT_LOADS = 2000
"""How many loads a profile keeps, the newest ones."""


@dataclass(frozen=True)
class QueryProfile:
    """What is known of a query.

    Attributes:
        operators: profiles of the operators, by name.
        overhead: seconds of an epoch without tasks and rows; NaN if unknown.
        task: seconds that every slot adds to an epoch; NaN if unknown.
        reading: seconds that every row adds to an epoch before it reaches its slot.
        loads: rows per second of the last assessment periods.
        thresholds: thresholds that were learned; None to use those of the policy.
        node_delay: seconds from asking for nodes to the first epoch that has them, the last time; NaN if unknown.

    >>> QueryProfile({"by area": UseProfile(weight=2.0, rows=10.0, seconds=0.1)}).operators["by area"].line.slope
    0.01
    """

    operators: Mapping[str, UseProfile] = field(default_factory=dict)
    overhead: float = float("nan")
    task: float = float("nan")
    reading: float = 0.0
    loads: Series = field(default_factory=lambda: Series(np.zeros(0)))
    thresholds: Thresholds | None = None
    node_delay: float = float("nan")

    def after(
        self, seen: Observation, before: Mapping[str, Any] | None = None, half_life: float = HALF_LIFE
    ) -> QueryProfile:
        """Return the profile after one more epoch.

        Args:
            seen: the epoch.
            before: rows completed before it, by operator and shard, in engines that count only since the start.
            half_life: seconds after which an epoch counts half as much.
        """
        seconds = seen.seconds if 0 < seen.seconds < np.inf else 0.0
        share = 0.5 ** (min(seconds, 100 * half_life) / half_life)
        read = seen.external * seen.seconds
        source = float(read) if 0 <= read < 1e15 else float("nan")
        operators = {name: profile.faded(share) for name, profile in self.operators.items()}
        for name, found in seen.operators.items():
            use = operator_use(found, (before or {}).get(name))
            if use is not None and use.rows.any():
                operators[name] = operators.get(name, UseProfile()).after(use, source)
        delay = seen.node_delay if 0 <= seen.node_delay < np.inf else self.node_delay
        return self._with_law(replace(self, operators=operators, node_delay=delay), seen.law)

    @staticmethod
    def _with_law(profile: QueryProfile, law: EpochLaw | None) -> QueryProfile:
        if law is None:
            return profile
        return replace(profile, overhead=law.overhead, task=law.task, reading=law.reading)

    def to_json(self, topology: str, declarations: Mapping[str, str], saved: float) -> str:
        """Return the text of a file.

        Args:
            topology: name of the topology.
            declarations: fingerprint of the declaration of each operator.
            saved: when it is saved, in seconds since 1970.
        """
        operators = {
            name: {"declaration": declarations[name], **profile.to_json()}
            for name, profile in self.operators.items()
            if name in declarations and profile.known
        }
        loads = self.loads.last(KEPT_LOADS)
        plain: dict[str, Any] = {
            _MARK: FORMAT,
            "topology": topology,
            "saved": saved,
            "operators": operators,
            "epoch": {k: v for k in _EPOCH if np.isfinite(v := getattr(self, k))},
            "loads": {"step": loads.step, "values": [float(f"{v:.4g}") for v in loads.values.tolist()]},
        }
        if self.thresholds is not None:
            plain["thresholds"] = {k: getattr(self.thresholds, k) for k in ("core_min", "core_max", "cpu_max")}
        return json.dumps(plain, indent=1)


@dataclass(frozen=True)
class StoredProfile:
    """A profile that was read from a file.

    Attributes:
        profile: what still counts of it.
        age: seconds since it was saved.
        messages: what was discarded and why, for the user.
    """

    profile: QueryProfile
    age: float = 0.0
    messages: tuple[str, ...] = ()


def read_profile(
    text: str, declarations: Mapping[str, str], now: float, where: str, half_life: float = HALF_LIFE
) -> StoredProfile:
    """Return the profile of a file, aged, without operators that are now declared differently.

    Args:
        text: the text of the file.
        declarations: fingerprint of the declaration of each operator now.
        now: seconds since 1970.
        where: name of the file, for errors and messages.
        half_life: seconds after which what was learned counts half as much.

    Raises:
        ConfigurationError: the text is not a profile.

    >>> old = QueryProfile({"a": UseProfile(weight=2.0, rows=10.0, seconds=0.1)}).to_json("t", {"a": "x"}, saved=0.0)
    >>> found = read_profile(old, {"a": "x"}, now=3600.0, where="profile.json")
    >>> found.profile.operators["a"].weight, found.age
    (1.0, 3600.0)
    >>> read_profile(old, {"a": "y"}, now=3600.0, where="profile.json").messages
    ("profile.json: operator 'a' is declared differently now: what was learned of it is discarded",)
    """
    try:
        plain = json.loads(text)
        version = plain[_MARK]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{where} is not a profile: make one with `rheostat profile`, or delete it") from error
    if version != FORMAT:
        raise ConfigurationError(f"{where} has format {version}, this version reads {FORMAT}: delete it")
    try:
        age = max(now - float(plain["saved"]), 0.0)
        share = 0.5 ** (min(age, 100 * half_life) / half_life)
        operators, messages = {}, []
        for name, stored in plain["operators"].items():
            if name not in declarations:
                messages.append(f"{where}: there is no operator {name!r} any more: what was learned of it is discarded")
            elif stored["declaration"] != declarations[name]:
                messages.append(
                    f"{where}: operator {name!r} is declared differently now: what was learned of it is discarded"
                )
            else:
                operators[name] = UseProfile.from_json(stored).faded(share)
        epoch, limits = plain["epoch"], plain.get("thresholds")
        return StoredProfile(
            QueryProfile(
                operators,
                **{k: float(epoch[k]) for k in _EPOCH if k in epoch},
                loads=_continued(plain["loads"], age),
                thresholds=None if limits is None else Thresholds(**limits),
            ),
            age,
            tuple(messages),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{where} is damaged ({error!r}): delete it, or make another one") from error


def _continued(plain: Mapping[str, Any], age: float) -> Series:
    """Return the loads up to now; nothing is known of the time since they were saved, so the last one is repeated."""
    values, step = np.array(plain["values"], dtype=np.float64), float(plain["step"])
    gap = round(age / step)
    if not len(values) or gap > KEPT_LOADS // 2:
        return Series(np.zeros(0), 0.0, step)
    return Series(np.r_[values, np.full(gap, values[-1])], 0.0, step).last(KEPT_LOADS)
