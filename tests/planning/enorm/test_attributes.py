"""Attributes: the paper's table and examples, and how cardinality behaves."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import (
    Kind,
    PartitionedOperator,
    cardinality,
    joint_cardinality,
    shared_attributes,
)

LOAN = frozenset({"user", "area", "date", "approval", "amount", "return", "lendingTime", "income"})
AREA = frozenset({"area"})
ANY = st.frozensets(st.sampled_from("abcde"))
VALUES = {name: i + 2 for i, name in enumerate("abcde")}


def test_the_papers_table_1() -> None:
    found = {k: (k.stateful, k.flexible) for k in Kind}
    assert found == {Kind.MAP: (False, True), Kind.COMPUTE: (True, True), Kind.CONSOLIDATE: (False, False)}


def test_the_papers_examples() -> None:
    distinct = {"area": 50}
    assert cardinality(LOAN, LOAN, distinct) == inf
    assert cardinality(AREA, LOAN, distinct) == 50
    assert cardinality(frozenset(), LOAN, distinct) == 1
    rate = PartitionedOperator("op1", Kind.MAP, LOAN)
    by_area = [PartitionedOperator(n, Kind.COMPUTE, AREA, reads=LOAN) for n in ("op2", "op3")]
    assert shared_attributes([rate, *by_area]) == AREA
    assert joint_cardinality([rate, *by_area], distinct) == 50
    assert joint_cardinality([rate], distinct) == inf
    assert joint_cardinality([PartitionedOperator("op4", Kind.COMPUTE, frozenset(), reads=LOAN)], distinct) == 1


def test_the_whole_schema_is_limited_where_its_values_are_known() -> None:
    """The paper's example 1a: as many partitions as words, though a row is a word and nothing else."""
    word = frozenset({"word"})
    assert cardinality(word, word, {"word": 5_000}) == 5_000
    assert cardinality(word, word, {}) == inf
    assert (
        joint_cardinality([PartitionedOperator(n, Kind.COMPUTE, word) for n in ("op1", "op2")], {"word": 5_000})
        == 5_000
    )
    assert cardinality(LOAN, LOAN, dict.fromkeys(LOAN, 2)) == 2 ** len(LOAN)


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=5))
def test_a_component_can_be_spread_no_further_than_each_operator(sets: list[tuple[frozenset[str], ...]]) -> None:
    operators = [PartitionedOperator(f"op{i}", Kind.MAP, by, reads=by | more) for i, (by, more) in enumerate(sets)]
    together = joint_cardinality(operators, VALUES)
    assert 1 <= together <= min(cardinality(o.partitioned_by, o.schema, VALUES) for o in operators)
    assert (together == 1) == (not shared_attributes(operators))


@given(ANY, ANY)
def test_more_attributes_never_give_fewer_partitions(some: frozenset[str], more: frozenset[str]) -> None:
    schema = frozenset("abcdef")
    assert cardinality(some, schema, VALUES) <= cardinality(some | more, schema, VALUES)


def test_the_error_names_what_is_missing() -> None:
    with pytest.raises(TopologyError, match="missing cardinality for date, user: pass distinct="):
        cardinality(frozenset({"user", "date"}), LOAN, {"area": 3})
    with pytest.raises(TopologyError, match="operator 'x' is partitioned by b, which it does not read"):
        PartitionedOperator("x", Kind.MAP, frozenset("ab"), reads=frozenset("a"))
    assert PartitionedOperator("x", Kind.MAP, frozenset("ab")).schema == frozenset("ab")
    assert shared_attributes([]) == frozenset()
