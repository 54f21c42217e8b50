"""Requests the plan of a turn from an actuator, and records for every operator that a request failed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Protocol

from rheostat.elastic.loop.treatment import record_failure
from rheostat.elastic.loop.turn import Control, Turn
from rheostat.elastic.model.plan import Plan
from rheostat.errors import RheostatError


class Actuator(Protocol):
    """Carries plans out on an engine."""

    def apply(self, plan: Plan) -> None:
        """Request a plan. Returns at once, and may be called again with the same plan.

        The request has succeeded when a later turn observes the plan.

        Raises:
            RequestError: the plan cannot be requested now.
        """


class RequestError(RheostatError):
    """A plan could not be requested now. The loop requests it again in the next turn."""


def carry_out(result: Turn, actuator: Actuator, now: float) -> Control:
    """Request the plan of a turn, if it has one. A failure is recorded for every operator that the plan changes."""
    return requested(result, actuator, now).control


def requested(result: Turn, actuator: Actuator, now: float) -> Turn:
    """Request the plan of a turn, if it has one, and return the turn with the failure, if there was one."""
    if result.request is None:
        return result
    try:
        actuator.apply(result.request)
    except RequestError as error:
        control = notify_failed(result.control, result.requested, str(error), now)
        return replace(result, control=control, failure=str(error))
    return result


def notify_failed(control: Control, operators: Collection[str], reason: str, now: float) -> Control:
    """Record that a request failed. The next turn repeats it, unless it has failed too often."""
    treatments = {name: record_failure(control.treatments[name], reason, now) for name in operators}
    return replace(control, treatments={**control.treatments, **treatments})
