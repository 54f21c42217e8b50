"""A recorded run: what every turn of the policy loop saw and decided, and the lines of its file.

The first line is the header, each other line one turn, in order. All are JSON objects. A last line that is not
complete, because the writer was killed, is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from rheostat.elastic.loop.acceptance import Refusal
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.record.array_codec import ArrayReader, ArrayWriter
from rheostat.elastic.record.value_codec import from_json, to_json
from rheostat.errors import ConfigurationError

FORMAT = 1
"""Version of the format. It changes when older versions of Rheostat would misread a recording."""

_Kind = TypeVar("_Kind")

_MARK = "rheostat recording"
"""The key of the header that holds the version."""


@dataclass(frozen=True)
class RecordedComponent:
    """A component of the recorded topology whose shards can move.

    Attributes:
        name: its name.
        shards: number of its shards.
        level: number of the stage in which it runs.
    """

    name: str
    shards: int
    level: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Header:
    """What is known of a run before its first turn.

    Attributes:
        topology: name of the topology.
        components: the components whose shards can move.
        plan: the plan that the policy began with.
        policy: name of the policy.
        settings: the settings of the policy in words, by name.
        bound: the promised largest mean latency in seconds; NaN without a promise.
        window: length of the promise's window in seconds; NaN without a promise.
        slots: the fewest and the most slots of a component that the policy may choose; None if not limited.
        complete: True if the recording has the turns from the policy's first one on.
    """

    topology: str
    components: tuple[RecordedComponent, ...]
    plan: Plan
    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    bound: float = float("nan")
    window: float = float("nan")
    slots: tuple[int, int] | None = None
    complete: bool = True

    @property
    def promise(self) -> Latency | None:
        """The promise of the run; None if there was none."""
        if not (self.bound > 0 and self.window > 0):
            return None
        return Latency(timedelta(seconds=self.bound), over=timedelta(seconds=self.window))


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedTurn:
    """One turn of the policy loop, before an epoch begins.

    Attributes:
        epoch: number of the epoch that begins.
        observation: what the policy saw: the epoch before.
        plan: the plan in force, in which that epoch ran.
        asked: users' requests as revisions.
        accepted: the revisions that were accepted, users' first.
        refused: the revisions that were not accepted, with reasons.
        proposal: the policy's proposal.
        request: the plan that was requested; None if there was nothing to request.
        failure: why the plan could not be requested; empty if it could.
        skipped: why the policy was not asked in this turn; empty if it was.
        learned: True if the policy learned from the observation.
    """

    epoch: int
    observation: Observation
    plan: Plan
    asked: tuple[Revision, ...] = ()
    accepted: tuple[Revision, ...] = ()
    refused: tuple[Refusal, ...] = ()
    proposal: Proposal = STAY
    request: Plan | None = None
    failure: str = ""
    skipped: str = ""
    learned: bool = True


@dataclass(frozen=True, eq=False)
class Recording:
    """A recorded run.

    Attributes:
        header: what is known before the first turn.
        turns: the turns, in order.

    >>> import numpy as np
    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> plan = Plan({"by area": OperatorPlan.even(shards=4, slots=2)}, 1)
    >>> header = Header(topology="lending", components=(RecordedComponent("by area", 4),), plan=plan, policy="static")
    >>> seen = Observation(time=1.0, seconds=1.0, operators={}, cores=np.array([2]))
    >>> lines = LineWriter()
    >>> text = [lines.header(header), lines.turn(RecordedTurn(epoch=1, observation=seen, plan=plan))]
    >>> again = Recording.of([*text, '{"epoch": 2, "obs'])  # the last line is not complete
    >>> again.header.topology, len(again.turns), again.turns[0].plan.operators["by area"].routing.tolist()
    ('lending', 1, [0, 0, 1, 1])
    """

    header: Header
    turns: tuple[RecordedTurn, ...]

    @classmethod
    def read(cls, path: Path | str) -> Recording:
        """Read a file.

        Raises:
            ConfigurationError: it is not a recording, is damaged, or was written by a newer version.
        """
        try:
            with Path(path).open(encoding="utf-8") as lines:
                return cls.of(lines, str(path))
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise _no_recording(str(path)) from error

    @classmethod
    def of(cls, lines: Iterable[str], name: str = "the recording") -> Recording:
        """Return the recording that these lines hold.

        Args:
            lines: the lines of its file.
            name: what errors call it.
        """
        numbered = iter(enumerate(lines, start=1))
        _, first = next(numbered, (1, ""))
        header = _header_of(first, name)
        return cls(header, tuple(_turns_of(numbered, name)))


class LineWriter:
    """Makes the lines of a recording, without line breaks: first the header, then the turns in order."""

    def __init__(self) -> None:
        self._arrays = ArrayWriter()

    def header(self, header: Header) -> str:
        """Return the first line."""
        # Its arrays are its own: it is read with a reader of its own.
        return _text({_MARK: FORMAT, **to_json(Header, header, ArrayWriter())})

    def turn(self, turn: RecordedTurn) -> str:
        """Return the line of a turn."""
        line = _text(to_json(RecordedTurn, turn, self._arrays))
        self._arrays.end_line()
        return line


def settings_of(policy: Policy) -> dict[str, str]:
    """Return the settings of a policy in words, by name.

    >>> from rheostat.elastic.policies import Balance
    >>> settings_of(Balance(threshold=1.1))["threshold"]
    '1.1'
    """
    if not is_dataclass(policy):
        return {"policy": repr(policy)}
    return {f.name: repr(getattr(policy, f.name)) for f in fields(policy) if f.name != "name"}


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _header_of(line: str, name: str) -> Header:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict) or _MARK not in value:
        raise _no_recording(name)
    version = value.pop(_MARK)
    if not isinstance(version, int) or version > FORMAT:
        raise ConfigurationError(
            f"{name} has format {version} of recordings, and this version of Rheostat reads up to {FORMAT}: update it"
        )
    return _parsed(Header, value, ArrayReader(), name, 1)


def _turns_of(numbered: Iterator[tuple[int, str]], name: str) -> Iterator[RecordedTurn]:
    arrays = ArrayReader()
    torn = 0
    for number, line in numbered:
        if torn:
            raise ConfigurationError(f"{name}, line {torn}: it is damaged; only the last line may be incomplete")
        try:
            value = json.loads(line)
        except ValueError:
            torn = number
            continue
        yield _parsed(RecordedTurn, value, arrays, name, number)
        arrays.end_line()


def _parsed(kind: type[_Kind], value: Any, arrays: ArrayReader, name: str, number: int) -> _Kind:
    try:
        return cast(_Kind, from_json(kind, value, arrays))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ConfigurationError) as error:
        raise ConfigurationError(f"{name}, line {number}: {error}") from error


def _no_recording(name: str) -> ConfigurationError:
    return ConfigurationError(f"{name} is not a recording: make one with start(record=...) or query.record(...)")
