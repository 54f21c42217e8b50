"""Joint scaling of a running query, the baseline of ELYSIUM (section 5.2): one slot and one node at a time.

It decides once per assessment period by the measured use of slots and nodes, as ``joint_scaling`` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.elastic.elysium.config_search import Bounds
from rheostat.elastic.elysium.configuration import Config
from rheostat.elastic.elysium.dataflow import Dataflow, ScalableOperator
from rheostat.elastic.elysium.joint_scaling import JointScaling
from rheostat.elastic.elysium.live.epoch_config import EpochConfig
from rheostat.elastic.elysium.live.live_history import LiveHistory
from rheostat.elastic.elysium.live.live_policy import LivePolicy
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.model.plan import STAY, Plan, Proposal

_QUERY = "query"
"""Name of the only topology, for ``JointScaling``, which knows several."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LiveJointScaling(LivePolicy):
    """Scales by one slot and one node at a time: an operator that needs a slot also gets a node.

    Runs on Spark: ``start(policy="joint-scaling", nodes=rh.nodes(1, 8))``. Runs in the simulator too, where it scales
    operators.

    What it learns of operators decides nothing, and is kept for ELYSIUM.

    Attributes:
        name: the name in reports.

    >>> import numpy as np
    >>> from rheostat.elastic.model.epoch_law import EpochLaw
    >>> from rheostat.elastic.model.observation import Observation, OperatorObservation
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

    name: str = "joint-scaling"

    def assess(self, history: LiveHistory, plan: Plan) -> Proposal:
        """Propose one step if an assessment period has ended."""
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
        return self.propose(chosen, history, plan)
