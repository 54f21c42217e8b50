"""Calls functions over frames epoch by epoch, as ``process`` does, without Spark: state by key, timers by watermark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from rheostat.types import arrow_type


def schema_of(ddl: str) -> dict[str, Any]:
    """The Polars types of columns that are given as Spark DDL."""
    pieces, depth = [""], 0
    for character in ddl:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    columns = [piece.strip().split(" ", 1) for piece in pieces]
    table = {name: arrow_type(type_.strip()) for name, type_ in columns}
    frame = pl.from_arrow(pa.schema(table).empty_table())
    assert isinstance(frame, pl.DataFrame)
    return dict(frame.schema)


class FrameEpochs:
    """A ``process`` operator without Spark.

    Args:
        function: the function over frames.
        keys: the key columns with their Polars types.
        state: the state columns as Spark DDL; empty if there are none.
        schema: the columns of the output as Spark DDL.
        on_timer: the function that gets the state of keys whose timer is due.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        keys: dict[str, Any],
        state: str,
        schema: str,
        on_timer: Callable[..., Any] | None = None,
    ) -> None:
        timer = {"timer": pl.Datetime("us", "UTC")} if on_timer else {}
        self._function, self._on_timer, self._keys = function, on_timer, list(keys)
        self.state = pl.DataFrame(schema={**keys, **(schema_of(state) if state else {}), **timer})
        self._output = pl.DataFrame(schema=schema_of(schema))

    def epoch(self, rows: Any, watermark: Any = None) -> pl.DataFrame:
        """The output of an epoch.

        Args:
            rows: a frame, or frames by stream.
            watermark: the watermark after the epoch; timers up to it are called.
        """
        frames = list(rows.values()) if isinstance(rows, dict) else [rows]
        keys = pl.concat([f.select(self._keys) for f in frames]).unique()
        known = self.state.join(keys, on=self._keys, how="semi")
        output = [self._output, self._apply(self._function(rows, known))] if len(keys) else [self._output]
        if self._on_timer is not None and watermark is not None:
            due = self.state.filter((pl.col("timer") <= watermark).fill_null(False))
            if len(due):
                self.state = self.state.with_columns(
                    pl.when((pl.col("timer") <= watermark).fill_null(False))
                    .then(None)
                    .otherwise("timer")
                    .alias("timer")
                )
                output.append(self._apply(self._on_timer(due)))
        return pl.concat(output)

    def run(self, epochs: Sequence[Any], watermarks: Sequence[Any] | None = None) -> pl.DataFrame:
        """The output of all epochs, in order."""
        return pl.concat(
            self.epoch(rows, None if watermarks is None else watermarks[i]) for i, rows in enumerate(epochs)
        )

    def _apply(self, result: tuple[Any, ...]) -> pl.DataFrame:
        output, changed, *removed = result
        for frame in (changed, *removed):
            if frame is not None:
                assert not frame.select(self._keys).is_duplicated().any(), "two rows for one key"
                self.state = self.state.join(frame, on=self._keys, how="anti")
        if changed is not None:
            self.state = pl.concat([self.state, changed.select(self.state.columns).cast(dict(self.state.schema))])
        if output is None:
            return self._output
        typed: pl.DataFrame = output.select(self._output.columns).cast(dict(self._output.schema))
        return typed
