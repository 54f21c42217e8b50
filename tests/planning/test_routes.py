"""Fusion by cost: what is fused, what is kept apart, what users ask for, and when a checkpoint is planned anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.errors import CheckpointError, TopologyError
from rheostat.planning import compatibility
from rheostat.planning.enorm.fusion_cost import FusionFigures
from rheostat.planning.physical import plan_physical
from rheostat.planning.replan import Replan, figures_of, plan_again
from rheostat.planning.tables import PhysicalPlan
from rheostat.topology import aggregates as rh
from rheostat.topology.graph import Graph
from rheostat.windows.window import tumbling
from tests.planning.builders import components
from tests.topology.builders import Frame

COLUMNS = {"ts": "timestamp", "country": "string", "user": "string", "item": "bigint"}


def topology(**operators: tuple[tuple[str, ...], bool | str]) -> Graph:
    """Operators over one source: by name, their keys and what they are fused with."""
    stream = Graph("fusion").source(Frame(COLUMNS), event_time="ts")
    for name, (by, fuse) in operators.items():
        computed = stream.compute(name, by=by, fuse=fuse, n=rh.count())
        computed.consolidate(f"{name}_windows", tumbling("1 minute"))
    return stream.graph


def sales(users: bool | str = True, countries: bool | str = True) -> Graph:
    return topology(users=(("country", "user"), users), countries=(("country",), countries))


def measured(share: float, seconds: float = 2.0, slots: int = 8) -> dict[int, FusionFigures]:
    """A component by country whose busiest shard has a share of the work."""
    figures = FusionFigures(
        slots,
        {"users": 9_000.0, "countries": 10.0},
        {"users": seconds, "countries": 0.01},
        {frozenset({"country"}): share},
    )
    return {0: figures}


def test_nothing_known_means_fused_by_what_is_shared() -> None:
    plan = plan_physical(sales())
    assert components(plan) == {"by country": {"users", "countries"}}
    assert plan.notes == ("users, countries: fused by country; they share attributes; nothing is measured yet",)


def test_a_few_countries_do_not_cap_many_users() -> None:
    plan = plan_physical(sales(), None, measured(0.5))
    assert components(plan) == {"by country, user": {"users"}, "by country": {"countries"}}
    assert plan.notes == (
        "users and countries: not fused by country; the busiest shard would have 50% of the work: "
        "1 s per epoch, where 8 slots need 0.251 s",
    )


@pytest.mark.parametrize(
    ("share", "seconds", "slots"), [(0.01, 2.0, 8), (0.5, 0.05, 8), (0.5, 2.0, 2)], ids=["even", "idle", "two slots"]
)
def test_fused_where_it_costs_nothing(share: float, seconds: float, slots: int) -> None:
    plan = plan_physical(sales(), None, measured(share, seconds, slots))
    assert components(plan) == {"by country": {"users", "countries"}}
    assert "9,010 partials" in plan.notes[0]


def test_the_larger_traffic_wins_where_only_one_fusion_is_possible() -> None:
    graph = topology(both=(("user", "item"), True), users=(("user",), True), items=(("item",), True))
    for busy, idle in (("users", "items"), ("items", "users")):
        figures = FusionFigures(4, {"both": 100.0, busy: 50.0, idle: 1.0})
        plan = plan_physical(graph, None, {0: figures})
        assert {busy, "both"} in components(plan).values()


def test_users_forbid_a_fusion() -> None:
    plan = plan_physical(sales(users=False))
    assert components(plan) == {"users by country, user": {"users"}, "by country": {"countries"}}
    assert all(t.finer is None for t in plan.tables.values()), "what is apart aggregates its own rows"
    assert plan.notes == ("users and countries: not fused by country; as asked",)
    twins = topology(one=(("user",), False), two=(("user",), True), three=(("user",), True))
    assert components(plan_physical(twins)) == {"one by user": {"one"}, "by user": {"two", "three"}}


def test_users_pin_a_fusion() -> None:
    plan = plan_physical(sales(countries="users"), None, measured(0.5))
    assert components(plan) == {"by country": {"users", "countries"}}
    assert "as asked" in plan.notes[0]


@pytest.mark.parametrize(
    ("users", "countries", "message"),
    [
        ("nobody", True, "fuse='nobody' is no other operator that aggregates; there are countries"),
        ("users", True, "fuse='users' is no other operator"),
        ("countries", False, "'countries' is kept apart by fuse=False"),
    ],
)
def test_fusions_that_cannot_be(users: bool | str, countries: bool | str, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        plan_physical(sales(users, countries))


def test_a_pinned_fusion_needs_a_common_attribute() -> None:
    with pytest.raises(TopologyError, match="have no key attribute in common"):
        plan_physical(topology(users=(("user",), "items"), items=(("item",), True)))


OPERATORS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.tuples(
        st.lists(st.sampled_from(["country", "user", "item"]), unique=True).map(tuple), st.sampled_from([True, False])
    ),
    min_size=1,
)
FIGURES = st.one_of(
    st.none(),
    st.builds(
        FusionFigures,
        st.integers(1, 16),
        st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e6)),
        st.dictionaries(st.sampled_from("abcd"), st.floats(0, 10)),
        st.dictionaries(st.frozensets(st.sampled_from(["country", "user", "item"])), st.floats(0.001, 1.0)),
    ),
)


@given(OPERATORS, FIGURES)
def test_every_plan_is_sound(operators: dict[str, tuple[tuple[str, ...], bool]], figures: FusionFigures | None) -> None:
    """Every operator in one component, routed by attributes that it has; apart if it was asked for."""
    plan = plan_physical(topology(**operators), None, None if figures is None else {0: figures})
    homes = [o for members in components(plan).values() for o in members]
    assert sorted(homes) == sorted(operators)
    for table in plan.tables.values():
        assert set(table.route_by) <= set(table.keys)
        assert bool(table.route_by) == bool(table.keys)
        for operator in table.operators:
            if operators[operator][1] is False:
                assert (table.apart, table.operators) == (operator, (operator,))
                assert set(table.route_by) == set(table.keys)


def again(graph: Graph, before: PhysicalPlan, figures: dict[int, FusionFigures], old: Graph | None = None) -> Replan:
    """Continue with a graph from the checkpoint of a plan."""
    pins = compatibility.pins(compatibility.record(old or graph, before), graph)
    return plan_again(graph, pins, plan_physical(graph, pins), figures)


def test_a_checkpoint_is_planned_anew_only_if_it_is_worth_it() -> None:
    graph = sales()
    before = plan_physical(graph)
    assert again(graph, before, {}).rerouted == ()
    assert again(graph, before, measured(0.01)).rerouted == ()
    assert again(graph, before, measured(0.5, seconds=0.2)).rerouted == (), "a tenth of a second is not worth it"
    replan = again(graph, before, measured(0.5))
    assert replan.rerouted == ("users",)
    assert replan.plan.tables["users"].route_by == ("country", "user")
    assert replan.reason == "0.315 s per epoch instead of 1.03 s"
    back = again(graph, replan.plan, measured(0.01))
    assert back.rerouted == (), "one more task per slot does not pay for sharding again"


def test_what_users_ask_for_is_planned_anew_at_once() -> None:
    before = plan_physical(sales())
    replan = again(sales(users=False), before, {}, old=sales())
    assert replan.rerouted == ("users",)
    assert "as asked" in replan.reason
    assert again(sales(users=False), replan.plan, {}, old=sales(users=False)).rerouted == ()


def test_an_operator_cannot_leave_a_shared_table() -> None:
    shared = topology(one=(("user",), True), two=(("user",), True))
    recorded = compatibility.record(shared, plan_physical(shared))
    graph = topology(one=(("user",), False), two=(("user",), True))
    plan = plan_physical(graph, compatibility.pins(recorded, graph))
    with pytest.raises(CheckpointError, match="its state in the checkpoint is shared with two"):
        compatibility.check(recorded, graph, plan)


def test_figures_from_a_manifest() -> None:
    plan = plan_physical(sales())
    figures = figures_of(
        plan,
        {"users": {"partials": 90.0, "seconds": 3.0}},
        {"by country": ShardLoads.of(16, [(3, 3.0), (9, 1.0)])},
        {"by country": 4},
    )
    assert figures == {
        0: FusionFigures(4, {"users": 90.0}, {"users": 3.0}, {frozenset({"country"}): 0.75}),
    }
    assert figures_of(plan, {}, {}, {}) == {}
