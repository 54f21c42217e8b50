"""The key-by-key form: every key has its own fields, and rows come in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sortedcontainers import SortedDict

from rheostat.keyed.keyed_layout import TOUCHED
from rheostat.topology.processors import Context, KeyProcessor, list_of, ordered_map, value
from tests.keyed.builders import Row, Run, alike, operator, spread

S = 1_000_000
CALLS = {"word": "string", "what": "string"}


class Total(KeyProcessor):
    """The running total of a word; a negative number forgets it."""

    total = value("bigint", default=0)

    def process(self, key: Any, rows: list[Any], context: Context) -> Iterator[Row]:
        for row in rows:
            self.total += row.n
            if row.n < 0:
                context.remove()
        yield key.word, self.total


def test_state_is_seen_again_by_the_next_epoch() -> None:
    run = Run(operator(Total))
    assert sorted(run(("a", 1), ("b", 2), ("a", 3))) == [("a", 4), ("b", 2)]
    assert run(("b", 5)) == [("b", 7)]
    assert run.kept == {("a",): (4,), ("b",): (7,)}
    assert run.outcome.state["k.word"].to_list() == ["b"]


def test_a_removed_key_starts_with_empty_state() -> None:
    run = Run(operator(Total))
    run(("a", 5), ("b", 5))
    assert run(("a", -1)) == [("a", 4)]
    assert run.outcome.state.select("k.word", "s.total", "dead").rows() == [("a", None, True)]
    assert run.kept == {("b",): (5,)}
    assert run(("a", 1)) == [("a", 1)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(-2, 5)), max_size=12), max_size=5),
    st.sampled_from([spread, alike, lambda key: len(repr(key)) % 2]),
)
def test_totals_are_right_whatever_comes_and_however_it_is_hashed(epochs: list[list[Row]], hash_of: Any) -> None:
    run = Run(operator(Total), hash_of)
    kept: dict[Row, int] = {}
    for rows in epochs:
        run(*rows)
        for word in {row[0] for row in rows}:
            mine = [n for w, n in rows if w == word]
            total = kept.pop((word,), 0) + sum(mine)
            if min(mine) >= 0:
                kept[word,] = total
        if hash_of is spread:  # keys that share a hash may be called several times: see below
            assert run.kept == {key: (total,) for key, total in kept.items()}
        else:
            assert set(kept) <= set(run.kept)


class Log(KeyProcessor):
    """The numbers seen, in order."""

    seen = list_of("string")

    def process(self, key: Any, rows: Any, context: Context) -> Iterable[Row]:
        self.seen += [row.what for row in rows]
        return [(key.word, ",".join(self.seen))]


LOG = operator(Log, inputs={"calls": CALLS}, schema={"word": "string", "seen": "string"})


def test_the_rows_of_a_key_are_in_order() -> None:
    run = Run(LOG)
    rows = [("ab"[i % 2], str(i)) for i in range(40)]
    assert dict(run(*rows)) == {"a": ",".join(map(str, range(0, 40, 2))), "b": ",".join(map(str, range(1, 40, 2)))}


def test_keys_with_the_same_hash_do_not_mix() -> None:
    run = Run(LOG, alike)
    run(("a", "1"), ("b", "2"), ("a", "3"), (None, "4"))
    run(("b", "5"), ("a", "6"))
    assert run.kept == {("a",): (["1", "3", "6"],), ("b",): (["2", "5"],), (None,): (["4"],)}


def test_a_key_is_called_once_even_if_another_has_its_hash() -> None:
    run = Run(LOG, alike)
    assert len(run(("a", "1"), ("b", "2"), ("a", "3"))) == 2


class Pair(KeyProcessor):
    count = value("int", default=0)

    def process(self, key: Any, rows: Any, context: Context) -> None:
        assert key._fields == ("b", "a")
        self.count += len(rows)


def test_composite_keys_with_nulls_stay_apart() -> None:
    run = Run(operator(Pair, by=("b", "a"), inputs={"pairs": {"a": "int", "b": "string"}}))
    assert run((1, "p"), (None, "p"), (1, None), (1, "p")) == []
    run((None, "p"), (None, None))
    assert run.kept == {("p", 1): (2,), ("p", None): (2,), (None, 1): (1,), (None, None): (1,)}


class Joined(KeyProcessor):
    seen = list_of("string")

    def process(self, key: Any, rows: Any, context: Context) -> Iterator[Row]:
        assert list(rows) == ["words", "calls"]
        self.seen += [f"n{r.n}" for r in rows["words"]] + [r.what for r in rows["calls"]]
        yield key.word, "".join(self.seen)


@pytest.mark.parametrize("hash_of", [spread, alike])
def test_rows_of_several_streams_meet_in_one_call(hash_of: Any) -> None:
    inputs = {"words": {"word": "string", "n": "bigint"}, "calls": CALLS}
    run = Run(operator(Joined, inputs=inputs, schema={"word": "string", "seen": "string"}), hash_of)
    assert sorted(run(("a", 1), ("b", 2), ("a", 3), calls=[("c", "x"), ("a", "y")])) == [
        ("a", "n1n3y"),
        ("b", "n2"),
        ("c", "x"),
    ]
    assert run(calls=[("b", "z")]) == [("b", "n2z")]


class Everything(KeyProcessor):
    """Fields of every kind."""

    best = value("double")
    price = value("decimal(10,2)")
    when = value("timestamp")
    names = list_of("string")
    book = ordered_map("bigint", "struct<size:int,who:string>")
    days = ordered_map("date", "double")

    def process(self, key: Any, rows: Any, context: Context) -> None:
        if self.best is None:
            assert (self.price, self.when, self.names, self.book, self.days) == (None, None, [], {}, {})
        else:
            assert isinstance(self.book, SortedDict)
            assert isinstance(self.days, SortedDict)
            assert list(self.book) == sorted(self.book)
            assert self.names[-1] == f"n{rows[0].n - 1}"
            assert self.price == Decimal(rows[0].n - 1)
            assert self.when == datetime(2024, 1, rows[0].n - 1, tzinfo=UTC)
        self.names.append(f"n{rows[0].n}")
        for n in (30, 10, 20):
            self.book[n + rows[0].n] = {"size": n, "who": None}
        self.days[datetime(2024, 1, 31 - rows[0].n).date()] = 0.5
        self.best, self.price = rows[0].n / 3, Decimal(rows[0].n)
        self.when = datetime(2024, 1, rows[0].n, tzinfo=UTC)


def test_lists_and_ordered_maps_stay_typed_and_in_order() -> None:
    run = Run(operator(Everything))
    for n in (1, 2, 3):
        run(("a", n))
    ((best, price, when, names, book, days),) = run.kept.values()
    assert (best, price, names) == (1.0, Decimal("3.00"), ["n1", "n2", "n3"])
    assert when == datetime(2024, 1, 3, tzinfo=UTC)
    assert [e["key"] for e in book] == [11, 12, 13, 21, 22, 23, 31, 32, 33]
    assert [e["key"].day for e in days] == [28, 29, 30]
    assert run.state["s.book"].dtype == pl.List(
        pl.Struct({"key": pl.Int64, "value": pl.Struct({"size": pl.Int32, "who": pl.String})})
    )


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.integers(-(2**40), 2**40), st.none() | st.text(max_size=3), max_size=8))
def test_an_ordered_map_comes_back_in_order(entries: dict[int, str | None]) -> None:
    class Keep(KeyProcessor):
        book = ordered_map("bigint", "string")

        def process(self, key: Any, rows: Any, context: Context) -> Iterator[Row]:
            if rows[0].n:
                assert list(self.book.items()) == sorted(entries.items())
            self.book = dict(entries)  # a plain dict does as well
            yield key.word, len(self.book)

    run = Run(operator(Keep))
    assert run(("a", 0)) == run(("a", 1)) == [("a", len(entries))]


def test_collections_of_one_key_are_not_those_of_another() -> None:
    run = Run(LOG)
    run(("a", "x"))
    run(("b", "y"), ("a", "z"))
    assert run.kept == {("a",): (["x", "z"],), ("b",): (["y"],)}


def test_a_default_that_is_changed_is_not_that_of_other_keys() -> None:
    class Names(KeyProcessor):
        seen = value("array<bigint>", default=[])

        def process(self, key: Any, rows: Any, context: Context) -> None:
            self.seen.append(rows[0].n)

    run = Run(operator(Names))
    run(("a", 1), ("b", 2))
    assert run.kept == {("a",): ([1],), ("b",): ([2],)}


def test_nan_is_a_key_like_any_other() -> None:
    class Count(KeyProcessor):
        count = value("int", default=0)

        def process(self, key: Any, rows: Any, context: Context) -> None:
            self.count += len(rows)

    run = Run(operator(Count, by=("x",), inputs={"xs": {"x": "double"}}))
    for _ in range(3):
        run((float("nan"),))
    assert [fields for _, fields in run.kept.items()] == [(3,)]


def test_one_object_serves_all_keys_and_may_hold_attributes_beside_its_state() -> None:
    class Cached(KeyProcessor):
        def __init__(self) -> None:
            self.calls = 0

        def process(self, key: Any, rows: Any, context: Context) -> Iterator[Row]:
            self.calls += 1
            yield key.word, self.calls

    assert sorted(n for _, n in Run(operator(Cached))(("a", 1), ("b", 1), ("c", 1))) == [1, 2, 3]


def test_a_processor_without_state_stores_its_keys() -> None:
    class Stateless(KeyProcessor):
        def process(self, key: Any, rows: Any, context: Context) -> Iterator[Row]:
            yield key.word, 1

    run = Run(operator(Stateless))
    run(("a", 1), now=5)
    assert run.kept == {("a",): ()}
    assert run.state[TOUCHED].to_list() == [5]


def test_the_context_has_epoch_and_watermark() -> None:
    class Look(KeyProcessor):
        def process(self, key: Any, rows: Any, context: Context) -> Iterator[Row]:
            yield str(context.watermark), context.epoch

    run = Run(operator(Look))
    assert run(("a", 1)) == [("None", 0)]
    run.timers(2 * S)
    assert run(("a", 1)) == [("1970-01-01 00:00:02+00:00", 1)]


def test_costs_are_measured_key_by_key() -> None:
    run = Run(operator(Total))
    run(("a", 1), ("b", 2), ("a", 3))
    assert run.outcome.costs is not None
    hashes, seconds = run.outcome.costs
    assert sorted(hashes.tolist()) == sorted([spread(("a",)), spread(("b",))])
    assert (seconds > 0).all()


class Left(KeyProcessor):
    left = value("int", default=0)


class Right(KeyProcessor):
    right = value("int", default=0)


def test_fields_are_inherited() -> None:
    class Child(Left):
        own = list_of("string")

    assert list(Child.fields) == ["left", "own"]
    assert list(Left.fields) == ["left"]
    assert KeyProcessor.fields == {}


def test_fields_of_all_base_classes_are_inherited() -> None:
    class Both(Left, Right):
        pass

    assert set(Both.fields) == {"left", "right"}


def test_columns_whose_names_are_not_python_names_go_by_position() -> None:
    class Odd(KeyProcessor):
        def process(self, key: Any, rows: Any, context: Context) -> Iterator[Row]:
            yield key[0], rows[0][1]

    run = Run(operator(Odd, by=("the word",), inputs={"odd": {"the word": "string", "class": "bigint"}}))
    assert run(("a", 5)) == [("a", 5)]
