"""Joint scaling of a running query, the baseline of ELYSIUM (section 5.2): one slot and one node at a time.

It decides once per assessment period by the measured use of slots and nodes, as ``joint_scaling`` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from rheostat.elastic.elysium.config_search import Bounds
from rheostat.elastic.elysium.configuration import Config, Thresholds
from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
from rheostat.elastic.elysium.joint_scaling import JointScaling
from rheostat.elastic.elysium.live.epoch_config import EpochConfig
from rheostat.elastic.elysium.live.live_elysium import EPOCH_THRESHOLDS, PERIOD, WAITS, check_live_options, propose
from rheostat.elastic.elysium.live.live_history import LiveHistory
from rheostat.elastic.elysium.live.query_profile import QueryProfile
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.loop.evacuation import NOBODY, evacuate
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.model.promise import Latency

_QUERY = "query"
"""Name of the only topology, for ``JointScaling``, which knows several."""


@dataclass(frozen=True, eq=False)
class LiveJointScaling:
    """Scales by one slot and one node at a time: an operator that needs a slot also gets a node.

    Runs on Spark: ``start(policy="joint-scaling", nodes=rh.nodes(1, 8))``. Runs in the simulator too, where it scales
    operators.

    Attributes:
        period: seconds between two decisions.
        thresholds: when operators and nodes are in stress, and when they are idle.
        fewest: fewest slots of an operator.
        most: most slots of an operator.
        nodes: fewest and most nodes; None to leave the number of nodes alone.
        profile: what is known before the first epoch; it decides nothing, and is kept for ELYSIUM.
        name: the name in reports.
        waits: time limits and rests of changes.

    >>> import numpy as np
    >>> from rheostat.elastic.model.epoch_law import EpochLaw
    >>> from rheostat.elastic.model.observation import OperatorObservation
    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> plan, rows = Plan({"sum": OperatorPlan.even(shards=8, slots=1)}, 1), np.full(8, 125.0)
    >>> found = OperatorObservation(plan=plan.operators["sum"], arrived=rows, completed=rows, useful=np.array([7.0]))
    >>> seen = Observation(time=10.0, seconds=10.0, operators={"sum": found}, cores=np.array([1]), external=100.0,
    ...                    law=EpochLaw())
    >>> policy = LiveJointScaling(nodes=(1, 4))
    >>> wanted = policy.decide(policy.learn(policy.begin(plan), seen), plan)
    >>> wanted.revisions[0].plan.slots, wanted.nodes, wanted.reasons
    (2, 2, ('+1 slot of sum, the busiest uses 70% of a core', 'nodes: 1 to 2'))
    """

    period: float = PERIOD
    thresholds: Thresholds = EPOCH_THRESHOLDS
    fewest: int = 1
    most: int = 1024
    nodes: tuple[int, int] | None = None
    profile: QueryProfile = field(default_factory=QueryProfile)
    name: str = "joint-scaling"
    waits: Waits = WAITS

    pause: ClassVar[Pause] = Pause.OPERATOR
    on_spark: ClassVar[bool] = True
    ahead: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_live_options(self.period, self.nodes)

    def keeping(self, promise: Latency | None, slots: tuple[int, int] | None = None) -> Self:  # noqa: ARG002
        """Return the policy with a range of slots. It decides by use; a promise is measured, not decided by.

        Args:
            promise: the promise of the query.
            slots: fewest and most slots; None to keep its own.
        """
        return self if slots is None else replace(self, fewest=slots[0], most=slots[1])

    def on_nodes(self, least: int, most: int) -> Self:
        """Return the policy with a range of nodes."""
        return replace(self, nodes=(least, most))

    def knowing(self, profile: QueryProfile) -> Self:
        """Return the policy with what is known of the query."""
        return replace(self, profile=profile)

    def profile_of(self, history: LiveHistory) -> QueryProfile:
        """Return what was learned, for a file."""
        return history.profile

    def begin(self, plan: Plan) -> LiveHistory:
        """Return the history before the first observation."""
        return LiveHistory.start(plan, self.period, self.profile)

    def learn(self, history: LiveHistory, observation: Observation) -> LiveHistory:
        """Return the history after one more epoch."""
        return history.after(observation)

    def decide(self, history: LiveHistory, plan: Plan) -> Proposal:
        """Propose one step if an assessment period has ended. Operators on nodes that are gone move at once."""
        evacuation = evacuate(plan, history.cores) if history.law is None else NOBODY  # Spark runs slots anywhere
        if evacuation.stuck or evacuation.revisions:
            return Proposal(evacuation.revisions, None, evacuation.reasons)
        last = history.assessments.last
        if not history.assessments.fresh or last is None:
            return STAY
        operators = tuple(
            ScalableOperator(name, max(min(self.most, len(part.routing)), 1), min(self.fewest, len(part.routing)))
            for name, part in plan.operators.items()
        )
        least, most = self.nodes or (plan.nodes, plan.nodes)
        joint = JointScaling({_QUERY: Dataflow(_QUERY, operators, ())}, Bounds(most, self.thresholds))
        used = {(_QUERY, name): use for name, use in last.slots.items() if len(use) == plan.operators[name].slots}
        now = Config({_QUERY: plan.slots()}, plan.nodes)
        step = joint.step_from(LoadHistory(slot_cpu=used, node_cpu=last.nodes), now)
        chosen = EpochConfig(
            step.config.parallelism[_QUERY],
            max(step.config.nodes, least),
            float("nan"),
            step.feasible,
            tuple(reason.removeprefix(f"{_QUERY}: ") for reason in step.reasons),
        )
        return propose(chosen, history, plan, scales_nodes=self.nodes is not None)
