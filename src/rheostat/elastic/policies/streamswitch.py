"""StreamSwitch, and the baselines DRS and DRS-LB, as policies: Examine, then Diagnose, operator by operator.

Operators are bounded one by one. An end-to-end bound is given as one bound for each operator, which ``bounds`` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from rheostat.elastic.diagnose import diagnose
from rheostat.elastic.drs import drs, drs_lb
from rheostat.elastic.examine import Examination, advance, readings
from rheostat.elastic.observation import Observation, OperatorObservation
from rheostat.elastic.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.policy import Pause
from rheostat.elastic.readings import Metrics, Readings
from rheostat.elastic.treat import Waits
from rheostat.elastic.verdicts import Diagnosis, Limits


@dataclass(frozen=True, eq=False)
class Examined:
    """What Examine knows of every operator, and where new slots may go.

    Attributes:
        cores: how many cores every node has.
    """

    operators: Mapping[str, Examination]
    cores: np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class StreamSwitch:
    """Keeps latency within a bound over a sliding window, at least cost (StreamSwitch).

    Attributes:
        limits: latency bound L, alert threshold l, safety margin epsilon, and how many slots an operator may have.
        window: seconds over which latency is bounded: T.
        bounds: other latency bounds for single operators, in seconds.
    """

    limits: Limits = Limits()
    window: float = 1.0
    bounds: Mapping[str, float] = field(default_factory=dict)
    name: str = "streamswitch"
    waits: Waits = Waits(rest=0.0, calm=1.0)

    pause: ClassVar[Pause] = Pause.PAIR
    rule: ClassVar[Callable[[Readings, Limits], Diagnosis]] = staticmethod(diagnose)

    def begin(self, plan: Plan) -> Examined:
        """Nothing examined yet."""
        operators = {n: Examination.start(len(p.routing), self.window) for n, p in plan.operators.items()}
        return Examined(operators, np.zeros(0, dtype=np.int64))

    def learn(self, history: Examined, observation: Observation) -> Examined:
        """Examine one more interval."""
        states = dict(history.operators)
        for name, seen in observation.operators.items():
            if name in states:
                states[name] = advance(states[name], _metrics(observation.time, seen))
        return Examined(states, observation.cores)

    def decide(self, history: Examined, plan: Plan) -> Proposal:
        """Diagnose every operator; each is treated by itself."""
        revisions, reasons = [], []
        for name, state in history.operators.items():
            found = type(self).rule(readings(state), self._limits(name))
            reasons += [f"{name}: {reason}" for reason in found.reasons]
            if found.action == Action.NOTHING or found.target is None:
                continue
            wanted = _revised(plan, name, found, history.cores)
            if wanted is None:
                reasons.append(f"{name}: {found.action} is not possible: all cores are in use")
                continue
            revisions.append(Revision(name, wanted, found.action, found.reasons, found.feasible))
        return Proposal(tuple(revisions), None, tuple(reasons)) if revisions or reasons else STAY

    def _limits(self, operator: str) -> Limits:
        bound = self.bounds.get(operator)
        return self.limits if bound is None else replace(self.limits, bound=bound)


@dataclass(frozen=True)
class Drs(StreamSwitch):
    """As many slots as M/M/k asks for; which shards move is found as StreamSwitch does it (StreamSwitch section 6)."""

    name: str = "drs"
    rule: ClassVar[Callable[[Readings, Limits], Diagnosis]] = staticmethod(drs)


@dataclass(frozen=True)
class DrsLb(StreamSwitch):
    """DRS that balances the slots when it leaves their number alone (StreamSwitch section 6)."""

    name: str = "drs-lb"
    rule: ClassVar[Callable[[Readings, Limits], Diagnosis]] = staticmethod(drs_lb)


def _metrics(time: float, seen: OperatorObservation) -> Metrics:
    return Metrics(time, seen.arrived, seen.completed, seen.useful, seen.plan.routing)


def _revised(
    plan: Plan, operator: str, found: Diagnosis, cores: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> OperatorPlan | None:
    """The plan after a diagnosis; None if a new slot is wanted and no core is free."""
    old = plan.operators[operator]
    nodes = old.nodes.copy()
    target = found.target
    assert target is not None
    if target >= len(nodes) or nodes[target] < 0:
        room = cores - plan.cores(len(cores)) if len(cores) else np.zeros(1, dtype=np.int64)
        if not room.max(initial=0) > 0:
            return None
        nodes = np.r_[nodes, np.full(max(target + 1 - len(nodes), 0), -1)]
        nodes[target] = int(room.argmax())
    routing = np.asarray(found.routing, dtype=np.int64)
    if found.action == Action.SCALE_IN and found.source is not None:
        nodes[found.source] = -1
    return OperatorPlan(routing, nodes)
