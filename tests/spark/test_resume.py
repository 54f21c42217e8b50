"""The routing with which a query starts; no Spark session is needed."""

from __future__ import annotations

import pytest

from rheostat.elastic.routing.slot_choice import SlotChoice
from rheostat.elastic.routing.table import even_routing
from rheostat.errors import ConfigurationError
from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.resume import first_routing
from rheostat.topology import aggregates as rh
from rheostat.windows.window import tumbling
from tests.topology.builders import loans


def choice(slots: int | tuple[int, int] | None) -> SlotChoice:
    scales = isinstance(slots, tuple)
    return SlotChoice.of(slots, policy="test", scales=scales, cores=2, shards=4)


def by_area() -> PhysicalPlan:
    """A plan with one component that has keys."""
    stream = loans()
    stream.compute("a", by="area", aggregates={"n": rh.count()}).consolidate("w", tumbling("2 minutes"))
    return plan_physical(stream.graph)


def test_a_new_component_has_the_slots_asked_for_or_the_default() -> None:
    plan = by_area()
    name = plan.components[0].name
    assert first_routing(plan, 4, choice(None)) == {name: (0, 0, 1, 1)}
    assert first_routing(plan, 4, choice(4)) == {name: (0, 1, 2, 3)}


def test_a_component_keeps_its_routing_unless_another_number_of_slots_is_asked_for() -> None:
    plan = by_area()
    name = plan.components[0].name
    kept = {name: (0, 1, 0, 1)}
    assert first_routing(plan, 4, choice(None), kept=kept) == kept
    assert first_routing(plan, 4, choice(2), kept=kept) == kept
    assert max(first_routing(plan, 4, choice(3), kept=kept)[name]) == 2


@pytest.mark.parametrize("slots", [-1, 0, 5])
@pytest.mark.parametrize("new", [True, False])
def test_a_number_of_slots_that_cannot_be_is_refused(slots: int, new: bool) -> None:
    plan = by_area()
    kept = {} if new else {plan.components[0].name: (0, 0, 1, 1)}
    with pytest.raises(ConfigurationError, match=f"slots={slots}: a component has between 1 and 4 slots"):
        first_routing(plan, 4, choice(slots), kept=kept)


@pytest.mark.parametrize(("had", "starts"), [(None, 2), (1, 2), (2, 2), (3, 3), (4, 3)])
def test_with_a_range_a_new_component_has_the_fewest_and_another_one_what_it_had(had: int | None, starts: int) -> None:
    plan = by_area()
    name = plan.components[0].name
    kept = {} if had is None else {name: even_routing(4, had)}
    routing = first_routing(plan, 4, choice((2, 3)), kept=kept)[name]
    assert max(routing) + 1 == starts
    assert had != starts or routing == kept[name]
