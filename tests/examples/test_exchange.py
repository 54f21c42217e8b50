"""The exchange without Spark: the books balance, and no operator notices where an epoch ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sortedcontainers import SortedDict

import rheostat as rh
from examples import exchange as ex
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import upstreams_of
from rheostat.workloads.exchange import SCHEMA, Exchange
from tests.topology.builders import Frame, columns_of

OPEN = datetime(2026, 1, 5, 1, 30, tzinfo=UTC)
TYPES: dict[str, Any] = {
    "int": pl.Int32,
    "bigint": pl.Int64,
    "double": pl.Float64,
    "boolean": pl.Boolean,
    "string": pl.String,
    "timestamp": pl.Datetime("us", "UTC"),
}
Logic = Callable[[pl.DataFrame, pl.DataFrame], tuple[pl.DataFrame, pl.DataFrame]]
WATCHES: dict[str, tuple[Logic, str]] = {
    "price_alarms": (ex.price_alarms({0: 100, 1: 104}), "stock int, above boolean"),
    "halts": (ex.halts, "stock int, opened bigint, high boolean, low boolean"),
    "large_trades": (ex.large_trades, "stock int, trades bigint, total bigint"),
    "volume_bursts": (ex.volume_bursts, "stock int, began bigint, minute bigint, volume bigint, total bigint"),
}


class Key(NamedTuple):
    stock: int


def empty(ddl: str) -> pl.DataFrame:
    return pl.DataFrame(schema={name: TYPES[type_] for name, type_ in columns_of(ddl).items()})


def run(logic: Logic, epochs: list[pl.DataFrame], state: str, key: str = "stock") -> pl.DataFrame:
    """What the logic gives over epochs, with its state kept as ``process`` keeps it."""
    kept, outputs = empty(state), []
    for rows in epochs:
        output, changed = logic(rows, kept.join(rows, on=key, how="semi"))
        assert changed.columns == kept.columns
        assert changed.schema == kept.schema
        assert changed[key].n_unique() == changed.height
        kept = pl.concat([kept.join(changed, on=key, how="anti"), changed])
        outputs.append(output)
    return pl.concat(outputs)


def trades(rows: list[tuple[float, int, int, int]]) -> pl.DataFrame:
    """Trades out of (minutes since the opening, stock, price, shares)."""
    full = [(stock, OPEN + timedelta(minutes=t), p, n, p * n, 1, 2, 3, 4) for t, stock, p, n in rows]
    return pl.DataFrame(full, schema=empty(ex.TRADE).schema, orient="row")


def events(name: str, rows: list[tuple[float, int, int, int]]) -> list[tuple[float, int, int, float]]:
    """(minutes, stock, price, bound) of the events an operator finds in one epoch."""
    logic, state = WATCHES[name]
    found = run(logic, [trades(rows)], state)
    assert found.schema == empty(ex.EVENT).schema
    return [((ts - OPEN) / timedelta(minutes=1), s, p, b) for s, ts, p, _, b in found.iter_rows()]


def transact(orders: pl.DataFrame, parts: int) -> pl.DataFrame:
    """All trades, with books carried over epochs as ``process`` carries them: through what a state column holds."""
    made: list[tuple[Any, ...]] = []
    stored: dict[tuple[int, str], Any] = {}
    fields = ex.Transactor.fields
    size = -(-orders.height // parts)
    for epoch in range(parts):
        by_stock = orders[epoch * size : (epoch + 1) * size].partition_by("stock", as_dict=True)
        for (stock,), rows in by_stock.items():
            processor = ex.Transactor()
            for name, field in fields.items():
                setattr(processor, name, field.loaded(stored.get((stock, name))))
            row_type = NamedTuple("row_type", [(c, Any) for c in rows.columns])  # type: ignore[misc]
            made += processor.process(Key(stock), [row_type(*r) for r in rows.iter_rows()], None)
            for name, field in fields.items():
                stored[stock, name] = field.stored(getattr(processor, name))
    frame = pl.DataFrame(made, schema=empty(ex.TRADE).schema, orient="row")
    return frame.sort("ts", "stock", maintain_order=True)


@pytest.fixture(scope="module")
def orders() -> pl.DataFrame:
    return Exchange(20_000, stocks=40, seconds=3_600, traders=200).frame()


@pytest.fixture(scope="module")
def made(orders: pl.DataFrame) -> pl.DataFrame:
    return transact(orders, 1)


def test_shares_and_cash_in_are_shares_and_cash_out(orders: pl.DataFrame, made: pl.DataFrame) -> None:
    left = ex.unfilled(orders, made)
    assert left["left"].is_between(0, left["shares"]).all()
    for side in ("B", "S"):
        own = left.filter(side=side)
        assert int(own["shares"].sum()) == int(made["shares"].sum()) + int(own["left"].sum())
    assert (made["cash"] == made["price"] * made["shares"]).all()
    assert made["shares"].min() > 0  # type: ignore[operator]
    assert made.height > 10_000


def test_both_parties_get_their_limit_or_better(orders: pl.DataFrame, made: pl.DataFrame) -> None:
    for side, party, limit in (("buy", "buyer", "B"), ("sell", "seller", "S")):
        joined = made.join(orders, left_on=f"{side}_order", right_on="order", suffix="_asked")
        assert joined.height == made.height
        assert (joined[party] == joined["trader"]).all()
        assert (joined["stock"] == joined["stock_asked"]).all()
        assert (joined["side"] == limit).all()
        better = joined["price_asked"] - joined["price"]
        assert (better * (1 if side == "buy" else -1) >= 0).all()


def test_what_is_left_does_not_match(orders: pl.DataFrame, made: pl.DataFrame) -> None:
    left = ex.unfilled(orders, made).filter(pl.col("left") > 0)
    bid = left.filter(side="B").group_by("stock").agg(bid=pl.col("price").max())
    ask = left.filter(side="S").group_by("stock").agg(ask=pl.col("price").min())
    both = bid.join(ask, on="stock")
    assert both.height > 30
    assert (both["bid"] < both["ask"]).all()


@pytest.mark.parametrize("epochs", [2, 7])
def test_the_transactor_does_not_notice_where_an_epoch_ends(
    epochs: int, orders: pl.DataFrame, made: pl.DataFrame
) -> None:
    assert transact(orders, epochs).equals(made)


def test_unfilled_sees_an_order_that_got_too_much(orders: pl.DataFrame, made: pl.DataFrame) -> None:
    assert ex.unfilled(orders, pl.concat([made, made]))["left"].min() < 0  # type: ignore[operator]


@st.composite
def epochs_of_trades(draw: st.DrawFn, least_step: int = 0) -> list[pl.DataFrame]:
    """Trades in a few epochs, some of them empty; with a negative step, not quite in order of time."""
    one = st.tuples(
        st.integers(least_step, 8), st.integers(0, 1), st.integers(85, 115), st.sampled_from([1, 2, 3, 200])
    )
    drawn = draw(st.lists(one, max_size=60))
    time, rows = 0.0, []
    for step, stock, price, shares in drawn:
        time += step / 4
        rows.append((time, stock, price, shares))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    return [trades(rows[a:b]) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


@pytest.mark.parametrize("name", WATCHES)
@settings(max_examples=60, deadline=None)
@given(epochs=epochs_of_trades(least_step=-2))
def test_events_do_not_depend_on_where_an_epoch_ends(name: str, epochs: list[pl.DataFrame]) -> None:
    logic, state = WATCHES[name]
    with patch.multiple(ex, LARGE=2, LARGE_AFTER=3, BURST=2, BURST_AFTER=2):  # so that a few trades are enough
        in_one = run(logic, [pl.concat(epochs)], state)
        assert run(logic, epochs, state).equals(in_one)


@pytest.mark.parametrize("name", WATCHES)
def test_a_day_has_events_of_every_kind(name: str, made: pl.DataFrame) -> None:
    opening = Exchange(20_000, stocks=40, seconds=3_600, traders=200).opening_prices()
    alarms = ex.price_alarms({stock: int(price * 1.01) for stock, price in enumerate(opening)})
    logic, state = WATCHES[name]
    with patch.multiple(ex, HALT=0.03, LARGE=5):
        in_one = run(alarms if name == "price_alarms" else logic, [made], state)
        in_many = run(alarms if name == "price_alarms" else logic, list(made.iter_slices(1_000)), state)
    assert 0 < in_one.height < made.height // 10
    assert in_many.equals(in_one)


@settings(max_examples=60, deadline=None)
@given(epochs_of_trades())
def test_the_index_does_not_depend_on_where_an_epoch_ends(epochs: list[pl.DataFrame]) -> None:
    def index(parts: list[pl.DataFrame]) -> dict[Any, float]:
        moves = [run(ex.index_moves, parts[: n + 1], "stock int, first bigint, last bigint") for n in range(len(parts))]
        new = [m[before:] for m, before in zip(moves, [0, *(m.height for m in moves)], strict=False)]
        found = run(ex.composite_index, new, "market string, level double", key="market")
        return dict(found.select("ts", "level").iter_rows())  # the later row of a second is the complete one

    assert index(epochs) == pytest.approx(index([pl.concat(epochs)]))


def test_the_index_is_the_mean_of_what_prices_gained() -> None:
    made = trades([(0, 0, 100, 1), (0, 1, 50, 1), (1, 0, 110, 1), (2, 0, 105, 1), (2, 1, 40, 1)])
    moves = run(ex.index_moves, [made], "stock int, first bigint, last bigint")
    found = run(ex.composite_index, [moves], "market string, level double", key="market")
    gained = [0, 0.10, 0.05 - 0.20]
    assert found["level"].to_list() == pytest.approx([1_000 * (1 + g / ex.DAY.stocks) for g in gained])


def test_an_alarm_is_raised_when_the_price_rises_above_and_again_after_it_fell() -> None:
    prices = [99, 100, 101, 105, 100, 102, 90]
    rows = [(float(n), 0, price, 1) for n, price in enumerate(prices)]
    assert events("price_alarms", [*rows, (9, 7, 10_000, 1)]) == [(2, 0, 101, 100), (5, 0, 102, 100)]


def test_a_stock_halts_once_up_and_once_down() -> None:
    prices = [100, 108, 109, 112, 92, 91, 85, 120]
    found = events("halts", [(float(n), 0, price, 1) for n, price in enumerate(prices)])
    assert [(t, p) for t, _, p, _ in found] == [(2, 109), (5, 91)]
    assert [b for *_, b in found] == pytest.approx([108, 92])


def test_a_large_trade_is_measured_against_those_before_it() -> None:
    usual = [(n / 10, 0, 100, 2) for n in range(20)]
    assert events("large_trades", [*usual[:19], (2, 0, 100, 500)]) == []  # too early to tell
    assert events("large_trades", [*usual, (2, 0, 100, 20)]) == []
    assert events("large_trades", [*usual, (2, 1, 100, 500), (2, 0, 100, 21)]) == [(2, 0, 100, 2_000)]


def test_a_burst_is_reported_once_a_minute() -> None:
    usual = [(float(n), 0, 100, 3) for n in range(10)]
    bursting = [(10.1, 0, 100, 20), (10.2, 0, 100, 10), (10.3, 0, 100, 1), (10.4, 0, 100, 50), (11.0, 0, 100, 1_000)]
    found = events("volume_bursts", [*usual, *bursting])
    assert [t for t, *_ in found] == pytest.approx([10.3, 11.0])
    assert [b for *_, b in found] == pytest.approx([30, 10 * (30 + 81) / 11])
    assert events("volume_bursts", [*usual[:9], (9.5, 0, 100, 1_000)]) == []  # too early to tell
    late = [(10.1, 0, 100, 20), (9.5, 0, 100, 9), (10.3, 0, 100, 2)]  # a late trade counts when it comes
    assert [t for t, *_ in events("volume_bursts", [*usual, *late])] == pytest.approx([10.3])


class Described(Frame):
    """A frame that knows the columns of what the topology's own maps give."""

    def where(self, _: str) -> Frame:
        return self

    def selectExpr(self, *_: str) -> Frame:  # noqa: N802 - PySpark's name
        return Described({**self.types, "vwap": "double"})

    def createDataFrame(self, rows: Any, schema: str) -> Frame:  # noqa: N802 - PySpark's name
        return Described(super().createDataFrame(rows, schema).types, streaming=False)


def test_statistics_and_watches_read_the_transactions_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rh, "Topology", Graph)  # the same without Spark
    t, results = ex.exchange(Described(columns_of(SCHEMA)), {0: 100})
    assert len(results) == 1 + 6 + 5
    assert results["trades"].schema == columns_of(ex.TRADE)
    readers = [n.name for n in t.nodes.values() if "transactor" in upstreams_of(n)]
    assert len(readers) == 11
    assert max(t.level_of(n) for n in ("composite_index", "halts", "moving_average.partials")) == 2


def test_books_are_kept_as_plain_numbers() -> None:
    assert {n: f.column_type for n, f in ex.Transactor.fields.items()} == dict.fromkeys(
        ("bids", "asks"), "array<struct<key:bigint,value:array<bigint>>>"
    )
    assert isinstance(ex.Transactor.fields["bids"].loaded(None), SortedDict)
