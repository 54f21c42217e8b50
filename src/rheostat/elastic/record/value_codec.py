"""Values as JSON and back, by the types of their fields.

A dataclass becomes an object with all its fields, so a field that is added later is recorded without a change here. A
recording that lacks a field gets the field's default. Floats are written with all their digits; those that JSON cannot
hold are the texts ``nan``, ``inf`` and ``-inf``. Arrays are left to ``array_codec``.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from rheostat.elastic.record.array_codec import ArrayReader, ArrayWriter


def to_json(kind: Any, value: Any, arrays: ArrayWriter) -> Any:
    """Return a value of a type as something that ``json.dumps`` takes.

    Args:
        kind: the type, as fields declare it.
        value: the value.
        arrays: writes the arrays.

    Raises:
        TypeError: the value has a part that cannot be recorded.

    >>> from rheostat.elastic.model.observation import LatencySummary
    >>> to_json(LatencySummary, LatencySummary(rows=3.0, mean=0.5), ArrayWriter())
    {'rows': 3.0, 'mean': 0.5, 'p50': 'nan', 'p99': 'nan'}
    """
    if _is_optional(kind):
        return None if value is None else to_json(_other_than_none(kind), value, arrays)
    if _is_array(kind):
        return arrays.text(value)
    if is_dataclass(kind):
        return {f.name: to_json(hint, getattr(value, f.name), arrays) for f, hint in recorded_fields(cast(type, kind))}
    origin = get_origin(kind)
    if origin is tuple:
        return [to_json(k, item, arrays) for k, item in zip(_item_kinds(kind, len(value)), value, strict=True)]
    if _is_mapping(origin) and get_args(kind)[0] is str:
        return {str(key): to_json(get_args(kind)[1], item, arrays) for key, item in value.items()}
    return _plain(kind, value)


def from_json(kind: Any, value: Any, arrays: ArrayReader) -> Any:
    """Return the value of which ``to_json`` made this, after it was written and read.

    Raises:
        ValueError: it is something else, or has a field that this version does not know.

    >>> from rheostat.elastic.model.observation import LatencySummary
    >>> from_json(LatencySummary, {"rows": 3.0, "mean": 0.5}, ArrayReader())
    LatencySummary(rows=3.0, mean=0.5, p50=nan, p99=nan)
    """
    if _is_optional(kind):
        return None if value is None else from_json(_other_than_none(kind), value, arrays)
    if _is_array(kind):
        return arrays.array(value)
    if is_dataclass(kind):
        return _dataclass_of(kind, value, arrays)
    origin = get_origin(kind)
    if origin is tuple:
        return tuple(from_json(k, item, arrays) for k, item in zip(_item_kinds(kind, len(value)), value, strict=True))
    if _is_mapping(origin):
        return {key: from_json(get_args(kind)[1], item, arrays) for key, item in value.items()}
    return kind(value)


@cache
def recorded_fields(kind: type) -> tuple[tuple[Field[Any], Any], ...]:
    """Return the fields of a dataclass that its constructor takes, each with its type."""
    hints = get_type_hints(kind)
    return tuple((f, hints[f.name]) for f in fields(kind) if f.init)


def _dataclass_of(kind: Any, value: Mapping[str, Any], arrays: ArrayReader) -> Any:
    known = recorded_fields(kind)
    if unknown := sorted(set(value) - {f.name for f, _ in known}):
        raise ValueError(f"{kind.__name__} has no {', '.join(unknown)}; a newer version of Rheostat wrote it")
    for f, _ in known:
        if f.name not in value and f.default is MISSING and f.default_factory is MISSING:
            raise ValueError(f"{kind.__name__} lacks {f.name}")
    # In the order of writing: later arrays refer to earlier ones.
    hints = {f.name: hint for f, hint in known}
    return kind(**{name: from_json(hints[name], item, arrays) for name, item in value.items()})


def _plain(kind: Any, value: Any) -> Any:
    """Return a value without parts: a number, a text or a member of an enumeration."""
    if kind is float:
        number = float(value)
        return number if isfinite(number) else repr(number)
    if kind in (int, bool, str):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return value.value
    raise TypeError(f"{kind} cannot be recorded: teach rheostat.elastic.record.value_codec this type")


def _is_optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _is_array(kind: Any) -> bool:
    return kind is np.ndarray or get_origin(kind) is np.ndarray


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _other_than_none(kind: Any) -> Any:
    """Return the one type of an optional value."""
    others = [k for k in get_args(kind) if k is not type(None)]
    if len(others) != 1:
        raise TypeError(f"{kind} cannot be recorded: a field has one type, or that type or None")
    return others[0]


def _item_kinds(kind: Any, count: int) -> tuple[Any, ...]:
    kinds = get_args(kind)
    return (kinds[0],) * count if len(kinds) == 2 and kinds[1] is Ellipsis else kinds
