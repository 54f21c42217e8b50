"""The whole-frame form: the arguments of the function, what it may return, and the errors for anything else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rheostat.errors import OperatorError
from rheostat.keyed.keyed_layout import DEAD, TIMERS, TOUCHED
from tests.keyed.builders import Run, alike, failed, operator, spread

Frames = tuple[Any, ...]


def add_up(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
    """The running total of every word."""
    sums = rows.group_by("word", maintain_order=True).agg(pl.col("n").sum())
    changed = sums.join(state, on="word", how="left", nulls_equal=True).select(
        "word", total=pl.col("n") + pl.col("total").fill_null(0)
    )
    return changed, changed


def returning(*parts: Any) -> Run:
    """An operator whose function always returns the same."""
    return Run(operator(lambda rows, state: parts))


def test_state_is_seen_again_by_the_next_epoch() -> None:
    run = Run(operator(add_up))
    assert run(("a", 1), ("b", 2), ("a", 3)) == [("a", 4), ("b", 2)]
    assert run(("b", 5), ("c", 1)) == [("b", 7), ("c", 1)]
    assert run.kept == {("a",): (4,), ("b",): (7,), ("c",): (1,)}


def test_only_the_state_of_keys_with_rows_is_given() -> None:
    seen: list[pl.DataFrame] = []

    def look(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        seen.append(state)
        return add_up(rows, state)

    run = Run(operator(look))
    run(("a", 1), ("b", 2))
    run(("b", 3))
    assert seen[0].schema == {"word": pl.String, "total": pl.Int64}
    assert seen[0].is_empty()
    assert seen[1].rows() == [("b", 2)]


def test_rows_come_in_order_and_without_the_hash() -> None:
    def look(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        assert rows.columns == ["word", "n"]
        assert rows.rows() == [("b", 3), ("a", 1), ("b", 2)]
        return None, None

    assert Run(operator(look))(("b", 3), ("a", 1), ("b", 2)) == []


def test_keys_that_did_not_change_are_not_written() -> None:
    def only_a(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        output, changed = add_up(rows, state)
        return output, changed.filter(pl.col("word") == "a")

    run = Run(operator(only_a))
    assert len(run(("a", 1), ("b", 2))) == 2
    assert run.outcome.state["k.word"].to_list() == ["a"]


def test_a_function_may_return_nothing() -> None:
    for empty in (None, pl.DataFrame(), pl.DataFrame(schema={"word": pl.String, "total": pl.Int64})):
        run = returning(empty, empty, empty)
        assert run(("a", 1)) == []
        assert run.outcome.output is None
        assert run.outcome.state.is_empty()
        assert run.outcome.state.columns == run.layout.names


def test_removed_keys_are_forgotten() -> None:
    def forget_b(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        output, changed = add_up(rows, state)
        gone = changed.filter(pl.col("word") == "b").select("word")
        return output, changed.filter(pl.col("word") != "b"), gone if len(state) else None

    run = Run(operator(forget_b))
    run(("a", 1))
    assert run(("a", 1), ("b", 2)) == [("a", 2), ("b", 2)]
    dead = run.outcome.state.filter(pl.col(DEAD))
    assert dead.select("k.word", "s.total").rows() == [("b", None)]
    assert run.kept == {("a",): (2,)}
    assert run(("b", 5)) == [("b", 5)]


def test_several_streams_come_by_name() -> None:
    def both(rows: dict[str, pl.DataFrame], state: pl.DataFrame) -> Frames:
        assert list(rows) == ["words", "calls"]
        assert rows["calls"].schema == {"who": pl.Int32, "word": pl.String}
        calls = rows["calls"].group_by("word").agg(pl.len().cast(pl.Int64).alias("n"))
        return add_up(pl.concat([rows["words"], calls]), state)

    inputs = {"words": {"word": "string", "n": "bigint"}, "calls": {"who": "int", "word": "string"}}
    run = Run(operator(both, inputs=inputs))
    assert run(("a", 1), calls=[(9, "a"), (9, "b")]) == [("a", 2), ("b", 1)]
    assert run(calls=[(9, "b")]) == [("b", 2)]
    assert run(("a", 5)) == [("a", 7)]


def test_null_is_a_key_like_any_other() -> None:
    run = Run(operator(add_up))
    run((None, 1), ("a", 2))
    assert run((None, 3)) == [(None, 4)]
    assert run.kept == {("a",): (2,), (None,): (4,)}
    gone = Run(operator(lambda rows, state: (None, None, rows.select("word"))))
    gone.state = run.state
    gone((None, 0))
    assert gone.kept == {("a",): (2,)}


def test_composite_keys_with_nulls_stay_apart() -> None:
    def count(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        sums = rows.group_by("a", "b", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("n"))
        known = sums.join(state, on=["a", "b"], how="left", nulls_equal=True)
        return None, known.select("a", "b", total=pl.col("n") + pl.col("total").fill_null(0))

    run = Run(operator(count, by=("b", "a"), inputs={"pairs": {"a": "int", "x": "string", "b": "string"}}))
    run((1, "x", "p"), (None, "x", "p"), (1, "x", None), (1, "y", "p"))
    run((None, "x", "p"), (None, "z", None))
    assert run.kept == {("p", 1): (2,), ("p", None): (2,), (None, 1): (1,), (None, None): (1,)}


def test_columns_may_be_in_any_order_more_than_declared_and_narrower() -> None:
    def odd(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        frame = rows.select(pl.lit("?").alias("more"), pl.col("n").cast(pl.Int16).alias("total"), "word")
        return frame, frame

    run = Run(operator(odd))
    assert run(("a", 1)) == [("a", 1)]
    assert run.outcome.output is not None
    assert run.outcome.output.schema.field("total").type == pa.int64()
    assert run.outcome.state["s.total"].dtype == pl.Int64


A = pl.DataFrame({"word": ["a"], "total": [1]})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((A.drop("total"), None), "column 'total' is missing from the output; declared columns: word, total"),
        (
            (None, A.drop("word")),
            "column 'word' is missing from the changed state; declared columns: word, total",
        ),
        ((None, None, A.drop("word")), "column 'word' is missing from the removed keys; declared columns: word"),
        ((A.with_columns(total=pl.lit("many")), None), "the output: column 'total' is not bigint: .*many"),
        ((None, A.with_columns(total=pl.lit("many"))), "the changed state: column 'total' is not bigint: .*many"),
        ((A.with_columns(total=pl.lit(1.5)), None), "the output: column 'total' is not bigint"),
        ((A.with_columns(total=pl.lit([1])), None), "the output: column 'total' is not bigint"),
        ((A.with_columns(total=pl.lit(2**64 - 1, pl.UInt64)), None), "the output: column 'total' is not bigint"),
        ((None, pl.concat([A, A])), "the changed state has two rows for one key"),
        ((None, A, A.select("word")), "the changed state has two rows for one key"),
        ((None, A.with_columns(word=pl.lit("z"))), r"the changed state has key \('z',\), which is not among the rows"),
        ((None, None, A.with_columns(word=pl.lit("z"))), r"the changed state has key \('z',\), which is not among"),
        ((None, A.with_columns(word=pl.lit(None))), r"the changed state has key \(None,\), which is not among"),
        (({"word": ["a"]}, None), "the output of the function is dict, not a polars frame"),
        ((None, [("a", 1)]), "the state from the function is list, not a polars frame"),
        ((None, None, "a"), "the removed keys from the function is str, not a polars frame"),
        ((None,), r"the function returned tuple, not \(output, changed state\) or \(output, changed state, removed"),
        ((None, None, None, None), "the function returned tuple"),
    ],
)
def test_results_that_do_not_fit_are_refused(parts: Frames, message: str) -> None:
    with failed(message):
        returning(*parts)(("a", 1))


@pytest.mark.parametrize("result", [None, A, [A, A], "done"])
def test_a_function_returns_a_tuple(result: Any) -> None:
    with failed(rf"the function returned {type(result).__name__}, not \(output, changed state\)"):
        Run(operator(lambda rows, state: result))(("a", 1))


def test_a_function_that_raises_is_named_with_its_own_traceback() -> None:
    def breaks(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        raise KeyError("no such price")

    with failed("KeyError: 'no such price'") as raised:
        Run(operator(breaks))(("a", 1))
    assert raised.value.operator == "op"
    assert 'raise KeyError("no such price")' in str(raised.value)
    assert "in breaks" in str(raised.value)
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_frame_operation_that_fails_is_named() -> None:
    with failed("ColumnNotFoundError"):
        Run(operator(lambda rows, state: (rows.select("price"), None)))(("a", 1))


def test_an_error_of_ours_is_not_wrapped_again() -> None:
    def slow(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        raise OperatorError("op", "it did not return within its time limit of 1 s")

    with failed("it did not return within its time limit"):
        Run(operator(slow))(("a", 1))


def test_keys_with_the_same_hash_are_kept_apart() -> None:
    run = Run(operator(add_up), alike)
    run(("a", 1), ("b", 2), ("a", 3), ("c", 1))
    assert run.outcome.state["hash"].to_list() == [7, 7, 7]
    assert run(("b", 5)) == [("b", 7)]
    assert run.kept == {("a",): (4,), ("b",): (7,), ("c",): (1,)}
    with failed(r"the changed state has key \('z',\)"):
        Run(operator(lambda rows, state: (None, A.with_columns(word=pl.lit("z")))), alike)(("a", 1), ("b", 1))


def test_every_row_of_state_has_the_hash_of_its_key() -> None:
    run = Run(operator(add_up))
    run(("a", 1), (None, 2), ("a", 3), ("b", 1))
    assert dict(run.state.select("k.word", "hash").rows()) == {w: spread((w,)) for w in ("a", "b", None)}


def test_when_a_key_changed_is_noted() -> None:
    run = Run(operator(add_up))
    run(("a", 1), now=100)
    run(("b", 1), now=200)
    assert dict(run.state.select("k.word", TOUCHED).rows()) == {"a": 100, "b": 200}
    run(("a", 1))
    assert dict(run.state.select("k.word", TOUCHED).rows()) == {"a": None, "b": 200}


def test_arrow_instead_of_polars() -> None:
    def count(rows: pa.Table, state: pa.Table) -> Frames:
        assert isinstance(rows, pa.Table)
        assert isinstance(state, pa.Table)
        assert state.column_names == ["word", "total"]
        before = dict(zip(state["word"].to_pylist(), state["total"].to_pylist(), strict=True))
        sums = rows.group_by("word", use_threads=False).aggregate([("n", "sum")])
        totals = pc.add(sums["n_sum"], pa.array([before.get(w, 0) for w in sums["word"].to_pylist()]))
        changed = pa.table({"word": sums["word"], "total": totals})
        return changed.to_batches()[0], changed

    run = Run(operator(count, over="arrow"))
    assert run(("a", 1), (None, 2), ("a", 3)) == [("a", 4), (None, 2)]
    assert run(("a", 1)) == [("a", 5)]
    with failed("the output of the function is dict, not a arrow frame"):
        Run(operator(lambda rows, state: ({}, None), over="arrow"))(("a", 1))


def test_polars_may_be_returned_where_arrow_was_given() -> None:
    def polars(rows: pa.Table, state: pa.Table) -> Frames:
        return add_up(pl.DataFrame(rows), pl.DataFrame(state))

    assert Run(operator(polars, over="arrow"))(("a", 1)) == [("a", 1)]


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def remind(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
    """Set the timer of every word to its number in seconds; 0 removes the timer."""
    timer = pl.when(pl.col("n") > 0).then(pl.from_epoch("n", "s").dt.replace_time_zone("UTC"))
    return None, rows.select("word", total=pl.col("n"), timer=timer)


def ring(state: pl.DataFrame) -> Frames:
    return state.select("word", "total"), None


S = 1_000_000


def test_a_timer_is_called_once_when_the_watermark_has_passed_it() -> None:
    run = Run(operator(remind, ring))
    run(("a", 10), ("b", 20), ("c", 30))
    assert run.due_at == {("a",): [10 * S], ("b",): [20 * S], ("c",): [30 * S]}
    assert run.timers(10 * S - 1) == []
    assert run.timers(20 * S) == [("a", 10), ("b", 20)]
    assert run.due_at == {("c",): [30 * S]}
    assert run.timers(25 * S) == []
    assert run.timers(99 * S) == [("c", 30)]
    assert run.kept == {("a",): (10,), ("b",): (20,), ("c",): (30,)}


def test_a_timer_may_be_moved_and_removed() -> None:
    run = Run(operator(remind, ring))
    run(("a", 10), ("b", 10))
    run(("a", 20), ("b", 0))
    assert run.due_at == {("a",): [20 * S]}
    assert run.timers(15 * S) == []
    assert run.timers(20 * S) == [("a", 20)]


def test_state_frames_have_the_timer_if_there_are_any() -> None:
    seen: list[pl.DataFrame] = []

    def look(rows: pl.DataFrame, state: pl.DataFrame) -> Frames:
        seen.append(state)
        return remind(rows, state)

    run = Run(operator(look, ring))
    run(("a", 10), ("b", 0))
    run(("a", 10), ("b", 0))
    assert seen[0].schema == {"word": pl.String, "total": pl.Int64, "timer": pl.Datetime("us", "UTC")}
    assert sorted(seen[1].rows()) == [("a", 10, at(10)), ("b", 0, None)]


def test_the_timer_column_may_not_be_left_out() -> None:
    with failed("column 'timer' is missing from the changed state; declared columns: word, total, timer"):
        Run(operator(lambda rows, state: (None, A), ring))(("a", 1))
    with failed("the changed state: column 'timer' is not timestamp"):
        Run(operator(lambda rows, state: (None, A.with_columns(timer=pl.lit("soon"))), ring))(("a", 1))


def test_a_timer_may_be_set_again_when_it_is_called() -> None:
    def again(state: pl.DataFrame) -> Frames:
        return state.select("word", "total"), state.with_columns(pl.col("timer") + pl.duration(seconds=5))

    run = Run(operator(remind, again))
    run(("a", 10))
    assert [run.timers(t * S) for t in (10, 14, 15, 16, 40)] == [[("a", 10)], [], [("a", 10)], [], [("a", 10)]]


def test_a_timer_in_the_past_is_called_when_the_watermark_next_moves() -> None:
    run = Run(operator(remind, ring))
    assert run.timers(100 * S) == []
    run(("a", 10))
    assert run.timers(100 * S) == []
    assert run.timers(100 * S + 1) == [("a", 10)]


def test_keys_that_on_timer_does_not_return_keep_their_state_and_lose_the_timer() -> None:
    def only_a(state: pl.DataFrame) -> Frames:
        return None, state.filter(pl.col("word") == "a").with_columns(total=pl.lit(99), timer=pl.lit(None))

    run = Run(operator(remind, only_a))
    run(("a", 10), ("b", 10), (None, 10), now=1)
    run.timers(10 * S, now=2)
    assert run.kept == {("a",): (99,), ("b",): (10,), (None,): (10,)}
    assert run.due_at == {}
    assert dict(run.state.select("k.word", TOUCHED).rows()) == {"a": 2, "b": 1, None: 1}


def test_a_timer_may_remove_keys() -> None:
    run = Run(operator(remind, lambda state: (None, None, state.select("word"))))
    run(("a", 10), ("b", 20))
    run.timers(10 * S)
    assert run.kept == {("b",): (20,)}
    assert run.outcome.state[DEAD].all()
    assert run.outcome.state[TIMERS].to_list() == [[]]


def test_a_timer_that_raises_is_named() -> None:
    run = Run(operator(remind, lambda state: 1 / 0))
    run(("a", 10))
    with failed("on_timer: ZeroDivisionError: division by zero"):
        run.timers(10 * S)
    run = Run(operator(remind, lambda state: None))
    run(("a", 10))
    with failed(r"on_timer returned NoneType, not \(output, changed state\)"):
        run.timers(10 * S)


def test_a_timer_may_not_touch_keys_it_was_not_called_with() -> None:
    run = Run(operator(remind, lambda state: (None, state.with_columns(word=pl.lit("z")))))
    run(("a", 10), ("z", 50))
    with failed(r"the changed state has key \('z',\)"):
        run.timers(10 * S)


def test_only_new_timers_are_new() -> None:
    run = Run(operator(remind, ring))
    run(("a", 10), ("b", 20))
    run(("a", 10), ("b", 30))
    assert run.outcome.wakes is not None
    assert run.outcome.wakes.select("k.word", "start").rows() == [("b", 30 * S)]
