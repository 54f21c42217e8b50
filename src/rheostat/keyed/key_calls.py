"""The key-by-key form of ``process``: load one key's state into the processor's fields, call it, store the fields."""

from __future__ import annotations

import time
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rheostat.errors import OperatorError
from rheostat.keyed.call_result import CallMoment, CallResult
from rheostat.keyed.declared_types import cast_rows
from rheostat.keyed.keyed_layout import TIMERS, KeyedLayout
from rheostat.topology.nodes import Process
from rheostat.topology.processors import Context, KeyProcessor, from_micros
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import HASH, START

Key = tuple[Any, ...]
"""The values of a key's attributes."""

_NAN = float("nan")


def call_rows(
    process: Process, layout: KeyedLayout, rows: Mapping[str, pl.DataFrame], state: pl.DataFrame, moment: CallMoment
) -> CallResult:
    """Call the processor for every key that has rows.

    Args:
        process: the operator.
        layout: the columns of its state.
        rows: by stream, its rows in order: ``hash``, and the stream's own columns as ``r.NAME``.
        state: the state of their keys, in the columns of the layout.
        moment: the time of the calls.

    Raises:
        OperatorError: a call failed, or returned something that was not declared.
    """
    calls = _Calls(process, layout, state, moment)
    if len(process.upstreams) == 1:
        for hash_, key, key_rows in _groups(process, rows[process.upstream]):
            calls.rows(hash_, key, key_rows)
    else:
        by_key: dict[tuple[int, Key], dict[str, list[Any]]] = {}
        for stream, frame in rows.items():
            for hash_, key, key_rows in _groups(process, frame):
                by_stream = by_key.setdefault((hash_, key), {n: [] for n in process.upstreams})
                by_stream[stream] = by_stream[stream] + key_rows
        for (hash_, key), by_stream in sorted(by_key.items(), key=lambda item: item[0][0]):
            calls.rows(hash_, key, by_stream)
    return calls.result()


def call_timers(process: Process, layout: KeyedLayout, due: pl.DataFrame, moment: CallMoment) -> CallResult:
    """Call ``on_timer`` for every timer that is due, for each key in the order of time.

    Args:
        process: the operator.
        layout: the columns of its state.
        due: the state of the keys whose timers may be due.
        moment: the time of the calls.

    Raises:
        OperatorError: a call failed, or returned something that was not declared.
    """
    calls = _Calls(process, layout, due, moment)
    for hash_, *key in due.select(HASH, *layout.key_names).rows():
        calls.timers(hash_, _key(key))
    return calls.result()


