"""Timers of key processors: when they fire, in which order, and what cancels them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.keyed.keyed_layout import TIMERS
from rheostat.topology.processors import Context, KeyProcessor, list_of, value
from tests.keyed.builders import Row, Run, failed, operator

S = 1_000_000
CALLS = {"word": "string", "what": "string"}


class Alarm(KeyProcessor):
    """Positive numbers set timers at that second, negative ones cancel them; 0 removes the key."""

    fired = list_of("bigint")
    repeat = value("int", default=0)

    def process(self, key: Any, rows: Any, context: Context) -> None:
        for row in rows:
            if row.n > 0:
                context.set_timer(datetime.fromtimestamp(row.n, UTC))
            elif row.n < 0:
                context.cancel_timer(-row.n * S)
            else:
                context.remove()

    def on_timer(self, key: Any, at: datetime, context: Context) -> Iterator[Row]:
        second = int(at.timestamp())
        self.fired.append(second)
        yield key.word, second


def test_timers_fire_once_and_in_order() -> None:
    run = Run(operator(Alarm))
    run(("a", 30), ("a", 10), ("a", 20), ("b", 15))
    assert run.due_at == {("a",): [10 * S, 20 * S, 30 * S], ("b",): [15 * S]}
    assert run.timers(10 * S - 1) == []
    assert run.timers(10 * S) == [("a", 10)]
    assert sorted(run.timers(99 * S)) == [("a", 20), ("a", 30), ("b", 15)]
    assert run.kept == {("a",): ([10, 20, 30], 0), ("b",): ([15], 0)}
    assert run.due_at == {}
    assert run.timers(200 * S) == []


def test_a_cancelled_timer_does_not_fire() -> None:
    run = Run(operator(Alarm))
    run(("a", 10), ("a", 20))
    run(("a", -10), ("a", -77))
    assert run.timers(99 * S) == [("a", 20)]


def test_a_cancelled_timer_may_be_set_again() -> None:
    run = Run(operator(Alarm))
    run(("a", 10))
    run(("a", -10))
    run(("a", 10))
    assert run.timers(10 * S) == [("a", 10)]


def test_the_same_timer_twice_is_one() -> None:
    run = Run(operator(Alarm))
    run(("a", 10), ("a", 10))
    run(("a", 10))
    assert run.outcome.wakes is None
    assert run.timers(10 * S) == [("a", 10)]


def test_a_timer_in_the_past_is_called_when_the_watermark_next_moves() -> None:
    run = Run(operator(Alarm))
    run.timers(100 * S)
    run(("a", 10))
    assert run.timers(100 * S) == []
    assert run.timers(100 * S + 1) == [("a", 10)]


def test_a_key_that_was_removed_has_no_timers() -> None:
    run = Run(operator(Alarm))
    run(("a", 10), ("b", 10))
    run(("a", 0))
    assert run.timers(99 * S) == [("b", 10)]
    run(("a", 20), ("a", 0))
    assert run.outcome.state[TIMERS].to_list() == [[]]


def test_other_rows_leave_timers_alone() -> None:
    run = Run(operator(Alarm))
    run(("a", 10))
    run(("a", 20))
    assert run.due_at == {("a",): [10 * S, 20 * S]}
    assert run.timers(10 * S) == [("a", 10)]
    assert run.due_at == {("a",): [20 * S]}


class Periodic(Alarm):
    """Sets a timer every ten seconds, three times, then removes the key."""

    def on_timer(self, key: Any, at: datetime, context: Context) -> Iterator[Row]:
        self.repeat += 1
        yield key.word, int(at.timestamp())
        if self.repeat < 3:
            context.set_timer(int(at.timestamp() + 10) * S)
        else:
            context.remove()


def test_a_timer_may_set_the_next() -> None:
    run = Run(operator(Periodic))
    run(("a", 10))
    assert [run.timers(t * S) for t in (10, 19, 20, 25)] == [[("a", 10)], [], [("a", 20)], []]
    assert run.kept == {("a",): ([], 2)}
    assert run.timers(50 * S) == [("a", 30)]
    assert run.kept == {}


def test_a_timer_set_by_a_timer_waits_for_the_watermark_to_move() -> None:
    run = Run(operator(Periodic))
    run(("a", 10))
    assert [run.timers(t * S) for t in (100, 100, 101, 102)] == [[("a", 10)], [], [("a", 20)], [("a", 30)]]


def test_nothing_fires_after_a_timer_has_removed_the_key() -> None:
    class Last(Alarm):
        def on_timer(self, key: Any, at: datetime, context: Context) -> Iterator[Row]:
            yield key.word, int(at.timestamp())
            context.remove()

    run = Run(operator(Last))
    run(("a", 10), ("a", 20))
    assert run.timers(99 * S) == [("a", 10)]
    assert run.kept == {}


def test_a_timer_may_cancel_a_later_one() -> None:
    class First(Alarm):
        def on_timer(self, key: Any, at: datetime, context: Context) -> Iterator[Row]:
            yield key.word, int(at.timestamp())
            context.cancel_timer(30 * S)

    run = Run(operator(First))
    run(("a", 10), ("a", 30))
    assert run.timers(10 * S) == [("a", 10)]
    assert run.timers(99 * S) == []


def test_a_timer_may_cancel_one_that_is_due_as_well() -> None:
    class First(Alarm):
        def on_timer(self, key: Any, at: datetime, context: Context) -> Iterator[Row]:
            yield key.word, int(at.timestamp())
            context.cancel_timer(30 * S)

    run = Run(operator(First))
    run(("a", 10), ("a", 30))
    assert run.timers(99 * S) == [("a", 10)]


def test_a_timer_may_be_set_again_for_the_same_time() -> None:
    class Retry(Alarm):
        def on_timer(self, key: Any, at: datetime, context: Context) -> Iterator[Row]:
            yield key.word, int(at.timestamp())
            context.set_timer(at)

    run = Run(operator(Retry))
    run(("a", 10))
    assert [run.timers(t * S) for t in (10, 11, 12)] == [[("a", 10)]] * 3


def test_a_timer_that_raises_names_the_key() -> None:
    class Late(Alarm):
        def on_timer(self, key: Any, at: datetime, context: Context) -> Iterator[Row]:
            raise ValueError("too late")

    run = Run(operator(Late))
    run(("a", 10))
    with failed("key word='a': ValueError: too late"):
        run.timers(10 * S)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from("ab"), st.integers(-12, 12)), max_size=6),
            st.integers(0, 4),
        ),
        max_size=8,
    )
)
def test_timers_against_a_model(epochs: list[tuple[list[Row], int]]) -> None:
    """A timer fires in the first move of the watermark that passes it, and only if it is still there."""
    run, second = Run(operator(Alarm)), 0
    model: dict[str, set[int]] = {"a": set(), "b": set()}
    for rows, step in epochs:
        run(*rows)
        for word in {w for w, _ in rows}:
            for n in (n for w, n in rows if w == word):
                if n == 0:
                    model[word].clear()
                elif n > 0:
                    model[word].add(n)
                else:
                    model[word].discard(-n)
            if any(n == 0 for w, n in rows if w == word):
                model[word].clear()  # a removed key stays removed, whatever the same call does afterwards
        second += step
        fired = run.timers(second * S)
        due = {(w, n) for w, times in model.items() for n in times if n <= second} if step else set()
        assert sorted(fired) == sorted(due)
        for word, n in due:
            model[word].discard(n)
