"""The best bid and ask rebuilt from messages: hand-made cases, and a recorded day of Amazon."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.workloads.lobster import (
    BUY,
    DELETE,
    EXECUTION,
    HIDDEN,
    NEW,
    PARTIAL_CANCEL,
    SELL,
    Agreement,
    Message,
    Quote,
    compare,
    read_messages,
    read_quotes,
    rebuild,
)

DATA = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "orders"
AMZN = DATA / "AMZN_2012-06-21_message_1.csv", DATA / "AMZN_2012-06-21_orderbook_1.csv"
Event = tuple[int, int, int, int, int]  # type, order, size, price, side


def messages(*events: Event) -> list[Message]:
    return [Message(float(n), *event) for n, event in enumerate(events)]


def bids(*events: Event) -> list[tuple[int | None, int]]:
    """Best bid and its size after every message."""
    return [(q.bid, q.bid_size) for q in rebuild(messages(*events))[0]]


def test_every_type_of_message_on_a_book_that_is_seen_from_the_start() -> None:
    quotes, certain, read = rebuild(
        messages(
            (NEW, 1, 100, 990, BUY),
            (NEW, 2, 50, 1_010, SELL),
            (NEW, 3, 30, 990, BUY),
            (PARTIAL_CANCEL, 1, 40, 990, BUY),
            (EXECUTION, 1, 60, 990, BUY),  # the rest of order 1; order 3 remains
            (HIDDEN, 0, 500, 1_000, SELL),  # changes nothing that is visible
            (NEW, 4, 10, 995, BUY),
            (DELETE, 4, 10, 995, BUY),
            (EXECUTION, 3, 5, 990, BUY),
            (EXECUTION, 2, 20, 1_010, SELL),
        )
    )
    assert quotes == [
        Quote(None, 0, 990, 100),
        Quote(1_010, 50, 990, 100),
        Quote(1_010, 50, 990, 130),
        Quote(1_010, 50, 990, 90),
        Quote(1_010, 50, 990, 30),
        Quote(1_010, 50, 990, 30),
        Quote(1_010, 50, 995, 10),
        Quote(1_010, 50, 990, 30),
        Quote(1_010, 50, 990, 25),
        Quote(1_010, 30, 990, 25),
    ]
    assert certain == [False, *[True] * 9]  # nothing is known about asks before their first message
    assert read == [False] * 10


def test_an_order_from_before_the_recording_is_known_by_its_end() -> None:
    # Order 3 is older than the recording: when 10 goes, 3 is what remains.
    assert bids((NEW, 10, 5, 990, BUY), (DELETE, 10, 5, 990, BUY), (EXECUTION, 3, 20, 980, BUY)) == [
        (990, 5),
        (980, 20),
        (None, 0),
    ]


def test_the_first_message_of_a_side_may_be_of_an_order_from_before() -> None:
    assert bids((EXECUTION, 3, 5, 980, BUY), (EXECUTION, 3, 15, 980, BUY)) == [(980, 15), (None, 0)]


def test_an_order_placed_out_of_sight_is_there_since_its_id_was_given() -> None:
    # 12 was placed behind the best after 11 and before 13; nothing shows it before it comes up at the end.
    found = bids(
        (NEW, 10, 5, 990, BUY),
        (DELETE, 10, 5, 990, BUY),
        (NEW, 11, 5, 985, BUY),
        (NEW, 13, 5, 986, BUY),
        (DELETE, 13, 5, 986, BUY),
        (DELETE, 11, 5, 985, BUY),
        (NEW, 14, 7, 984, BUY),
        (DELETE, 14, 7, 984, BUY),
        (DELETE, 12, 9, 970, BUY),
    )
    assert found[1] == (None, 0)
    assert found[5] == (970, 9)
    assert found[7] == (970, 9)


def test_a_change_at_a_worse_price_shows_that_better_orders_have_gone() -> None:
    # 1 was hidden by 2 and deleted out of sight; the new order at 980 would not be recorded behind it.
    found = bids(
        (NEW, 1, 5, 990, BUY),
        (NEW, 2, 5, 995, BUY),
        (DELETE, 2, 5, 995, BUY),
        (NEW, 3, 5, 980, BUY),
        (NEW, 4, 5, 981, BUY),
    )
    assert found[2] == (None, 0)
    assert found[3:] == [(980, 5), (981, 5)]


def test_an_execution_shows_that_older_orders_at_its_price_have_gone() -> None:
    # 1 was hidden by 2 and never heard of again; 3 is executed at its price, so 1 is not before it in the queue.
    assert bids(
        (NEW, 1, 50, 990, BUY),
        (NEW, 2, 5, 995, BUY),
        (DELETE, 2, 5, 995, BUY),
        (NEW, 3, 7, 990, BUY),
        (EXECUTION, 3, 2, 990, BUY),
    )[2:] == [(990, 50), (990, 57), (990, 5)]


def test_levels_that_messages_leave_open_are_marked_and_can_be_read_from_the_record() -> None:
    events = messages(
        (NEW, 2, 5, 995, BUY),
        (DELETE, 2, 5, 995, BUY),  # 940 becomes the best, and no message is about it
        (NEW, 3, 7, 990, BUY),
        (DELETE, 3, 7, 990, BUY),
        (NEW, 4, 7, 940, BUY),
    )
    recorded = [Quote(None, 0, p, n) for p, n in [(995, 5), (940, 30), (990, 7), (940, 30), (940, 37)]]
    quotes, _, read = rebuild(events)
    assert [(q.bid, q.bid_size) for q in quotes] == [(995, 5), (None, 0), (990, 7), (None, 0), (940, 7)]
    assert read == [False] * 5
    quotes, _, read = rebuild(events, recorded)
    assert quotes == recorded
    assert read == [False, True, False, True, False]


def test_agreement_counts_rows() -> None:
    events = messages((NEW, 1, 5, 990, BUY), (NEW, 2, 5, 1_010, SELL), (NEW, 3, 5, 991, BUY))
    recorded = [Quote(1_020, 9, 990, 5), Quote(1_010, 6, 990, 5), Quote(1_010, 5, 992, 5)]
    assert compare(events, recorded) == Agreement(
        rows=3, right=1, certain=2, certain_right=1, unread=3, unread_right=1, sizes_right=0
    )


@pytest.mark.skipif(not all(p.exists() for p in AMZN), reason=f"no recorded orders in {DATA}: set RHEOSTAT_DATA")
class TestAmazon:
    """57,515 rows of 2012-06-21."""

    def test_messages_alone(self) -> None:
        found = compare(read_messages(AMZN[0]), read_quotes(AMZN[1]))
        assert found.rows == found.unread == 57_515
        assert found.certain > 0.75 * found.rows
        assert found.certain_right >= 0.99 * found.certain
        assert found.right > 0.91 * found.rows

    def test_with_open_levels_read_from_the_record(self) -> None:
        found = compare(read_messages(AMZN[0]), read_quotes(AMZN[1]), correct=True)
        assert found.unread > 0.85 * found.rows
        assert found.unread_right >= 0.99 * found.unread
        assert found.sizes_right > 0.75 * found.unread

    def test_the_recording_has_only_changes_at_the_best_price(self) -> None:
        """``rebuild`` depends on this."""
        quotes = read_quotes(AMZN[1])
        for message, before in zip(read_messages(AMZN[0])[1:], quotes, strict=False):
            best = before.bid if message.side == BUY else before.ask
            assert best is not None
            if message.type == NEW:
                assert message.side * message.price >= message.side * best
            elif message.type != HIDDEN:
                assert message.price == best
