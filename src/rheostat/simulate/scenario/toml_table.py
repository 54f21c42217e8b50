"""Tables of a scenario's file: which names they may have and what may stand behind them, checked before it is used."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rheostat.errors import ConfigurationError, TopologyError

Kinds = Mapping[str, Any]
"""What may stand behind a name: a type, as dataclasses are annotated with."""

_PLAIN: Mapping[Any, tuple[tuple[type, ...], str]] = {
    float: ((int, float), "a number, without quotes"),
    int: ((int,), "a whole number, without quotes"),
    str: ((str,), "a text in quotes"),
    bool: ((bool,), "true or false, without quotes"),
}
_SHOWN = 60


def kinds_of(made: Any, leave_out: set[str] | frozenset[str] = frozenset()) -> dict[str, Any]:
    """The kinds of a dataclass's attributes, without those that a file cannot give.

    >>> from rheostat.simulate.job import Timing
    >>> kinds_of(Timing)
    {'tick': <class 'float'>, 'interval': <class 'float'>}
    """
    hints = get_type_hints(made if isinstance(made, type) else type(made))
    return {f.name: hints[f.name] for f in fields(made) if f.init and f.name not in leave_out}


def checked(where: str, values: Any, kinds: Kinds, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values of a table; unknown names and values of a wrong kind are refused.

    Args:
        where: how the table is written in the file; nothing for what stands above all tables.

    >>> checked("[cluster]", {"nodes": "3"}, {"nodes": int})
    Traceback (most recent call last):
    ...
    rheostat.errors.ConfigurationError: [cluster] nodes = "3": write a whole number, without quotes
    """
    if not isinstance(values, Mapping):
        raise ConfigurationError(f"{where}: write a table, a line {where} with lines name = value below it")
    known(where or "a scenario", values, set(kinds))
    for name in needed:
        if name not in values:
            raise ConfigurationError(f"{where or 'a scenario'} needs {name}")
    return {name: _fitted(f"{where} {name}".strip(), value, kinds[name]) for name, value in values.items()}


def made(kind: Any, where: str, values: Any) -> Any:
    """A dataclass from a table; errors say where in the file the wrong value is."""
    given = checked(where, values, kinds_of(kind))
    try:
        return kind(**given)
    except (ConfigurationError, TopologyError) as error:
        raise ConfigurationError(f"{where}: {error}") from error


def known(where: str, values: Mapping[str, Any], allowed: set[str]) -> None:
    """Refuse unknown names."""
    unknown = sorted(set(values) - allowed)
    if unknown:
        has = f"known are {', '.join(sorted(allowed))}" if allowed else "it has none"
        raise ConfigurationError(f"{where} has no {', '.join(unknown)}; {has}")


def _fitted(name: str, value: Any, kind: Any) -> Any:
    """The value as the kind has it: whole numbers may stand for numbers, lists become tuples."""
    found, wanted = _fit(value, kind)
    if found is None:
        raise ConfigurationError(f"{name} = {_shown(value)}: write {wanted}")
    return found


def _fit(value: Any, kind: Any) -> tuple[Any, str]:
    """The value, or None if it is of another kind; and what to write."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _fit(value, next(part for part in parts if part is not NoneType))
    if origin is Literal:
        return value if value in parts else None, f"one of {', '.join(map(_shown, parts))}"
    if origin is tuple:
        some = "texts" if parts[0] is str else "numbers"
        items = [_fit(item, parts[0])[0] for item in value] if isinstance(value, list) else [None]
        example = '["one", "other"]' if parts[0] is str else "[1.0, 2.0]"
        return None if None in items else tuple(items), f"a list of {some} in brackets, such as {example}"
    if origin is not None:
        items = [_fit(item, parts[1])[0] for item in value.values()] if isinstance(value, Mapping) else [None]
        found = None if None in items else dict(zip(value, items, strict=True))
        return found, "a number for each name, such as { one = 1.0, other = 2.0 }"
    types, wanted = _PLAIN[kind]
    fine = isinstance(value, types) and isinstance(value, bool) == (kind is bool)
    if isinstance(value, float) and math.isnan(value):
        fine = False
    return kind(value) if fine else None, wanted


def _shown(value: Any) -> str:
    """A value as it stands in a file, or its beginning."""
    text = json.dumps(value, default=str) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
