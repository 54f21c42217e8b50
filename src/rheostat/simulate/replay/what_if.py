"""Replays of a recorded run: as it was, under a policy, or with a fixed number of slots.

A replay gives the same as a recording: what every turn saw and decided. So both are judged by the same figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rheostat.elastic.loop.actuation import requested
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.record.recording import RecordedTurn, Recording, settings_of
from rheostat.elastic.routing.table import even_routing
from rheostat.errors import ConfigurationError
from rheostat.simulate.replay.recorded_epochs import RecordedEpochs
from rheostat.simulate.replay.recorded_load import RecordedLoad
from rheostat.simulate.replay.run_figures import RunFigures


def replay_policy(recording: Recording, policy: Policy, load: RecordedLoad | None = None) -> Recording:
    """Return what a policy would have seen and decided, from the plan on that the recorded run began with.

    Args:
        recording: the recorded run.
        policy: the policy.
        load: the load of the recording, if it is known already.
    """
    engine = RecordedEpochs(load or RecordedLoad.of(recording), recording.header.plan, policy.ahead)
    control, turns = Control.start(policy, engine.plan, recording.header.slots), []
    while not engine.ended:
        seen, plan = engine.step(), engine.plan
        result = requested(turn(control, seen, plan), engine, seen.time)
        control = result.control
        turns.append(
            RecordedTurn(
                epoch=seen.epoch + 1,
                observation=seen,
                plan=plan,
                accepted=result.accepted,
                refused=result.refused,
                proposal=result.proposal,
                request=result.request,
                failure=result.failure,
            )
        )
    header = replace(recording.header, policy=policy.name, settings=settings_of(policy), complete=True)
    return Recording(header, tuple(turns))


def replay_plans(recording: Recording, load: RecordedLoad | None = None) -> Recording:
    """Return the recorded run once more, simulated, with the plans that it had at the time."""
    known = load or RecordedLoad.of(recording)
    return _with_plans(recording, known, lambda begin: known.plan_at(begin, recording.header.plan))


def replay_slots(recording: Recording, slots: int, load: RecordedLoad | None = None) -> Recording:
    """Return what a fixed number of slots would have done, with shards placed as a new checkpoint places them.

    Args:
        recording: the recorded run.
        slots: number of slots of every component.
        load: the load of the recording, if it is known already.
    """
    plan = static_plan(recording, slots)
    return _with_plans(recording, load or RecordedLoad.of(recording), lambda _: plan)


def static_plan(recording: Recording, slots: int) -> Plan:
    """Return the plan with which a new checkpoint begins."""
    parts = {}
    for component in recording.header.components:
        routing = np.array(even_routing(component.shards, slots), dtype=np.int64)
        parts[component.name] = OperatorPlan(routing, np.zeros(slots, dtype=np.int64))
    return Plan(parts, 1)


def hindsight_slots(
    recording: Recording, promise: Latency | None = None, target: float = 0.95, warm_up: float = 0.0
) -> int | None:
    """Return the fewest slots that, fixed for the whole run, would have kept a promise; None if no number would have.

    Args:
        recording: the recorded run.
        promise: the promise; by default that of the recorded run.
        target: the success rate from which on the promise counts as kept.
        warm_up: seconds from the start of the query in which epochs do not count.
    """
    wanted = promise or recording.header.promise
    if wanted is None:
        raise ConfigurationError("the recorded run made no promise: pass one, such as rh.Latency('1 second')")
    load = RecordedLoad.of(recording)
    for slots in range(1, most_slots(recording) + 1):
        if RunFigures.of(replay_slots(recording, slots, load), wanted, warm_up).success >= target:
            return slots
    return None


def most_slots(recording: Recording) -> int:
    """Return the most slots that the recorded run could have had: its limit, or one per core."""
    if recording.header.slots is not None:
        return recording.header.slots[1]
    cores = [int(t.observation.cores.sum()) for t in recording.turns]
    shards = [component.shards for component in recording.header.components]
    return max(min(max(cores, default=1), *shards), 1)


def _with_plans(recording: Recording, load: RecordedLoad, plan_at: Callable[[float], Plan]) -> Recording:
    """Return a replay in which the plan of an epoch follows from the time at which it begins."""
    engine, turns = RecordedEpochs(load, plan_at(load.begin)), []
    while not engine.ended:
        seen, plan = engine.step(), engine.plan
        turns.append(RecordedTurn(epoch=seen.epoch + 1, observation=seen, plan=plan))
        engine.apply(plan_at(engine.begin))
    return Recording(replace(recording.header, plan=plan_at(load.begin), policy="static", settings={}), tuple(turns))
