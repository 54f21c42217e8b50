"""Decorators that compile loops over rows or shards to machine code with Numba, which the extra ``policies`` installs.

Without Numba, modules with compiled functions can still be imported; calling such a function raises an error that says
what to install. Importing Numba takes half a second, so no module that a query on Spark needs imports this one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

from rheostat.extras import installed, missing

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function to machine code at its first call, and cache the code on disk for later runs.

    The arguments must be numbers and NumPy arrays. The function may call other compiled functions. The original
    Python function is available as ``function.py_func``.

    >>> @compiled
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> import numpy as np
    >>> total(np.array([1.0, 2.0]))
    3.0
    """
    return _compiled(function)


def inlined(function: Function) -> Function:
    """Compile a small function that is called often: its code is copied into every compiled function that calls it."""
    return _compiled(function, inline="always")


def _compiled(function: Function, **options: Any) -> Function:
    if not _has_numba():
        return _without_numba(function)
    import numba  # noqa: PLC0415 - comes with an extra

    # Numba can cache only functions that are defined in a file, not at a prompt or in a docstring.
    in_file = not function.__code__.co_filename.startswith("<")
    return cast(Function, numba.njit(cache=in_file, **options)(function))


@cache
def _has_numba() -> bool:
    return installed("numba")


def _without_numba(function: Function) -> Function:
    """Return a function that raises ``SetupError`` when it is called."""

    @wraps(function)
    def fail(*_: Any, **__: Any) -> Any:
        raise missing("numba", function.__module__)

    fail.__dict__["py_func"] = function  # the same attribute as on a compiled function
    return cast(Function, fail)
