"""Random values of any type that can be recorded, drawn by the types of their fields."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rheostat.elastic.record.value_codec import recorded_fields

PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    float: st.floats(),
    int: st.integers(-(2**62), 2**62),
    bool: st.booleans(),
    str: st.text(max_size=8),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911
    """Any value of a type: not one that makes sense, but one with every field."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin in (Union, types.UnionType):
        return st.one_of(*(st.none() if p is type(None) else values_of(p) for p in parts))
    if origin is np.ndarray:
        (dtype,) = get_args(parts[1])
        return npst.arrays(dtype, st.integers(0, 40))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if is_dataclass(kind):
        made: Any = kind
        return st.builds(made, **{f.name: values_of(hint) for f, hint in recorded_fields(made)})
    if origin is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        return st.lists(values_of(parts[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, parts))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(values_of(parts[0]), values_of(parts[1]), max_size=2)
    raise TypeError(f"no values of {kind}")
