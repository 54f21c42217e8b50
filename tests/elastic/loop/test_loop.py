"""The control loop: what is requested, when the policy decides, users' requests, proposals that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from rheostat.elastic.loop.actuation import RequestError, carry_out, notify_failed
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits

SHARDS = 4


def part(*routing: int) -> OperatorPlan:
    slots = np.arange(max(routing) + 1)
    return OperatorPlan(np.array(routing), np.where(np.isin(slots, routing), 0, -1))


HERE, THERE, ELSEWHERE = part(0, 0, 1, 1), part(0, 1, 1, 1), part(1, 1, 1, 1)
PLAN = Plan({"a": HERE, "b": HERE}, 2)


def revision(operator: str, plan: OperatorPlan = THERE, action: Action = Action.BALANCE) -> Revision:
    return Revision(operator, plan, action, ("because",))


@dataclass
class Scripted:
    """Says what it was told to say, one proposal after the other, and counts."""

    says: Sequence[Proposal]
    waits: Waits = Waits(rest=0.0, calm=0.0)
    name: str = "scripted"
    pause: Pause = Pause.NONE
    on_spark: bool = False
    ahead: bool = False
    asked: list[int] = field(default_factory=list)

    def begin(self, plan: Plan) -> int:
        return 0

    def learn(self, history: int, observation: Observation) -> int:
        return history + 1

    def decide(self, history: int, plan: Plan) -> Proposal:
        self.asked.append(history)
        return self.says[min(len(self.asked), len(self.says)) - 1]


def observed(time: float) -> Observation:
    return Observation(time=time, seconds=1.0, operators={}, cores=np.array([4, 4]), external=0.0)


def routings(request: Plan | None) -> dict[str, list[int]] | None:
    return None if request is None else {name: p.routing.tolist() for name, p in request.operators.items()}


def test_an_accepted_revision_is_requested_at_once_and_until_it_is_observed() -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal()])
    control = Control.start(policy, PLAN)
    first = turn(control, observed(1.0), PLAN)
    assert [r.operator for r in first.accepted] == ["a"]
    assert routings(first.request) == {"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]}
    again = turn(first.control, observed(2.0), PLAN)
    assert again.accepted == ()
    assert routings(again.request) == {"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]}
    assert again.request is not None
    done = turn(again.control, observed(3.0), again.request)
    assert done.request is None
    assert not done.control.treatments["a"].active


def test_nothing_is_requested_while_nothing_is_wanted() -> None:
    control = Control.start(Scripted([Proposal(reasons=("all is well",))]), PLAN)
    result = turn(control, observed(1.0), PLAN)
    assert (result.request, result.accepted, result.proposal.reasons) == (None, (), ("all is well",))


def test_the_policy_learns_always_and_decides_only_if_some_operator_is_free() -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal((revision("b"),)), Proposal()])
    control, plan = Control.start(policy, PLAN), PLAN
    for second in range(1, 6):
        control = turn(control, observed(float(second)), plan).control
    assert control.history == 5
    assert policy.asked == [1, 2]  # from then on both are in progress
    arrived = turn(control, observed(6.0), Plan({"a": THERE, "b": HERE}, 2))
    assert policy.asked == [1, 2, 6]
    assert not arrived.control.treatments["a"].active
    assert arrived.control.treatments["b"].active


def test_operators_are_treated_one_by_one() -> None:
    """While one change is in progress, the other operator may begin its own; the first cannot be changed again."""
    policy = Scripted([Proposal((revision("a"),)), Proposal((revision("a", ELSEWHERE), revision("b")))])
    first = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    second = turn(first.control, observed(2.0), PLAN)
    assert [r.operator for r in second.accepted] == ["b"]
    assert routings(second.request) == {"a": [0, 1, 1, 1], "b": [0, 1, 1, 1]}


def test_what_belongs_together_is_accepted_together() -> None:
    policy = Scripted([Proposal((revision("a"), revision("b")), together=True)])
    result = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    assert [r.operator for r in result.accepted] == ["a", "b"]


def test_what_belongs_together_is_refused_together() -> None:
    both = Proposal((revision("a", ELSEWHERE), revision("b")), together=True)
    policy = Scripted([Proposal((revision("a"),)), both])
    first = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    second = turn(first.control, observed(2.0), PLAN)
    assert second.accepted == ()
    assert routings(second.request) == {"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]}
    assert second.proposal is both


def test_a_refusal_of_what_belongs_together_says_why() -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal((revision("a", ELSEWHERE), revision("b")), together=True)])
    first = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    second = turn(first.control, observed(2.0), PLAN)
    notes = [note for t in second.control.treatments.values() for note in t.notes]
    assert any("refused" in note for note in notes)


def test_one_of_those_that_belong_together_may_need_nothing_more() -> None:
    """A revision to the plan that is there already is refused, and so are the others."""
    policy = Scripted([Proposal((revision("a", HERE), revision("b")), together=True)])
    assert turn(Control.start(policy, PLAN), observed(1.0), PLAN).accepted == ()


def test_a_second_revision_of_the_same_operator_is_refused() -> None:
    policy = Scripted([Proposal((revision("a"), revision("a", ELSEWHERE)))])
    found = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    assert routings(found.request) == {"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]}
    assert [r.plan for r in found.accepted] == [THERE]
    assert [str(r) for r in found.refused] == ["a: another change of the same operator was accepted in this turn"]


def test_revisions_of_unknown_operators_are_ignored() -> None:
    policy = Scripted([Proposal((revision("c"), revision("b")))])
    result = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    assert [r.operator for r in result.accepted] == ["b"]
    assert result.request is not None
    assert set(result.request.operators) == {"a", "b"}


def test_a_number_of_nodes_is_requested_until_it_is_there() -> None:
    policy = Scripted([Proposal(nodes=3), Proposal()])
    first = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    assert first.request is not None
    assert first.request.nodes == 3
    second = turn(first.control, observed(2.0), PLAN)
    assert second.request is not None
    assert second.request.nodes == 3
    assert turn(second.control, observed(3.0), second.request).request is None


def test_a_change_that_never_comes_true_is_given_up() -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal()], waits=Waits(limit=5.0, rest=0.0, calm=0.0))
    control = Control.start(policy, PLAN)
    requests = []
    for second in range(1, 10):
        result = turn(control, observed(float(second)), PLAN)
        control = result.control
        requests.append(result.request is not None)
    assert requests == [True] * 5 + [False] * 4
    assert "given up" in control.treatments["a"].notes[-1]


def test_after_a_change_there_is_rest_and_before_a_scale_in_more() -> None:
    waits = Waits(rest=2.0, calm=6.0)
    accepted: dict[Action, int] = {}
    for action in (Action.SCALE_OUT, Action.SCALE_IN):
        policy = Scripted([Proposal((revision("a"),)), Proposal((revision("a", ELSEWHERE, action),))], waits=waits)
        control, plan = Control.start(policy, PLAN), PLAN
        for second in range(1, 20):
            result = turn(control, observed(float(second)), plan)
            control = result.control
            if second > 1 and result.accepted:
                accepted[action] = second
                break
            plan = result.request or plan
    # Requested at 1 s, observed at 2 s.
    assert accepted == {Action.SCALE_OUT: 4, Action.SCALE_IN: 8}


@pytest.mark.parametrize("time", [np.nan, np.inf, -np.inf, -5.0])
def test_a_clock_that_says_nonsense_is_survived(time: float) -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal()])
    control, plan = Control.start(policy, PLAN), PLAN
    for moment in (1.0, time, 2.0, time, 3.0):
        result = turn(control, replace(observed(1.0), time=moment), plan)
        control, plan = result.control, result.request or plan
    assert routings(plan) == {"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]}
    assert not control.treatments["a"].active


def test_what_somebody_else_changed_meanwhile_is_kept() -> None:
    """We want shard 1 elsewhere; before that comes true, somebody moves shard 3. Both moves are requested."""
    policy = Scripted([Proposal((revision("a"),)), Proposal()])
    first = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    theirs: dict[str, Any] = {**PLAN.operators, "a": part(0, 0, 1, 0)}
    second = turn(first.control, observed(2.0), Plan(theirs, 2))
    assert routings(second.request) == {"a": [0, 1, 1, 0], "b": [0, 0, 1, 1]}


# Users' requests


def request(operator: str, plan: OperatorPlan = ELSEWHERE, hot: str = "") -> Revision:
    return Revision(operator, plan, Action.BALANCE, ("asked for",), urgent=True, asked="reassign", hot=hot)


def test_a_request_is_carried_out_like_what_the_policy_wants_and_before_it() -> None:
    policy = Scripted([Proposal((revision("a"), revision("b")))])
    found = turn(Control.start(policy, PLAN), observed(1.0), PLAN, [request("a")])
    assert routings(found.request) == {"a": [1, 1, 1, 1], "b": [0, 1, 1, 1]}
    assert [(r.operator, r.asked) for r in found.accepted] == [("a", "reassign"), ("b", "")]
    assert [str(r) for r in found.refused] == ["a: a user's request comes first"]


def test_a_request_that_changes_nothing_is_refused_and_still_comes_before_the_policy() -> None:
    policy = Scripted([Proposal((revision("a"),))])
    found = turn(Control.start(policy, PLAN), observed(1.0), PLAN, [request("a", HERE)])
    assert found.request is None
    assert [str(r) for r in found.refused] == ["a: it is already the plan in force", "a: a user's request comes first"]


def test_a_request_does_not_rest() -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal()], waits=Waits(rest=60.0, calm=60.0))
    first = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    assert first.request is not None
    second = turn(first.control, observed(2.0), first.request, [request("a")])
    assert [r.asked for r in second.accepted] == ["reassign"]


def test_a_request_is_refused_while_a_change_is_in_progress() -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal()])
    first = turn(Control.start(policy, PLAN), observed(1.0), PLAN)
    second = turn(first.control, observed(2.0), PLAN, [request("a")])  # the first is not observed yet
    assert [str(r) for r in second.refused] == ["a: balance is in progress"]


def test_the_policy_sees_operators_that_were_asked_to_change_as_they_are_going_to_be() -> None:
    plans: list[Plan] = []

    class Looking(Scripted):
        def decide(self, history: int, plan: Plan) -> Proposal:
            plans.append(plan)
            return Proposal()

    turn(Control.start(Looking([]), PLAN), observed(1.0), PLAN, [request("a")])
    assert plans[0].operators["a"].routing.tolist() == [1, 1, 1, 1]
    turn(Control.start(Looking([]), PLAN), observed(1.0), PLAN, [request("a"), request("b")])
    assert len(plans) == 1  # nothing is left to decide


def test_all_of_what_belongs_together_gives_way_to_a_request_with_its_nodes() -> None:
    policy = Scripted([Proposal((revision("a"), revision("b")), nodes=5, together=True)])
    found = turn(Control.start(policy, PLAN), observed(1.0), PLAN, [request("a")])
    assert found.request is not None
    assert (routings(found.request), found.request.nodes) == ({"a": [1, 1, 1, 1], "b": [0, 0, 1, 1]}, 2)


def test_what_is_too_hot_is_told_whether_or_not_anything_changes() -> None:
    says = Proposal((Revision("b", HERE, Action.NOTHING, (), hot="shard 3"),))
    found = turn(Control.start(Scripted([says]), PLAN), observed(1.0), PLAN, [request("a", HERE, "shard 0")])
    assert found.hot == {"a": "shard 0", "b": "shard 3"}
    assert found.request is None


def test_requests_for_unknown_operators_are_ignored() -> None:
    found = turn(Control.start(Scripted([Proposal()]), PLAN), observed(1.0), PLAN, [request("c")])
    assert (found.request, found.refused) == (None, ())


def test_a_policy_at_work_takes_requests_from_its_inbox_once() -> None:
    cluster = Cluster()
    loop = PolicyLoop(Scripted([Proposal()]), PLAN, cluster)
    loads = {"a": np.array([4.0, 1.0, 1.0, 1.0]), "b": np.ones(4)}
    loop.inbox.rescale(1, "b")
    loop.inbox.rebalance(1.2, "a")
    found = loop.turn(observed(1.0), cluster.plan, loads)
    assert [(r.operator, r.asked) for r in found.accepted] == [("b", "rescale"), ("a", "rebalance")]
    assert routings(cluster.plan) == {"a": [0, 1, 1, 1], "b": [0, 0, 0, 0]}
    assert loop.turn(observed(2.0), cluster.plan, loads).request is None
    assert "balance observed" in loop.control.treatments["a"].notes[-1]


def test_a_request_during_a_change_is_carried_out_after_it() -> None:
    """The first request takes three turns. What is asked meanwhile waits; a newer request for the same replaces it."""
    cluster, engine = Cluster(), Cluster()
    loop = PolicyLoop(Scripted([Proposal()]), PLAN, cluster)
    loads = {"a": np.ones(4), "b": np.ones(4)}
    loop.inbox.rescale(1, "a")
    loop.turn(observed(1.0), engine.plan, loads)
    loop.inbox.rescale(3, "a")
    waits = loop.turn(observed(2.0), engine.plan, loads)
    assert [str(r) for r in waits.refused] == ["a: scale in is in progress"]
    loop.inbox.rescale(4, "a")
    loop.turn(observed(3.0), engine.plan, loads)
    engine.plan = cluster.plan
    done = loop.turn(observed(4.0), engine.plan, loads)
    assert [(r.asked, r.plan.slots) for r in done.accepted] == [("rescale", 4)]
    assert cluster.plan.slots() == {"a": 4, "b": 2}
    assert loop.turn(observed(5.0), cluster.plan, loads).request is None
    assert loop.inbox.take() == {}


# Failures


@dataclass
class Cluster:
    """An actuator that makes every plan real at once, but fails a number of times before."""

    plan: Plan = PLAN
    failures: int = 0
    asked: int = 0

    def apply(self, plan: Plan) -> None:
        self.asked += 1
        if self.asked <= self.failures:
            raise RequestError("no such cluster")
        self.plan = plan


def driven(cluster: Cluster, policy: Scripted, turns: int, control: Control | None = None) -> Control:
    control = control or Control.start(policy, cluster.plan)
    for now in range(turns):
        control = carry_out(turn(control, observed(float(now)), cluster.plan), cluster, float(now))
    return control


def test_a_request_that_fails_is_made_again_until_it_succeeds() -> None:
    cluster, policy = Cluster(failures=2), Scripted([Proposal((revision("a"),)), Proposal()])
    control = driven(cluster, policy, 4)
    assert (cluster.asked, routings(cluster.plan)) == (3, routings(Plan({"a": THERE, "b": HERE}, 2)))
    notes = " | ".join(control.treatments["a"].notes)
    assert "0 s: balance failed, 1 of 3: no such cluster | 1 s: balance failed, 2 of 3" in notes
    assert "balance observed" in notes
    # Nothing was requested of b, so nothing failed.
    assert control.treatments["b"].notes == ()


def test_a_request_that_always_fails_is_given_up() -> None:
    cluster, policy = Cluster(failures=99), Scripted([Proposal((revision("a"),)), Proposal()])
    control = driven(cluster, policy, 6)
    assert (cluster.asked, routings(cluster.plan)) == (3, routings(PLAN))
    assert "given up after failure 3 of 3: no such cluster" in control.treatments["a"].notes[-1]


def test_a_failure_that_is_reported_later_counts_as_well() -> None:
    policy = Scripted([Proposal((revision("a"),)), Proposal()], Waits(attempts=1, rest=0.0, calm=0.0))
    control = turn(Control.start(policy, PLAN), observed(0.0), PLAN).control
    control = notify_failed(control, ["a"], "the node is gone", 1.0)
    assert not control.treatments["a"].active
    assert turn(control, observed(2.0), PLAN).request is None


def test_other_errors_are_not_taken_for_failures() -> None:
    class Broken:
        def apply(self, plan: Plan) -> None:
            raise IndexError(plan.nodes)

    policy = Scripted([Proposal((revision("a"),))])
    with pytest.raises(IndexError):
        carry_out(turn(Control.start(policy, PLAN), observed(0.0), PLAN), Broken(), 0.0)
