"""Lets a policy decide again over what was recorded. The same policy makes the same decisions, bit for bit.

Policies and turns are pure functions, so the recorded observations, plans and users' requests are all they need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rheostat.elastic.loop.actuation import notify_failed
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.record.recording import LineWriter, RecordedTurn, Recording
from rheostat.errors import ConfigurationError


def replay_decisions(recording: Recording, policy: Policy) -> tuple[RecordedTurn, ...]:
    """Return the recorded turns with the decisions that a policy makes in them.

    Every turn has the recorded observation and plan, whatever the policy decided before. For the policy that was
    recorded, with the same settings, the result equals the recording; ``first_difference`` says where it does not.

    Args:
        recording: the recorded run.
        policy: the policy that decides.

    Raises:
        ConfigurationError: the recording does not begin with the policy's first turn.
    """
    if not recording.header.complete:
        raise ConfigurationError(
            "the recording began in the middle of a run, so what the policy knew by then is missing: record with "
            "start(record=...) to repeat its decisions"
        )
    return tuple(_decided_again(recording, policy))


def _decided_again(recording: Recording, policy: Policy) -> Iterator[RecordedTurn]:
    control = Control.start(policy, recording.header.plan, recording.header.slots)
    for recorded in recording.turns:
        asked, decides = recorded.asked, not recorded.skipped
        result = turn(control, recorded.observation, recorded.plan, asked, learns=recorded.learned, decides=decides)
        control = result.control
        if recorded.failure and result.request is not None:
            control = notify_failed(control, result.requested, recorded.failure, recorded.observation.time)
        yield replace(
            recorded,
            accepted=result.accepted,
            refused=result.refused,
            proposal=result.proposal,
            request=result.request,
        )


@dataclass(frozen=True)
class Difference:
    """The first turn in which two runs differ.

    Attributes:
        turn: its place in the recording, from 0.
        epoch: number of the epoch that begins with it.
        recorded: what was decided, in words.
        again: what was decided the second time, in words.
    """

    turn: int
    epoch: int
    recorded: str
    again: str


def first_difference(recorded: Sequence[RecordedTurn], again: Sequence[RecordedTurn]) -> Difference | None:
    """Return the first turn in which decisions differ in any bit; None if all are equal."""
    for number, (one, other) in enumerate(zip(recorded, again, strict=True)):
        if LineWriter().turn(one) != LineWriter().turn(other):
            return Difference(number, one.epoch, _in_words(one), _in_words(other))
    return None


def _in_words(decided: RecordedTurn) -> str:
    accepted = [f"{r.operator}: {r.action} to {r.plan.slots} slots ({'; '.join(r.reasons)})" for r in decided.accepted]
    return ", ".join([*accepted, *(f"refused {refusal}" for refusal in decided.refused)]) or "nothing"
