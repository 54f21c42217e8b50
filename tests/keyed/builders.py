"""An operator with keyed state, called epoch after epoch without Spark and without files."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from rheostat.choices import Over
from rheostat.errors import OperatorError
from rheostat.keyed import frame_calls, key_calls
from rheostat.keyed.call_result import CallMoment, CallResult
from rheostat.keyed.keyed_layout import DEAD, TIMERS, KeyedLayout, layout_of
from rheostat.topology.nodes import Process
from rheostat.topology.processors import KeyProcessor
from rheostat.types import Schema, arrow_type
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import HASH, START

WORDS: Schema = {"word": "string", "n": "bigint"}
TOTALS: Schema = {"word": "string", "total": "bigint"}

Row = tuple[Any, ...]


def failed(message: str) -> Any:
    """Expect an ``OperatorError`` of the operator with this message."""
    return pytest.raises(OperatorError, match=f"^operator 'op' failed: {message}")


def operator(
    logic: Any,
    on_timer: Callable[..., Any] | None = None,
    *,
    by: Sequence[str] = ("word",),
    inputs: Mapping[str, Schema] | None = None,
    state: Schema | None = None,
    schema: Schema = TOTALS,
    over: Over = "polars",
) -> Process:
    """A process operator named ``op``; by default its rows are words with a number each."""
    streams = inputs or {"words": WORDS}
    per_key = isinstance(logic, type) and issubclass(logic, KeyProcessor)
    fields = {n: f.column_type for n, f in logic.fields.items()} if per_key else state or {"total": "bigint"}
    first = next(iter(streams.values()))
    return Process(
        name="op",
        upstreams=tuple(streams),
        inputs=tuple(columns(s) for s in streams.values()),
        keys=tuple(by),
        key_types=tuple(first[k] for k in by),
        state=columns(fields),
        schema=columns(schema),
        logic=logic,
        on_timer=on_timer,
        per_key=per_key,
        over=over,
    )


def columns(schema: Schema) -> tuple[Column, ...]:
    return tuple(Column(n, t) for n, t in schema.items())


def table(rows: Sequence[Row], given: Sequence[Column]) -> pl.DataFrame:
    """Rows as a Polars frame, with the types they have when they come from Spark or from a segment."""
    schema = pa.schema([(c.name, arrow_type(c.type)) for c in given])
    made = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    frame = pl.from_arrow(made)
    assert isinstance(frame, pl.DataFrame)
    return frame


def spread(key: Row) -> int:
    """A routing hash like Spark's: a signed integer of 64 bits."""
    text = repr(key).encode()
    unsigned = zlib.crc32(text) << 32 | zlib.crc32(text[::-1])
    return unsigned - (unsigned >> 63 << 64)


def alike(_: Row) -> int:
    """The same hash for every key."""
    return 7


class Run:
    """Epochs of one operator, with its state and its index of timers in memory.

    Attributes:
        state: the rows of all keys, in the columns of the layout.
        outcome: the result of the last call.
    """

    def __init__(self, process: Process, hash_of: Callable[[Row], int] = spread) -> None:
        self.process = process
        self.layout: KeyedLayout = layout_of(process)
        self.state = table([], self.layout.columns)
        self.outcome = CallResult(None, self.state)
        self._hash_of = hash_of
        self._wakes: list[tuple[int, int]] = []
        self._watermark: int | None = None
        self._epoch = -1

    def __call__(self, *rows: Row, now: int | None = None, **more: Sequence[Row]) -> list[Row]:
        """Call the operator with the rows of an epoch, and return its output rows.

        Args:
            rows: the rows of the first stream.
            now: the time by which state expires; None if nothing expires.
            more: by name, the rows of further streams.
        """
        given = {self.process.upstream: rows, **more}
        arrived = {name: self.frame(given.get(name, ()), name) for name in self.process.upstreams}
        known = pl.concat([f[HASH] for f in arrived.values()])
        call = key_calls.call_rows if self.process.per_key else frame_calls.call_rows
        state = self.state.filter(pl.col(HASH).is_in(known.implode()))
        return self._keep(call(self.process, self.layout, arrived, state, self._setting(now)))

    def timers(self, until: int, now: int | None = None) -> list[Row]:
        """Advance the watermark, call the timers that are due, and return their output rows."""
        after, self._watermark = self._watermark, until
        hashes = [h for at, h in self._wakes if at <= until and (after is None or at > after)]
        found = self.state.filter(pl.col(HASH).is_in(hashes) & (pl.col(TIMERS).list.min() <= until))
        if found.is_empty():
            return []
        call = key_calls.call_timers if self.process.per_key else frame_calls.call_timers
        return self._keep(call(self.process, self.layout, found, self._setting(now)))

    def frame(self, rows: Sequence[Row], stream: str) -> pl.DataFrame:
        """Rows of a stream with their routing hash."""
        given = dict(zip(self.process.upstreams, self.process.inputs, strict=True))[stream]
        at = [[c.name for c in given].index(k) for k in self.process.keys]
        hashed = [(self._hash_of(tuple(row[i] for i in at)), *row) for row in rows]
        return table(hashed, [Column(HASH, "bigint"), *(Column(f"r.{c.name}", c.type) for c in given)])

    @property
    def kept(self) -> dict[Row, Row]:
        """By key, the fields of its state."""
        width = len(self.layout.keys)
        rows = self.state.select(*self.layout.key_names, *(c.name for c in self.layout.fields)).rows()
        return {row[:width]: row[width:] for row in rows}

    @property
    def due_at(self) -> dict[Row, list[int]]:
        """By key with timers, their times."""
        rows = self.state.select(*self.layout.key_names, TIMERS).rows()
        return {row[:-1]: sorted(row[-1]) for row in rows if row[-1]}

    def _setting(self, now: int | None) -> CallMoment:
        self._epoch += 1
        return CallMoment(self._epoch, self._watermark, now)

    def _keep(self, outcome: CallResult) -> list[Row]:
        """Add the state of a call as the store does, where the newest row of a key counts; return the output rows."""
        self.outcome = outcome
        every = pl.concat([self.state, outcome.state.select(self.layout.names)])
        newest = every.unique(subset=self.layout.key_names, keep="last", maintain_order=True)
        self.state = newest.filter(~pl.col(DEAD))
        if outcome.wakes is not None:
            later = -(2**63) if self._watermark is None else self._watermark + 1
            self._wakes += [(max(at, later), h) for h, at in outcome.wakes.select(HASH, START).rows()]
        return [] if outcome.output is None else [tuple(r.values()) for r in outcome.output.to_pylist()]
