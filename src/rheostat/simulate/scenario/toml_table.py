"""Check the tables of a scenario file: which keys they may have, and the type of each value."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rheostat.errors import ConfigurationError, TopologyError

Types = Mapping[str, Any]
"""Maps each key of a table to the type of its value, as in the annotations of a dataclass."""

_PLAIN: Mapping[Any, tuple[tuple[type, ...], str]] = {
    float: ((int, float), "a number, without quotes"),
    int: ((int,), "a whole number, without quotes"),
    str: ((str,), "a text in quotes"),
    bool: ((bool,), "true or false, without quotes"),
}
"""Maps each simple type to the Python types that TOML may give for it, and to a description."""

_LONGEST = 60  # characters of a value in an error


def field_types(dataclass: Any, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, or of an instance of one, without those to leave out.

    >>> from rheostat.simulate.job import Timing
    >>> field_types(Timing)
    {'tick': <class 'float'>, 'interval': <class 'float'>}
    """
    hints = get_type_hints(dataclass if isinstance(dataclass, type) else type(dataclass))
    return {f.name: hints[f.name] for f in fields(dataclass) if f.init and f.name not in leave_out}


def check_table(where: str, table: Any, types: Types, required: Collection[str] = ()) -> dict[str, Any]:
    """Return the values of a table, converted to their types; raise ``ConfigurationError`` if the table is wrong.

    Args:
        where: how the table is written in the file, such as ``[cluster]``; empty for keys outside of all tables.
        table: the table.
        types: the keys that the table may have, and their types.
        required: the keys that it must have.

    >>> check_table("[cluster]", {"nodes": "3"}, {"nodes": int})
    Traceback (most recent call last):
    ...
    rheostat.errors.ConfigurationError: [cluster] nodes = "3": write a whole number, without quotes
    """
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{where}: write a table, a line {where} with lines key = value below it")
    check_keys(where, table, types)
    for key in required:
        if key not in table:
            raise ConfigurationError(f"{_prefix(where)}missing key {key}")
    return {key: _convert(f"{where} {key}".strip(), value, types[key]) for key, value in table.items()}


def build(dataclass: Any, where: str, table: Any) -> Any:
    """Return a dataclass instance with the values of a table; errors name the table."""
    values = check_table(where, table, field_types(dataclass))
    try:
        return dataclass(**values)
    except (ConfigurationError, TopologyError) as error:
        raise ConfigurationError(f"{where}: {error}") from error


def check_keys(where: str, table: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Raise ``ConfigurationError`` if a table has keys that are not allowed."""
    unknown = sorted(set(table) - set(allowed))
    if unknown:
        known = f"known keys: {', '.join(sorted(allowed))}" if allowed else "it has no keys"
        raise ConfigurationError(f"{_prefix(where)}unknown key {', '.join(unknown)}; {known}")


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _convert(name: str, value: Any, type_: Any) -> Any:
    """Return a value as its type: whole numbers become floats where needed, and lists become tuples."""
    converted, expected = _try_convert(value, type_)
    if converted is None:
        raise ConfigurationError(f"{name} = {_as_toml(value)}: write {expected}")
    return converted


def _try_convert(value: Any, type_: Any) -> tuple[Any, str]:
    """Return the converted value, or None if it does not fit the type, and a description of what to write."""
    origin, parts = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):  # an optional value: TOML has no None
        return _try_convert(value, next(part for part in parts if part is not NoneType))
    if origin is Literal:
        return value if value in parts else None, f"one of {', '.join(map(_as_toml, parts))}"
    if origin is tuple:
        items = [_try_convert(item, parts[0])[0] for item in value] if isinstance(value, list) else [None]
        example = 'texts in brackets, such as ["one", "other"]'
        if parts[0] is not str:
            example = "numbers in brackets, such as [1.0, 2.0]"
        return None if None in items else tuple(items), f"a list of {example}"
    if origin is not None:  # a mapping from names to numbers
        items = [_try_convert(item, parts[1])[0] for item in value.values()] if isinstance(value, Mapping) else [None]
        converted = None if None in items else dict(zip(value, items, strict=True))
        return converted, "a number for each name, such as { one = 1.0, other = 2.0 }"
    accepted, expected = _PLAIN[type_]
    fits = isinstance(value, accepted) and isinstance(value, bool) == (type_ is bool)
    if isinstance(value, float) and math.isnan(value):
        fits = False
    return type_(value) if fits else None, expected


def _as_toml(value: Any) -> str:
    """Return a value about as it is written in a file, shortened if it is long."""
    text = json.dumps(value, default=str) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
