"""StreamSwitch as a policy: Examine, Diagnose, Treat, operator by operator.

Operators are bounded one by one. An end-to-end bound is divided between them, and divided anew at intervals. The
simulator runs it; it is not connected to Spark yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.loop.evacuation import NOBODY, evacuate
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import STAY, Action, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.streamswitch.diagnose import diagnose
from rheostat.elastic.streamswitch.diagnosis import OURS, PUBLISHED, Diagnosis, Limits, Rules
from rheostat.elastic.streamswitch.examine import Examination, advance, readings
from rheostat.elastic.streamswitch.path_bounds import PathBounds
from rheostat.elastic.streamswitch.readings import Metrics, Readings
from rheostat.elastic.streamswitch.treat import free_cores, in_use, treated, without_empty
from rheostat.errors import TopologyError


@dataclass(frozen=True, eq=False)
class Examined:
    """What Examine knows of every operator, and where new slots may go.

    Attributes:
        operators: what is known of each, by name.
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
        name: how reports call it.
        waits: how long changes are waited for, and how long it rests after one.
        rules: what is added to the paper's algorithm; ``StreamSwitch.published()`` is without.

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
    rules: Rules = OURS

    pause: ClassVar[Pause] = Pause.PAIR
    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False
    rule: ClassVar[Callable[[Readings, Limits, Rules], Diagnosis]] = staticmethod(diagnose)

    def __post_init__(self) -> None:
        if self.end_to_end is None:
            return
        if self.bounds:
            raise TopologyError("end_to_end and bounds: give the bound of the whole path, or one for each operator")
        if not (0 < self.end_to_end < np.inf and 0 < self.dividing < np.inf):
            raise TopologyError(f"end_to_end={self.end_to_end}, dividing={self.dividing}: both are seconds above 0")

    @classmethod
    def published(cls, limits: Limits = Limits(), window: float = 1.0) -> Self:
        """As the paper prints it: overload has no degrees, any improvement is enough, and nothing rests.

        The next change may come as soon as the last one is observed (section 4.3).

        >>> StreamSwitch.published().name, StreamSwitch.published().waits.calm
        ('streamswitch-published', 0.0)
        """
        waits = Waits(rest=0.0, calm=0.0)
        return cls(limits=limits, window=window, name=f"{cls.name}-published", waits=waits, rules=PUBLISHED)

    def begin(self, plan: Plan) -> Examined:
        """Nothing examined yet."""
        stalls = self.rules.stalls
        operators = {
            n: Examination.start(len(p.routing), self.window, stalls=stalls) for n, p in plan.operators.items()
        }
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
        found = type(self).rule(seen, limits, self.rules)
        if found.action == Action.NOTHING and part.slots == len(seen.slots):
            return None, found.reasons
        if not state.table.routes(part.routing):
            return None, (*found.reasons, "what was measured belongs to another routing: wait")
        node = -1
        if found.action == Action.SCALE_OUT and not in_use(part, found.target):
            free = free_cores(plan, others, history.cores)
            if free.any():
                node = int(free.argmax())
            else:
                limits = replace(limits, max_slots=max(min(limits.max_slots, part.slots), limits.min_slots))
                found = type(self).rule(seen, limits, self.rules)
        if found.action == Action.NOTHING or found.target is None:
            return without_empty(name, part, seen.slots, limits.min_slots), found.reasons
        if node < 0 and not in_use(part, found.target):
            return None, (*found.reasons, f"{found.action} is not possible: all cores are in use")
        return Revision(name, treated(part, found, node), found.action, found.reasons, found.feasible), found.reasons

    def _limits(self, operator: str, path: PathBounds | None) -> Limits:
        bound = (self.bounds if path is None else path.bounds).get(operator)
        return self.limits if bound is None else replace(self.limits, bound=bound, alert=min(self.limits.alert, bound))


def _metrics(time: float, seen: OperatorObservation) -> Metrics:
    return Metrics(time, seen.arrived, seen.completed, seen.useful, seen.plan.routing)
