"""Names in plans: a name in a checkpoint must stand for one thing only."""

from __future__ import annotations

import pytest

from rheostat.errors import TopologyError
from rheostat.planning.physical import plan_physical
from rheostat.topology import aggregates as rh
from rheostat.topology.aggregates import Aggregate
from tests.planning.builders import add, components
from tests.topology.builders import loans


def state_columns(*operators: dict[str, Aggregate]) -> list[str]:
    """Columns of the table that some operators share."""
    stream = loans()
    for number, aggregates in enumerate(operators):
        add(stream, f"op{number}", "area", aggregates=aggregates)
    (table,) = plan_physical(stream.graph).tables.values()
    return [c.name for c in table.layout.columns]


def user_written() -> Aggregate:
    return rh.own_aggregate(
        inputs=["cents"], partial=len, partials={"n": "bigint"}, merge=len, finish=len, result="bigint"
    )


def test_shared_partials_are_kept_once() -> None:
    columns = state_columns({"a": rh.mean("cents"), "b": rh.sum("cents")}, {"c": rh.count("cents"), "d": rh.count()})
    assert columns == ["hash", "k.area", "p.count(*)", "p.sum(cents)", "p.count(cents)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (rh.approx_distinct("user", lg_k=10), rh.approx_distinct("user", lg_k=14)),
        (rh.quantiles("amount", 0.5, k=100), rh.quantiles("amount", 0.5, k=400)),
        (rh.top_k("user", capacity=100), rh.top_k("user", capacity=1_000)),
    ],
)
def test_sketches_of_different_precision_are_kept_apart(one: Aggregate, other: Aggregate) -> None:
    columns = state_columns({"one": one, "other": other})
    assert len(set(columns)) == len(columns)


def test_user_written_aggregates_of_two_operators_are_kept_apart() -> None:
    columns = state_columns({"v": user_written()}, {"v": user_written()})
    assert len(set(columns)) == len(columns)


def test_tables_have_names_of_their_own() -> None:
    stream = loans()
    add(stream, "a", "area")
    add(stream, "b", "area")
    assert list(plan_physical(stream.graph).tables) == ["a+b"]
    with pytest.raises(TopologyError, match=r"an operator needs a name without '/' and '\+', not 'a\+b'"):
        add(stream, "a+b", "user")


def test_components_have_names_of_their_own() -> None:
    stream = loans(**{"global": "string"})
    add(stream, "a", "global")
    add(stream, "b")
    assert sorted(map(len, components(plan_physical(stream.graph)).values())) == [1, 1]
