"""Physical plans: which operators share a table, a component, a level."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.choices import Emit
from rheostat.errors import TopologyError
from rheostat.planning.physical import plan_physical
from rheostat.topology import aggregates as rh
from rheostat.topology.aggregates import Aggregate
from rheostat.topology.graph import Graph
from rheostat.windows.partials import ROW_COUNT, Column
from rheostat.windows.window import Window, sliding, tumbling
from tests.planning.builders import MINUTE, add, components, lending, with_keys
from tests.topology.builders import LOANS, Frame, loans

KEYS = st.dictionaries(
    st.sampled_from([f"op{i}" for i in range(6)]), st.lists(st.sampled_from("abc"), unique=True).map(tuple), min_size=1
)


def test_the_papers_job_runs_in_two_components() -> None:
    plan = plan_physical(lending())
    assert components(plan) == {"by area": {"op2", "op3"}, "global": {"op4", "op5"}}
    assert plan.levels == 1


def test_operators_with_the_same_keys_and_windows_share_a_table() -> None:
    plan = plan_physical(lending())
    assert set(plan.tables) == {"op2+op3", "op4+op5"}
    table = plan.tables["op2+op3"]
    assert table.operators == ("op2", "op3")
    assert table.layout.keys == (Column("k.area", "string"),)
    assert table.layout.partials[0] == ROW_COUNT
    assert len(set(table.layout.partials)) == len(table.layout.partials)
    assert [(o.operator, [a.name for a in o.aggregates]) for o in table.outputs] == [
        ("op2_windows", ["rate", "largest"]),
        ("op3_windows", ["approved"]),
    ]


def test_other_keys_windows_or_streams_are_other_tables() -> None:
    stream = loans()
    add(stream, "a", "area")
    add(stream, "b", "user")
    add(stream, "c", "area", tumbling("1 hour"))
    add(stream.map("m", lambda frame: frame), "d", "area")
    assert set(plan_physical(stream.graph).tables) == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("windows", "shared"),
    [
        (tumbling("5 minutes", "20 minutes"), True),
        (sliding("10 minutes", every="2 minutes"), True),
        (tumbling("24 minutes"), True),
        (tumbling("25 minutes"), False),  # too many panes to keep them for this
        (tumbling("90 seconds"), False),  # finer panes than either needs
        (tumbling("5 minutes", offset="30 seconds"), False),
        (tumbling("20 days"), False),
    ],
)
def test_windows_of_the_same_panes_share_a_table(windows: tuple[Window, ...], shared: bool) -> None:
    for order in (1, -1):
        stream = loans()
        for name, wanted in (("fine", MINUTE), ("coarse", windows))[::order]:
            add(stream, name, "area", wanted, {"n": rh.count(), f"x_{name}": rh.sum("amount")})
        tables = plan_physical(stream.graph).tables
        assert len(tables) == (1 if shared else 2)
        if shared:
            (table,) = tables.values()
            assert table.plan.pane == MINUTE[0]
            found = {o.operator: set(o.windows.values()) for o in table.outputs}
            assert found == {"fine_windows": set(MINUTE), "coarse_windows": set(windows)}


def test_panes_that_are_kept_for_long_anyway_are_shared() -> None:
    stream = loans()
    add(stream, "fine", "area", sliding("1 hour", every="1 minute"))
    add(stream, "coarse", "area", tumbling("1 hour"))
    assert set(plan_physical(stream.graph).tables) == {"fine+coarse"}


def test_windows_that_emit_updates_and_sketches_are_not_kept_in_the_panes_of_others() -> None:
    five = tumbling("5 minutes")
    cases: list[tuple[Emit, Aggregate]] = [("update", rh.count()), ("append", rh.approx_distinct("user"))]
    for emit, wanted in cases:
        stream = loans()
        add(stream, "a", "area")
        add(stream, "b", "area", five, {"x": wanted}, emit)
        assert set(plan_physical(stream.graph).tables) == {"a", "b"}


def test_the_order_in_which_windows_are_asked_for_does_not_matter() -> None:
    stream = loans()
    add(stream, "a", "area", tumbling("1 minute", "1 hour"))
    add(stream, "b", "area", tumbling("1 hour", "1 minute"))
    assert set(plan_physical(stream.graph).tables) == {"a+b"}


def test_windows_of_several_consolidates_are_derived_together() -> None:
    stream = loans()
    computed = stream.compute("a", by="area", n=rh.count())
    computed.consolidate("small", tumbling("1 minute", "5 minutes"))
    computed.consolidate("large", tumbling("1 hour"), emit="update")
    (table,) = plan_physical(stream.graph).tables.values()
    assert [g.window.label for g in table.plan.granules if g.requested] == ["1 minute", "5 minutes", "1 hour"]
    assert {o.operator: [w.label for w in o.windows.values()] for o in table.outputs} == {
        "small": ["1 minute", "5 minutes"],
        "large": ["1 hour"],
    }
    assert table.plan.panes_only


def test_running_totals_only_if_everything_can_be_subtracted() -> None:
    for aggregate, running in ((rh.sum("cents"), True), (rh.sum("price"), True), (rh.sum("amount"), False)):
        stream = loans()
        add(stream, "a", "area", sliding("1 hour", every="1 minute"), {"x": aggregate})
        (table,) = plan_physical(stream.graph).tables.values()
        assert any(g.running for g in table.plan.granules) == running


def test_coarser_keys_are_rolled_up_from_finer_ones() -> None:
    stream = loans()
    add(stream, "overall")
    add(stream, "by_area", "area")
    add(stream, "by_both", ["area", "grade"])
    add(stream, "hourly", ["area", "grade"], tumbling("1 hour"))
    add(stream, "by_user", "user")
    finer = {t.name: t.finer for t in plan_physical(stream.graph).tables.values()}
    assert finer == {
        "overall": "by_area",
        "by_area": "by_both",
        "by_both": None,
        "hourly": "by_both",
        "by_user": None,
    }


@pytest.mark.parametrize(
    "windows", [tumbling("90 seconds"), tumbling("1 minute", offset="30 seconds")], ids=["size", "offset"]
)
def test_nothing_is_rolled_up_across_panes(windows: object) -> None:
    stream = loans()
    add(stream, "fine", ["area", "grade"], tumbling("1 minute"))
    add(stream, "coarse", "area", windows)  # type: ignore[arg-type]
    assert plan_physical(stream.graph).tables["coarse"].finer is None


def test_partials_that_cannot_be_rolled_up_come_from_rows() -> None:
    stream = loans()
    add(stream, "fine", ["area", "grade"])
    add(stream, "coarse", "area", aggregates={"v": rh.variance("amount")})
    assert plan_physical(stream.graph).tables["coarse"].finer is None


def test_windows_over_windows_run_in_levels() -> None:
    stream = loans()
    minutes = add(stream, "minutes", ["area", "grade"])
    hours = add(minutes.map("m", lambda frame: frame), "hours", "area", tumbling("1 hour"), {"n": rh.sum("n")})
    add(hours, "days", (), tumbling("1 day"), {"n": rh.sum("n")})
    plan = plan_physical(stream.graph)
    assert plan.levels == 3
    assert {t.name: (t.level, t.clock) for t in plan.tables.values()} == {
        "minutes": (0, "source"),
        "hours": (1, "source"),
        "days": (2, "source"),
    }
    assert [c.name for c in plan.components] == ["by area, grade", "by area @1", "global @2"]
    assert [t.name for t in plan.tables_at(1)] == ["hours"]
    assert [c.name for c in plan.components_at(2)] == ["global @2"]


def test_a_topology_without_windows_has_no_level() -> None:
    assert plan_physical(loans().graph).levels == 0


def test_sources_have_watermarks_of_their_own() -> None:
    graph = Graph("two")
    for name in ("one", "two"):
        add(graph.source(Frame(LOANS), event_time="ts", name=name), f"by_{name}", "area")
    plan = plan_physical(graph)
    assert {t.name: t.clock for t in plan.tables.values()} == {"by_one": "one", "by_two": "two"}
    assert components(plan) == {"by area": {"by_one", "by_two"}}


@settings(max_examples=100, deadline=None)
@given(KEYS)
def test_every_operator_is_routed_by_some_of_its_keys(keys: dict[str, tuple[str, ...]]) -> None:
    plan = plan_physical(with_keys(keys))
    homes = [o for c in plan.components for t in c.tables for o in plan.tables[t].operators]
    assert sorted(homes) == sorted(keys)
    assert len({c.name for c in plan.components}) == len(plan.components)
    for component in plan.components:
        for name in component.tables:
            table = plan.tables[name]
            assert table.route_by == component.attributes
            assert set(table.route_by) <= set(table.keys)
            assert bool(table.route_by) == bool(table.keys)


def test_fusion_does_not_depend_on_the_names_of_operators() -> None:
    by = [("user",), ("area",), ("area", "user")]
    plans = [
        plan_physical(with_keys(dict(zip(names, by, strict=True))))
        for names in (("a", "b", "c"), ("a", "from source", "c"))
    ]
    routes = [[t.route_by for t in plan.tables.values()] for plan in plans]
    assert routes[0] == routes[1] == [("user",), ("area",), ("user",)]


def test_equal_keys_in_another_order_are_routed_alike() -> None:
    plan = plan_physical(with_keys({"one": ("b", "a"), "other": ("a", "b")}))
    assert [c.attributes for c in plan.components] == [("a", "b")]
    assert {t.keys for t in plan.tables.values()} == {("b", "a"), ("a", "b")}


def test_consolidates_that_do_not_fit_together_are_refused() -> None:
    stream = loans()
    computed = stream.compute("a", n=rh.count())
    computed.consolidate("one", MINUTE)
    with pytest.raises(TopologyError, match="operator 'other': window '1 minute.* needs 60000000 panes"):
        computed.consolidate("other", tumbling("1 minute", offset="1 microsecond"))
