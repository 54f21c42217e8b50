"""StreamSwitch as a policy: Examine, Diagnose and Treat, for every operator.

Every operator has a latency bound of its own. A bound for the whole path is divided between the operators, again and
again. In an engine with epochs, such as Spark, the micro-batch law takes the place of M/M/1, and all operators of a
query are decided on together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.loop.evacuation import NOBODY, evacuate
from rheostat.elastic.loop.free_cores import free_cores
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import STAY, Action, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.streamswitch.diagnose import diagnose
from rheostat.elastic.streamswitch.diagnosis import OURS, PUBLISHED, Diagnosis, Limits, Rules
from rheostat.elastic.streamswitch.epoch_diagnose import Situation, diagnose_epochs
from rheostat.elastic.streamswitch.epoch_examine import EpochExamination, epoch_readings
from rheostat.elastic.streamswitch.examine import Examination, advance, readings
from rheostat.elastic.streamswitch.path_bounds import PathBounds
from rheostat.elastic.streamswitch.readings import Metrics, Readings
from rheostat.elastic.streamswitch.treat import apply_diagnosis, drop_empty_slots, in_use
from rheostat.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class StreamSwitchHistory:
    """What the policy remembers between observations.

    Attributes:
        operators: Examine's state of every operator, by name.
        cores: number of cores of every node, from the last observation.
        path: the bounds of the operators under an end-to-end bound; None if there is no such bound.
        epochs: what is remembered of epochs; None in an engine without epochs.
    """

    operators: Mapping[str, Examination]
    cores: Ints
    path: PathBounds | None = None
    epochs: EpochExamination | None = None


@dataclass(frozen=True)
class StreamSwitch:
    """Keeps latency within a bound over a sliding window, with as few slots as possible (StreamSwitch).

    Runs on Spark, where it is what a promise picks: ``start(slo=rh.Latency("1 second"))``. Runs in the simulator too.

    Attributes:
        limits: latency bound, alert threshold, safety margin, and how many slots an operator may have.
        window: seconds over which latency is bounded: the paper's T.
        bounds: latency bounds of single operators in seconds, by name; the others have that of ``limits``.
        end_to_end: one bound in seconds for all operators together, instead of ``bounds``. It is divided such that all
            operators keep their part equally often (section 6.6). None for no such bound.
        lookback: seconds whose highest rate of rows decides whether slots can be given up; in an engine with epochs.
        ahead: True to have the rows of every epoch counted by shard before it begins, so that a key that turns hot is
            known at once. It takes a pass over the rows. Needs an engine with epochs.
        dividing: seconds after which ``end_to_end`` is divided again.
        name: name of the policy in reports.
        waits: how long to wait for a change, and how long to rest after one.
        rules: our additions to the paper's algorithm; ``StreamSwitch.published()`` has none of them.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> plan = Plan({"split": OperatorPlan.even(8, 2), "count": OperatorPlan.even(8, 2)}, 1)
    >>> StreamSwitch(end_to_end=2.0).begin(plan).path.bounds
    {'split': 1.0, 'count': 1.0}
    """

    limits: Limits = Limits()
    window: float = 1.0
    bounds: Mapping[str, float] = field(default_factory=dict)
    end_to_end: float | None = None
    lookback: float = 3.0
    ahead: bool = False
    dividing: float = 60.0
    name: str = "streamswitch"
    waits: Waits = Waits(rest=0.0, calm=1.0)
    rules: Rules = OURS

    pause: ClassVar[Pause] = Pause.PAIR
    on_spark: ClassVar[bool] = True
    rule: ClassVar[Callable[[Readings, Limits, Rules], Diagnosis]] = staticmethod(diagnose)
    epoch_rule: ClassVar[Callable[[Situation], Proposal]] = staticmethod(diagnose_epochs)

    def __post_init__(self) -> None:
        if not 0 <= self.lookback < np.inf:
            raise ConfigurationError(f"lookback={self.lookback}: must be 0 seconds or more")
        if self.end_to_end is None:
            return
        if self.bounds:
            raise ConfigurationError(
                "end_to_end and bounds are both given: pass the bound of the whole path, or one per operator"
            )
        if not (0 < self.end_to_end < np.inf and 0 < self.dividing < np.inf):
            raise ConfigurationError(
                f"end_to_end={self.end_to_end}, dividing={self.dividing}: both must be above 0 seconds"
            )

    @classmethod
    def published(cls, limits: Limits = Limits(), window: float = 1.0) -> Self:
        """Return the policy as published: overloaded slots are not ranked, and any improvement is enough.

        It does not rest either: the next change may come as soon as the last one is observed (section 4.3).

        >>> StreamSwitch.published().name, StreamSwitch.published().waits.calm
        ('streamswitch-published', 0.0)
        """
        waits = Waits(rest=0.0, calm=0.0)
        return cls(limits=limits, window=window, name=f"{cls.name}-published", waits=waits, rules=PUBLISHED)

    def keeping(self, promise: Latency | None, slots: tuple[int, int] | None = None) -> Self:
        """Return the policy with a user's promise as its bound, and a range of slots for every operator.

        Args:
            promise: bound and window; None to keep those of the policy.
            slots: fewest and most slots; None to keep those of the policy.

        >>> from rheostat.elastic.model.promise import Latency
        >>> StreamSwitch().keeping(Latency("2 seconds", over="5 seconds"), (2, 8)).limits.max_slots
        8
        """
        policy, limits = self, self.limits
        if slots is not None:
            limits = replace(limits, min_slots=slots[0], max_slots=slots[1])
        if promise is not None:
            limits = replace(limits, bound=promise.seconds, alert=min(limits.alert, promise.seconds))
            policy = replace(policy, window=promise.window, bounds={}, end_to_end=None)
        return replace(policy, limits=limits)

    def begin(self, plan: Plan) -> StreamSwitchHistory:
        """Return the history before the first observation."""
        stalls = self.rules.stalls
        operators = {
            n: Examination.start(len(p.routing), self.window, stalls=stalls) for n, p in plan.operators.items()
        }
        path = None if self.end_to_end is None else PathBounds.equal(self.end_to_end, list(operators))
        return StreamSwitchHistory(operators, np.zeros(0, dtype=np.int64), path)

    def learn(self, history: StreamSwitchHistory, observation: Observation) -> StreamSwitchHistory:
        """Return the history after one more observation: the paper's Examine."""
        if observation.law is not None:
            epochs = history.epochs or EpochExamination.start(
                {n: len(s.table.routing) for n, s in history.operators.items()}
            )
            epochs = epochs.after(observation, max(self.lookback, self.window))
            return replace(history, cores=observation.cores, epochs=epochs)
        states = dict(history.operators)
        for name, seen in observation.operators.items():
            if name in states:
                states[name] = advance(states[name], _metrics(observation.time, seen))
        path = history.path
        if path is not None:
            path = path.after(observation.time, {n: readings(s) for n, s in states.items()}, self.dividing)
        return StreamSwitchHistory(states, observation.cores, path)

    def decide(self, history: StreamSwitchHistory, plan: Plan) -> Proposal:
        """Propose a change for every operator by itself. Operators with slots on lost nodes are evacuated first.

        In an engine with epochs, all operators are decided on together.
        """
        evacuation = NOBODY if history.cores.all() else evacuate(plan, history.cores)
        if evacuation.stuck:
            return Proposal(evacuation.revisions, None, evacuation.reasons)
        if history.epochs is not None and not evacuation.revisions:
            return type(self).epoch_rule(self._situation(history.epochs, plan))
        revisions, reasons = list(evacuation.revisions), []
        evacuated = {revision.operator for revision in revisions}
        for name, state in history.operators.items():
            if name in evacuated:
                continue
            revision, why = self._revise(name, state, plan, history, revisions)
            reasons += [f"{name}: {reason}" for reason in why]
            if revision is not None:
                revisions.append(revision)
        return Proposal(tuple(revisions), None, tuple(reasons)) if revisions or reasons else STAY

    def _situation(self, epochs: EpochExamination, plan: Plan) -> Situation:
        """Return the operators of the plan with what was measured of them. An end-to-end bound is the bound of all."""
        limits = self.limits if self.end_to_end is None else replace(self.limits, bound=self.end_to_end)
        known = {name: part for name, part in plan.operators.items() if name in epochs.operators}
        seen = epoch_readings(epochs, self.window, limits.bound)
        return Situation(replace(seen, work={name: seen.work[name] for name in known}), limits, known)

    def _revise(
        self, name: str, state: Examination, plan: Plan, history: StreamSwitchHistory, others: Sequence[Revision]
    ) -> tuple[Revision | None, tuple[str, ...]]:
        """Diagnose one operator.

        Args:
            name: the operator.
            state: Examine's state of it.
            plan: the plan in force.
            history: what the policy remembers.
            others: revisions of other operators in this round, whose cores are taken.

        Returns:
            The revision, or None if nothing changes; and the reasons.
        """
        part, seen, limits = plan.operators[name], readings(state), self._limits(name, history.path)
        diagnosis = type(self).rule(seen, limits, self.rules)
        if diagnosis.action == Action.NOTHING and part.slots == len(seen.slots):
            return None, diagnosis.reasons
        if not state.table.routes(part.routing):
            return None, (*diagnosis.reasons, "waiting: the last measurements are of another routing")
        node = -1
        if diagnosis.action == Action.SCALE_OUT and not in_use(part, diagnosis.target):
            free = free_cores(plan, others, history.cores)
            if free.any():
                node = int(free.argmax())
            else:
                limits = replace(limits, max_slots=max(min(limits.max_slots, part.slots), limits.min_slots))
                diagnosis = type(self).rule(seen, limits, self.rules)
        if diagnosis.action == Action.NOTHING or diagnosis.target is None:
            return drop_empty_slots(name, part, seen.slots, limits.min_slots), diagnosis.reasons
        if node < 0 and not in_use(part, diagnosis.target):
            return None, (*diagnosis.reasons, f"{diagnosis.action} is not possible: all cores are in use")
        new = apply_diagnosis(part, diagnosis, node)
        return Revision(name, new, diagnosis.action, diagnosis.reasons, diagnosis.feasible), diagnosis.reasons

    def _limits(self, operator: str, path: PathBounds | None) -> Limits:
        bound = (self.bounds if path is None else path.bounds).get(operator)
        return self.limits if bound is None else replace(self.limits, bound=bound, alert=min(self.limits.alert, bound))


def _metrics(time: float, seen: OperatorObservation) -> Metrics:
    return Metrics(time, seen.arrived, seen.completed, seen.useful, seen.plan.routing)
