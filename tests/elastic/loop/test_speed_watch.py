"""The loop lets work follow the speed of nodes, for every policy that may move shards."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.elastic.baselines.plain_balance import Balance
from rheostat.elastic.baselines.static import Static
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.node_speeds import NodeSpeeds
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import LiveElysium, StreamSwitch

HOSTS = ("a", "b", "c")
TRUE_SPEEDS = np.array([1.0, 1.0, 0.5])
SHARDS = 96


def observe(plan: Plan, speeds: NodeSpeeds, epoch: int, uneven: bool) -> Observation:
    """What an epoch of rows of different cost measures on nodes of which one is slow.

    Slots run anywhere until nodes count as uneven; then they have homes.
    """
    random = np.random.default_rng(epoch)
    part, rows = plan.operators["sum"], random.poisson(100, SHARDS).astype(float)
    cost = np.random.default_rng(7).uniform(0.5e-3, 2e-3, SHARDS) * random.lognormal(0.0, 0.05, SHARDS)
    places = np.arange(3) if uneven else random.permutation(3)
    work = rows * cost / TRUE_SPEEDS[places][part.routing]
    seen = OperatorObservation(
        plan=part,
        arrived=rows * epoch,
        completed=rows * epoch,
        useful=np.bincount(part.routing, weights=work, minlength=3).astype(np.float64),
        work=work,
        rows=rows,
        executors=tuple(HOSTS[place] for place in places),
        homes=HOSTS if uneven else (),
    )
    return Observation(
        time=float(epoch),
        seconds=1.0,
        operators={"sum": seen},
        cores=np.ones(3, dtype=np.int64),
        epoch=epoch,
        executors=HOSTS,
        hosts=HOSTS,
        speeds=speeds.by_node(HOSTS),
        external=float(rows.sum()),
    )


def run(policy: Policy, homes: bool = True, epochs: int = 80) -> tuple[Plan, list[str]]:
    """The plan after some epochs, and why it changed."""
    plan = Plan({"sum": OperatorPlan.even(SHARDS, 3, 3)}, 3)
    control, speeds, uneven, reasons = Control.start(policy, plan), NodeSpeeds(), False, []
    for epoch in range(1, epochs):
        seen = observe(plan, speeds, epoch, uneven)
        result = turn(control, seen, plan)
        control, plan = result.control, result.request or plan
        speeds = speeds.after(seen.operators)
        uneven = homes and speeds.uneven(HOSTS, uneven)
        reasons += [reason for r in result.accepted for reason in r.reasons]
    return plan, reasons


@pytest.mark.parametrize(
    "policy", [Balance(), StreamSwitch(), LiveElysium(fewest=3, most=3)], ids=lambda p: str(p.name)
)
def test_a_node_at_half_speed_gets_half_the_work(policy: Policy) -> None:
    plan, reasons = run(policy)
    cost = np.random.default_rng(7).uniform(0.5e-3, 2e-3, SHARDS)
    shares = np.bincount(plan.operators["sum"].routing, weights=cost, minlength=3) / cost.sum()
    assert shares == pytest.approx(TRUE_SPEEDS / TRUE_SPEEDS.sum(), rel=0.1)
    assert any("of the speed of the fastest" in reason for reason in reasons)


def test_nothing_follows_speed_where_shards_never_move_or_slots_have_no_homes() -> None:
    for plan, reasons in (run(Static()), run(Balance(threshold=9.0), homes=False)):
        assert not reasons
        assert plan.operators["sum"].same(OperatorPlan.even(SHARDS, 3, 3))
