"""Errors of a user's functions: the text says which operator, and survives being wrapped by others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat import errors
from rheostat.errors import OperatorError, RheostatError


def caused(operator: str, what: str, message: str) -> OperatorError:
    try:
        raise KeyError(message)
    except KeyError as error:
        return OperatorError.caused_by(operator, what, error)


def test_an_operator_error_tells_operator_step_and_traceback() -> None:
    error = caused("rate", "merge of aggregate 'vwap'", "size")
    first, *story = str(error).splitlines()
    assert first == "operator 'rate' failed: merge of aggregate 'vwap': KeyError: 'size'"
    assert error.operator == "rate"
    assert any("raise KeyError(message)" in line for line in story)


@settings(max_examples=50, deadline=None)
@given(st.text('ab" ü', min_size=1, max_size=6), st.sampled_from(["", "finish"]), st.text("x\n'", max_size=5))
def test_an_operator_error_is_found_in_the_text_of_another(operator: str, what: str, message: str) -> None:
    error = caused(operator, what, message)
    found = OperatorError.found_in(f"org.apache.spark.SparkException: Job aborted\n{error}\n  at java.lang.Thread.run")
    assert found is not None
    assert str(found) == str(error)


@pytest.mark.parametrize("operator", ["it's", "a\\b"])
def test_an_operator_with_an_odd_name_is_found_too(operator: str) -> None:
    found = OperatorError.found_in(f"Job aborted: {caused(operator, '', 'x')}")
    assert found is not None
    assert found.operator == operator


def test_a_short_operator_error_is_found_too() -> None:
    found = OperatorError.found_in("Task failed: operator 'm' failed: the function returned dict\n  at Thread.run")
    assert str(found) == "operator 'm' failed: the function returned dict"


def test_no_operator_error_is_found_where_there_is_none() -> None:
    assert OperatorError.found_in("java.lang.OutOfMemoryError: Java heap space") is None


@pytest.mark.parametrize("kind", [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)])
def test_everything_raised_on_purpose_can_be_caught_at_once(kind: type[Exception]) -> None:
    assert issubclass(kind, RheostatError)
