"""Aggregates: their errors, the partials they share, and their results."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import datasketches as ds
import numpy as np
import polars as pl
import pytest

from rheostat.choices import Over
from rheostat.errors import OperatorError, TopologyError
from rheostat.topology import aggregates as rh
from rheostat.topology.aggregates import Aggregate, AggregateSite, BoundAggregate
from rheostat.windows.partials import ROW_COUNT
from tests.topology.builders import LOANS

SITE = AggregateSite("by_area", "result", LOANS, "unix_micros(`ts`)")


def refused(message: str) -> Any:
    return pytest.raises(TopologyError, match=message)


def bound(aggregate: Aggregate) -> BoundAggregate:
    return aggregate.bind(SITE)


def finished(aggregate: Aggregate, *rows: dict[str, Any], schema: dict[str, Any] | None = None) -> list[Any]:
    """The results for some merged partials, given by the column without its prefix."""
    of = bound(aggregate)
    frame = pl.DataFrame([{f"p.{n}": v for n, v in row.items()} for row in rows], schema_overrides=schema)
    value = of.finish(frame)
    return frame.select(value.alias("result"))["result"].to_list()


EVERY_READER = [rh.count, rh.sum, rh.mean, rh.min, rh.max, rh.variance, rh.stddev, rh.first, rh.last, rh.top_k]


@pytest.mark.parametrize("make", [*EVERY_READER, rh.approx_distinct, lambda c: rh.quantiles(c, 0.5)])
def test_the_error_for_an_unknown_column_lists_the_columns(make: Any) -> None:
    with refused(
        "operator 'by_area': aggregate 'result' reads column 'rate', which the stream does not have; it has ts"
    ):
        bound(make("rate"))


@pytest.mark.parametrize("make", [rh.sum, rh.mean, rh.variance, rh.stddev, lambda c: rh.quantiles(c, 0.5)])
@pytest.mark.parametrize("column", ["area", "paid", "ts", "tags"])
def test_numeric_aggregates_need_numeric_columns(make: Any, column: str) -> None:
    with refused(f"aggregate 'result' needs a number, but column '{column}' is {LOANS[column]}"):
        bound(make(column))


@pytest.mark.parametrize("make", [rh.min, rh.max, rh.first, rh.last])
def test_columns_without_an_order_cannot_be_compared(make: Any) -> None:
    with refused("operator 'by_area': aggregate 'result' cannot compare column 'tags' of type array<string>"):
        bound(make("tags"))


def test_parameters_out_of_range_are_refused() -> None:
    for lg_k in (3, 22):
        with refused(rf"approx_distinct\('user', lg_k={lg_k}\): lg_k must be between 4 and 21"):
            rh.approx_distinct("user", lg_k=lg_k)
    for ranks in ((), (1.5,), (0.5, -0.1)):
        with refused(r"quantiles\('amount', ...\) needs ranks between 0 and 1"):
            rh.quantiles("amount", *ranks)
    for k in (0, 11):
        with refused(rf"top_k\('user', {k}\): k must be between 1 and the capacity, 10"):
            rh.top_k("user", k, capacity=10)
    with refused(r"own_aggregate\(\): over='pandas' is not one of 'polars', 'arrow'"):
        user_written(over="pandas")  # type: ignore[arg-type]


def user_written(over: Over = "polars", finish: Any = lambda parts: parts["n"], inputs: Any = ("cents",)) -> Aggregate:
    return rh.own_aggregate(
        inputs=inputs, partial=len, partials={"n": "bigint"}, merge=len, finish=finish, result="bigint", over=over
    )


@pytest.mark.parametrize(("partial", "result"), [("float64", "double"), ("double", "float64")])
def test_user_written_aggregates_need_spark_types(partial: str, result: str) -> None:
    with refused("columns of type float64 cannot be kept in state"):
        bound(rh.own_aggregate(inputs=[], partial=len, partials={"n": partial}, merge=len, finish=len, result=result))


def test_inputs_of_user_written_aggregates_exist() -> None:
    with refused("reads column 'rate', which the stream does not have"):
        bound(user_written(inputs=["cents", "rate"]))


@pytest.mark.parametrize(
    ("aggregate", "type_"),
    [
        (rh.count(), "bigint"),
        (rh.count("user"), "bigint"),
        (rh.sum("grade"), "bigint"),
        (rh.sum("amount"), "double"),
        (rh.sum("price"), "decimal(20,2)"),
        (rh.mean("price"), "double"),
        (rh.min("ts"), "timestamp"),
        (rh.last("paid"), "boolean"),
        (rh.stddev("cents"), "double"),
        (rh.approx_distinct("tags"), "bigint"),
        (rh.quantiles("amount", 0.5), "array<double>"),
        (rh.top_k("grade"), "array<struct<item:bigint,count:bigint>>"),
        (rh.top_k("area"), "array<struct<item:string,count:bigint>>"),
        (user_written(), "bigint"),
    ],
)
def test_results_have_sparks_types(aggregate: Aggregate, type_: str) -> None:
    assert bound(aggregate).type == type_


def test_aggregates_of_one_column_share_partials() -> None:
    assert set(bound(rh.mean("cents")).partials) == set(bound(rh.sum("cents")).partials)
    assert bound(rh.count()).partials == (ROW_COUNT,)
    assert bound(rh.variance("amount")).partials == bound(rh.stddev("amount", sample=False)).partials
    assert bound(rh.min("cents")).partials != bound(rh.max("cents")).partials


def test_sums_and_means_of_nothing_are_null() -> None:
    rows = [{"sum(cents)": 0, "count(cents)": 0}, {"sum(cents)": 9, "count(cents)": 2}]
    assert finished(rh.sum("cents"), *rows) == [None, 9]
    assert finished(rh.mean("cents"), *rows) == [None, 4.5]
    assert finished(rh.mean("price"), {"sum(price)": Decimal("0.30"), "count(price)": 3}) == [pytest.approx(0.1)]


def test_spread_divides_by_n_or_one_less() -> None:
    values = np.array([1.0, 4.0, 9.0])
    row = {"n(amount)": 3, "mean(amount)": values.mean(), "m2(amount)": values.var() * 3}
    assert finished(rh.variance("amount"), row) == [pytest.approx(values.var(ddof=1))]
    assert finished(rh.variance("amount", sample=False), row) == [pytest.approx(values.var())]
    assert finished(rh.stddev("amount"), row) == [pytest.approx(math.sqrt(values.var(ddof=1)))]
    one = {"n(amount)": 1, "mean(amount)": 2.0, "m2(amount)": 0.0}
    assert finished(rh.variance("amount"), one) == [None]
    assert finished(rh.variance("amount", sample=False), one) == [0.0]


def test_sketches_are_estimated() -> None:
    hll, kll, items = ds.hll_sketch(12, ds.HLL_8), ds.kll_doubles_sketch(200), ds.frequent_strings_sketch(11)
    for i in range(10):
        hll.update(f"user {i}")
        kll.update(float(i))
        items.update("even" if i % 2 == 0 else f"odd {i}")
    assert finished(rh.approx_distinct("user"), {"distinct(user,string,12)": hll.serialize_updatable()}) == [10]
    assert finished(rh.quantiles("amount", 0.0, 1.0), {"quantile(amount,200)": kll.serialize()}) == [[0.0, 9.0]]
    top = finished(rh.top_k("user", 1), {"frequent(user,string,1000)": items.serialize()})
    assert top == [[{"item": "even", "count": 5}]]


def test_a_user_written_finish_gives_one_value_per_row() -> None:
    rows = [{"by_area.result.n": 1}, {"by_area.result.n": 2}]
    assert finished(user_written(), *rows) == [1, 2]
    assert finished(user_written("arrow", lambda parts: parts.column("n")), *rows) == [1, 2]
    message = (
        "operator 'by_area' failed: finish of aggregate 'result' must return one column with a value for each of 2"
    )
    for finish in (lambda parts: parts["n"][:1], lambda parts: parts):
        with pytest.raises(OperatorError, match=message):
            finished(user_written(finish=finish), *rows)
    with pytest.raises(OperatorError, match="finish of aggregate 'result': ZeroDivisionError"):
        finished(user_written(finish=lambda _: 1 / 0), *rows)


def test_identity_names_result_and_state() -> None:
    assert bound(rh.sum("cents")).identity == "result=p.sum(cents):bigint,p.count(cents):bigint"