class _Calls:
    """The calls of one task. One processor object is loaded with the state of one key after another."""

    def __init__(self, process: Process, layout: KeyedLayout, state: pl.DataFrame, moment: CallMoment) -> None:
        self._process = process
        self._layout = layout
        self._moment = moment
        self._fields = process.logic.fields
        self._row_of: Any = namedtuple("Key", process.keys, rename=True)  # type: ignore[misc]
        self._state = _state_by_key(layout, state)
        self._written: dict[Key, tuple[int, bool, list[Any], list[int]]] = {}
        self._wakes: list[tuple[Any, ...]] = []
        self._output: list[Any] = []
        self._costs: tuple[list[int], list[float]] = ([], [])
        try:
            self._processor: KeyProcessor = process.logic()
        except Exception as error:
            raise OperatorError.caused_by(process.name, f"creating a {process.logic.__name__}", error) from error

    def rows(self, hash_: int, key: Key, rows: Any) -> None:
        """Call ``process`` for a key.

        Args:
            hash_: routing hash of the key.
            key: the key.
            rows: its rows; with several streams, a dict of the rows by stream.
        """
        self._call(hash_, key, lambda named, context: self._processor.process(named, rows, context))

    def timers(self, hash_: int, key: Key) -> None:
        """Call ``on_timer`` for the key's timers that are due."""
        watermark = self._moment.watermark
        assert watermark is not None
        due = sorted(t for t in self._state[key][1] if t <= watermark)

        def fire(named: Any, context: Context) -> Iterator[Any]:
            for at in due:
                if at in context.timers:  # an earlier call may have cancelled it
                    context.timers.discard(at)
                    yield from self._processor.on_timer(named, from_micros(at), context) or ()

        if due:
            self._call(hash_, key, fire, due)

    def _call(self, hash_: int, key: Key, call: Any, fired: Iterable[int] = ()) -> None:
        """Call the processor for one key, and record its output, its state and how long it took.

        Args:
            hash_: routing hash of the key.
            key: the key.
            call: called with the key as a named tuple and the context; returns output rows.
            fired: the timers that are called.
        """
        began = time.perf_counter()
        values, timers = self._state.get(key, (None, ()))
        for position, (name, field) in enumerate(self._fields.items()):
            setattr(self._processor, name, field.loaded(None if values is None else values[position]))
        context = Context(self._moment.epoch, self._moment.watermark)
        context.timers = set(timers)
        named = self._row_of._make(key)
        try:
            self._output += call(named, context) or ()
            kept = [f.stored(getattr(self._processor, n)) for n, f in self._fields.items()]
        except OperatorError:
            raise
        except Exception as error:
            shown = ", ".join(f"{n}={v!r}" for n, v in zip(self._process.keys, key, strict=True))
            raise OperatorError.caused_by(self._process.name, f"key {shown}", error) from error
        self._wakes += [(hash_, *key, at) for at in context.timers.difference(set(timers).difference(fired))]
        if context.removed:
            self._state.pop(key, None)
        else:
            self._state[key] = (kept, tuple(context.timers))
        self._written[key] = (hash_, context.removed, kept, sorted(context.timers))
        self._costs[0].append(hash_)
        self._costs[1].append(time.perf_counter() - began)

    def result(self) -> CallResult:
        """The result of all calls together."""
        process, layout = self._process, self._layout
        output = cast_rows(process.name, "an output row", self._output, process.schema) if self._output else None
        empty = [None] * len(self._fields)
        rows = [
            (hash_, *key, *(empty if dead else kept), dead, self._moment.now, timers)
            for key, (hash_, dead, kept, timers) in self._written.items()
        ]
        state = _polars(cast_rows(process.name, "the state", rows, layout.user_columns).rename_columns(layout.names))
        wake_columns = (Column(HASH, "bigint"), *layout.keys, Column(START, "bigint"))
        wakes = _polars(cast_rows(process.name, "a timer", self._wakes, wake_columns)) if self._wakes else None
        costs = np.array(self._costs[0], dtype=np.int64), np.array(self._costs[1], dtype=np.float64)
        return CallResult(output, state, wakes, costs)


def _groups(process: Process, frame: pl.DataFrame) -> Iterator[tuple[int, Key, list[Any]]]:
    """Hash, key and rows of each key: keys in the order of their hash, rows as named tuples in their old order."""
    if frame.is_empty():
        return
    by = [HASH, *(f"r.{k}" for k in process.keys)]
    ordered = frame.sort(by, maintain_order=True)
    begins = ordered.select(pl.any_horizontal(pl.col(c).ne_missing(pl.col(c).shift(1)) for c in by)).to_series()
    first = np.flatnonzero(begins.to_numpy() | (np.arange(len(ordered)) == 0))
    columns = ordered.select(pl.col(n).alias(n.removeprefix("r.")) for n in ordered.columns if n != HASH)
    row_of: Any = namedtuple("Row", columns.columns, rename=True)  # type: ignore[misc]
    rows: list[Any] = list(map(row_of._make, columns.rows()))
    heads = ordered[first].select(by).rows()
    ends = [*first[1:].tolist(), len(rows)]
    for (hash_, *key), begin, end in zip(heads, first.tolist(), ends, strict=True):
        yield hash_, _key(key), rows[begin:end]


def _state_by_key(layout: KeyedLayout, state: pl.DataFrame) -> dict[Key, tuple[list[Any], tuple[int, ...]]]:
    """By key, the values of its fields, and its timers."""
    table = state.to_arrow(compat_level=pl.CompatLevel.oldest())
    columns = [table.column(f.name).to_pylist() for f in layout.fields]
    keys = zip(*(state[k].to_list() for k in layout.key_names), strict=True)
    values: Iterable[Any] = zip(*columns, strict=True) if columns else ([] for _ in range(len(state)))
    timers = state[TIMERS].to_list()
    return {_key(k): (list(v), tuple(t or ())) for k, v, t in zip(keys, values, timers, strict=True)}


def _key(values: Iterable[Any]) -> Key:
    """A key for lookups. NaN is not equal to itself, so one object stands for every NaN."""
    return tuple(_NAN if v != v else v for v in values)  # noqa: PLR0124


def _polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
