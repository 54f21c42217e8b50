"""Instructions on their way to tasks: a property of the Spark job, decoded by its tasks.

If the function that tasks run contained the instructions, Spark would have to plan the stage anew in every epoch. So
the function has only what stays the same, the tables; the instructions name them.
"""

from __future__ import annotations

import base64
import io
import pickle
import zlib
from collections.abc import Mapping
from typing import Any

from rheostat.planning.tables import KeyedTable, WindowTable
from rheostat.spark.stage.specs import StageSpec

PROPERTY = "rheostat.stage"
"""The property of a Spark job with the instructions to its tasks."""

Tables = Mapping[str, WindowTable | KeyedTable]
"""Tables by name."""


def encode(spec: StageSpec) -> str:
    """The instructions as text; tables by name only."""
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(spec)
    return base64.b64encode(zlib.compress(buffer.getvalue(), 1)).decode()


def decode(text: str, tables: Tables) -> StageSpec:
    """The instructions that ``encode`` wrote.

    Args:
        text: the instructions.
        tables: the tables that they name.
    """
    spec = _Unpickler(io.BytesIO(zlib.decompress(base64.b64decode(text))), tables).load()
    assert isinstance(spec, StageSpec)
    return spec


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> str | None:
        return value.name if isinstance(value, (WindowTable, KeyedTable)) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tables: Tables) -> None:
        super().__init__(file)
        self._tables = tables

    def persistent_load(self, name: str) -> WindowTable | KeyedTable:
        return self._tables[name]
