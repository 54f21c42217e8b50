"""The output of a processor key by key, and errors that name the key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rheostat.errors import OperatorError
from rheostat.topology.processors import Context, KeyProcessor, ordered_map, value
from tests.keyed.builders import Row, Run, failed, operator


class Rows(KeyProcessor):
    """Returns the rows it is set up with."""

    given: Any = None

    def process(self, key: Any, rows: Any, context: Context) -> Any:
        return type(self).given


def giving(rows: Any) -> list[Row]:
    """The output of an operator whose processor returns these rows."""

    class Given(Rows):
        given = rows

    return Run(operator(Given))(("a", 1))


@pytest.mark.parametrize(
    "rows",
    [
        [("a", 1), ("b", None)],
        [["a", 1], ["b", None]],
        [{"total": 1, "word": "a"}, {"word": "b"}],
        iter([("a", 1), ("b", None)]),
        (("a", 1), ("b", None)),
    ],
    ids=["tuples", "lists", "dicts", "generator", "tuple of tuples"],
)
def test_output_rows_are_tuples_or_dicts(rows: Any) -> None:
    assert giving(rows) == [("a", 1), ("b", None)]


@pytest.mark.parametrize("rows", [None, [], ()])
def test_no_output_is_fine(rows: Any) -> None:
    assert giving(rows) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a",)], r"an output row \('a',\) does not fit the declared columns word, total"),
        ([("a", 1, 2)], r"an output row \('a', 1, 2\) does not fit"),
        (("a", 1), "an output row 'a' does not fit"),
        ([5], "an output row 5 does not fit"),
        (
            [{"word": "a", "sum": 1}],
            "an output row has an undeclared column 'sum'; declared columns: word, total",
        ),
        ([("a", "many")], "an output row: column 'total' is not bigint"),
        ([("a", 2**63)], "an output row: column 'total' is not bigint"),
        ([(7, 1)], "an output row: column 'word' is not string"),
    ],
)
def test_output_that_does_not_fit_is_refused(rows: Any, message: str) -> None:
    with failed(message):
        giving(rows)


def test_output_that_is_not_rows_names_the_key() -> None:
    with failed("key word='a': TypeError: 'int' object is not iterable"):
        giving(5)


def test_state_of_another_type_is_refused() -> None:
    class Wrong(KeyProcessor):
        count = value("bigint")

        def process(self, key: Any, rows: Any, context: Context) -> None:
            self.count = "many"

    with failed("the state: column 'count' is not bigint"):
        Run(operator(Wrong))(("a", 1))


def test_a_map_field_with_another_value_names_the_key() -> None:
    class Wrong(KeyProcessor):
        book = ordered_map("bigint", "bigint")

        def process(self, key: Any, rows: Any, context: Context) -> None:
            self.book = None

    with failed("key word='a': AttributeError"):
        Run(operator(Wrong))(("a", 1))


class Breaks(KeyProcessor):
    def process(self, key: Any, rows: Any, context: Context) -> Iterator[Row]:
        yield key.word, 1
        if rows[0].n == 13:
            raise LookupError("unlucky")


def test_a_processor_that_raises_names_operator_and_key_and_keeps_the_traceback() -> None:
    with failed("key word='b': LookupError: unlucky") as raised:
        Run(operator(Breaks))(("a", 1), ("b", 13))
    assert raised.value.operator == "op"
    assert 'raise LookupError("unlucky")' in str(raised.value)
    assert isinstance(raised.value.__cause__, LookupError)
    assert OperatorError.found_in(f"Job aborted: {raised.value}\nat scala") is not None


def test_composite_and_null_keys_are_shown_as_they_are() -> None:
    inputs = {"pairs": {"a": "int", "b": "string", "n": "bigint"}}
    with failed("key b=None, a=3: AttributeError"):
        Run(operator(Breaks, by=("b", "a"), inputs=inputs))((3, None, 13))


def test_an_error_of_ours_passes_through() -> None:
    class Ours(KeyProcessor):
        def process(self, key: Any, rows: Any, context: Context) -> None:
            raise OperatorError("op", "it did not return in time")

    with failed("it did not return in time$"):
        Run(operator(Ours))(("a", 1))


def test_a_processor_that_cannot_be_created_is_named() -> None:
    class Needy(KeyProcessor):
        def __init__(self, connection: str) -> None:
            self.connection = connection

    with failed("creating a Needy: TypeError: .*connection"):
        Run(operator(Needy))(("a", 1))


def test_missing_methods_are_named() -> None:
    class Empty(KeyProcessor):
        pass

    class Deaf(KeyProcessor):
        def process(self, key: Any, rows: Any, context: Context) -> None:
            context.set_timer(5)

    with failed("key word='a': TopologyError: Empty has no process method"):
        Run(operator(Empty))(("a", 1))
    run = Run(operator(Deaf))
    run(("a", 1))
    with failed("key word='a': TopologyError: Deaf sets timers but has no on_timer method"):
        run.timers(5)
