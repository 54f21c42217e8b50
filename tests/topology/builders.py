"""Frames with columns and no rows, so that topologies can be written and checked without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rheostat.durations import Duration
from rheostat.topology.graph import Graph
from rheostat.topology.stream import Stream

LOANS = {
    "ts": "timestamp",
    "arrived": "timestamp",
    "user": "string",
    "area": "string",
    "grade": "int",
    "amount": "double",
    "cents": "bigint",
    "price": "decimal(10,2)",
    "tags": "array<string>",
    "paid": "boolean",
}


if TYPE_CHECKING:
    _AnyFrame = Any
else:
    _AnyFrame = object


@dataclass(frozen=True)
class Frame(_AnyFrame):  # type: ignore[misc]  # to a type checker it is a DataFrame, or anything else
    """The part of a DataFrame that a topology looks at."""

    types: Mapping[str, str]
    streaming: bool = True

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        return list(self.types.items())

    @property
    def columns(self) -> list[str]:
        return list(self.types)

    @property
    def isStreaming(self) -> bool:  # noqa: N802 - PySpark's name
        return self.streaming

    @property
    def sparkSession(self) -> Frame:  # noqa: N802 - PySpark's name
        return self

    def createDataFrame(self, rows: Iterable[Any], schema: str) -> Frame:  # noqa: N802 - PySpark's name
        assert not list(rows)
        return Frame(columns_of(schema), streaming=False)

    def mapInArrow(self, function: Callable[..., Any], schema: str) -> Frame:  # noqa: N802 - PySpark's
        return Frame(columns_of(schema))

    def with_column(self, name: str, type_: str) -> Frame:
        return Frame({**self.types, name: type_})

    def without(self, name: str) -> Frame:
        return Frame({n: t for n, t in self.types.items() if n != name})


def without(name: str) -> Callable[[Any], Any]:
    """A map that leaves a column out."""
    return lambda frame: frame.without(name)


def with_column(name: str, type_: str) -> Callable[[Any], Any]:
    """A map that adds a column."""
    return lambda frame: frame.with_column(name, type_)


def unchanged(frame: Any) -> Any:
    """A map that changes nothing."""
    return frame


def columns_of(ddl: str) -> dict[str, str]:
    """Names and types of the columns in Spark DDL."""
    parts, depth = [""], 0
    for character in ddl:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    named = [part.strip().rsplit(" ", 1) for part in parts]
    return {name.strip("`").replace("``", "`"): type_ for name, type_ in named}


def loans(name: str = "lending", *, source: str = "source", slack: Duration = "10 seconds", **types: str) -> Stream:
    """A source of loans in a new topology."""
    return Graph(name).source(Frame({**LOANS, **types}), event_time="ts", slack=slack, name=source)
