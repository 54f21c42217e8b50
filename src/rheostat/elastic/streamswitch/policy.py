"""StreamSwitch, and the baselines DRS and DRS-LB, as policies: Examine, then Diagnose, operator by operator.

Operators are bounded one by one. An end-to-end bound is divided between them, and divided anew at intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.baselines.drs import drs, drs_lb
from rheostat.elastic.loop.evacuation import NOBODY, evacuate
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.streamswitch.diagnose import diagnose
from rheostat.elastic.streamswitch.diagnosis import Diagnosis, Limits
from rheostat.elastic.streamswitch.examine import Examination, advance, readings
from rheostat.elastic.streamswitch.path_bounds import PathBounds
from rheostat.elastic.streamswitch.readings import Metrics, Readings
from rheostat.errors import TopologyError


@dataclass(frozen=True, eq=False)
class Examined:
    """What Examine knows of every operator, and where new slots may go.

    Attributes:
        cores: how many cores every node has.
        path: bounds of single operators while an end-to-end bound is divided between them.
    """

    operators: Mapping[str, Examination]
    cores: Ints
    path: PathBounds | None = None


@dataclass(frozen=True)
class StreamSwitch:
    """Keeps latency within a bound over a sliding window, at least cost (StreamSwitch).

    Runs in the simulator; it is not connected to Spark yet.

    Attributes:
        limits: latency bound L, alert threshold l, safety margin epsilon, and how many slots an operator may have.
        window: seconds over which latency is bounded: T.
        bounds: other latency bounds for single operators, in seconds.
        end_to_end: one bound for all operators together, in seconds, divided such that all keep their part equally
            often (section 6.6). Given instead of ``bounds``.
        dividing: seconds after which it is divided anew.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> plan = Plan({"split": OperatorPlan.even(8, 2), "count": OperatorPlan.even(8, 2)}, 1)
    >>> StreamSwitch(end_to_end=2.0).begin(plan).path.bounds
    {'split': 1.0, 'count': 1.0}
    """

    limits: Limits = Limits()
    window: float = 1.0
    bounds: Mapping[str, float] = field(default_factory=dict)
    end_to_end: float | None = None
    dividing: float = 60.0
    name: str = "streamswitch"
    waits: Waits = Waits(rest=0.0, calm=1.0)

    pause: ClassVar[Pause] = Pause.PAIR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False
    rule: ClassVar[Callable[[Readings, Limits], Diagnosis]] = staticmethod(diagnose)

    def __post_init__(self) -> None:
        if self.end_to_end is None:
            return
        if self.bounds:
            raise TopologyError("end_to_end and bounds: give the bound of the whole path, or one for each operator")
        if not (0 < self.end_to_end < np.inf and 0 < self.dividing < np.inf):
            raise TopologyError(f"end_to_end={self.end_to_end}, dividing={self.dividing}: both are seconds above 0")

    def begin(self, plan: Plan) -> Examined:
        """Nothing examined yet."""
        operators = {n: Examination.start(len(p.routing), self.window) for n, p in plan.operators.items()}
        path = None if self.end_to_end is None else PathBounds.equal(self.end_to_end, list(operators))
        return Examined(operators, np.zeros(0, dtype=np.int64), path)

    def learn(self, history: Examined, observation: Observation) -> Examined:
        """Examine one more interval."""
        states = dict(history.operators)
        for name, seen in observation.operators.items():
            if name in states:
                states[name] = advance(states[name], _metrics(observation.time, seen))
        path = history.path
        if path is not None:
            path = path.after(observation.time, {n: readings(s) for n, s in states.items()}, self.dividing)
        return Examined(states, observation.cores, path)

    def decide(self, history: Examined, plan: Plan) -> Proposal:
        """Diagnose every operator; each is treated by itself. Slots on nodes that have gone come first."""
        fled = NOBODY if history.cores.all() else evacuate(plan, history.cores)
        if fled.stuck:
            return Proposal(fled.revisions, None, fled.reasons)
        revisions, reasons = list(fled.revisions), []
        fleeing = {revision.operator for revision in revisions}
        for name, state in history.operators.items():
            if name in fleeing:
                continue
            revision, found = self._diagnosed(name, state, plan, history, revisions)
            reasons += [f"{name}: {reason}" for reason in found]
            if revision is not None:
                revisions.append(revision)
        return Proposal(tuple(revisions), None, tuple(reasons)) if revisions or reasons else STAY

    def _diagnosed(
        self, name: str, state: Examination, plan: Plan, history: Examined, others: Sequence[Revision]
    ) -> tuple[Revision | None, tuple[str, ...]]:
        """What becomes of one operator, and why; ``others`` are the revisions so far, whose cores are taken."""
        part, seen, limits = plan.operators[name], readings(state), self._limits(name, history.path)
        found = type(self).rule(seen, limits)
        if found.action == Action.NOTHING and part.slots == len(seen.slots):
            return None, found.reasons
        if not state.table.routes(part.routing):
            return None, (*found.reasons, "what was measured belongs to another routing: wait")
        node = -1
        if found.action == Action.SCALE_OUT and not _used(part, found.target):
            free = _free(plan, others, history.cores)
            if free.any():
                node = int(free.argmax())
            else:
                limits = replace(limits, max_slots=max(min(limits.max_slots, part.slots), limits.min_slots))
                found = type(self).rule(seen, limits)
        if found.action == Action.NOTHING or found.target is None:
            return _given_back(name, part, seen.slots, limits.min_slots), found.reasons
        if node < 0 and not _used(part, found.target):
            return None, (*found.reasons, f"{found.action} is not possible: all cores are in use")
        return Revision(name, _revised(part, found, node), found.action, found.reasons, found.feasible), found.reasons

    def _limits(self, operator: str, path: PathBounds | None) -> Limits:
        bound = (self.bounds if path is None else path.bounds).get(operator)
        return self.limits if bound is None else replace(self.limits, bound=bound, alert=min(self.limits.alert, bound))


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


def _used(part: OperatorPlan, slot: int | None) -> bool:
    return slot is not None and slot < len(part.nodes) and bool(part.nodes[slot] >= 0)


def _free(plan: Plan, revisions: Sequence[Revision], cores: Ints) -> Ints:
    """Cores of every node that nobody has or is about to get; what is about to be given up is still in use."""
    if not len(cores):
        return cores
    used = plan.cores(len(cores))[: len(cores)]
    for revision in revisions:
        old, new = plan.operators[revision.operator].nodes, revision.plan.nodes
        before = np.r_[old, np.full(max(len(new) - len(old), 0), -1)][: len(new)]
        used = used + np.bincount(new[(new >= 0) & (before < 0)], minlength=len(cores))[: len(cores)]
    free: Ints = np.maximum(cores - used, 0)
    return free


def _given_back(name: str, part: OperatorPlan, loaded: Sequence[int], fewest: int) -> Revision | None:
    """Without slots that have no shard, down to the fewest that are wanted; None if there is none."""
    empty = np.setdiff1d(part.used, loaded)[max(fewest - len(loaded), 0) :]
    if not len(empty):
        return None
    nodes = part.nodes.copy()
    nodes[empty] = -1
    text = f"slots {', '.join(map(str, empty.tolist()))} have no shards"
    return Revision(name, OperatorPlan(part.routing, nodes), Action.SCALE_IN, (text,))


def _revised(part: OperatorPlan, found: Diagnosis, node: int) -> OperatorPlan:
    """The plan after a diagnosis; a new slot goes to the node."""
    target = found.target
    assert target is not None
    nodes = np.r_[part.nodes, np.full(max(target + 1 - len(part.nodes), 0), -1)]
    if nodes[target] < 0:
        nodes[target] = node
    if found.action == Action.SCALE_IN and found.source is not None:
        nodes[found.source] = -1
    return OperatorPlan(np.asarray(found.routing, dtype=np.int64), nodes)
