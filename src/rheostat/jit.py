"""Loops over single rows or shards, compiled to machine code by Numba, which comes with the extra ``policies``.

Without Numba, modules with compiled functions can be imported, and calling such a function says what to install.
Importing Numba takes half a second, so nothing that a query on Spark needs imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

from rheostat.extras import installed, missing

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function in machine code, compiled at its first call and kept on disk for later runs.

    Its arguments are numbers and NumPy arrays. It may call other compiled functions, and stays callable as it is
    written through ``function.py_func``.

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
    """The same for a function that is small and called often: it becomes a part of those that call it."""
    return _compiled(function, inline="always")


def _compiled(function: Function, **options: Any) -> Function:
    if not _has_numba():
        return _refused(function)
    import numba  # noqa: PLC0415 - comes with an extra

    # A function typed at a prompt or in a docstring has no file that a cache could be kept for.
    keep = not function.__code__.co_filename.startswith("<")
    return cast(Function, numba.njit(cache=keep, **options)(function))


@cache
def _has_numba() -> bool:
    return installed("numba")


def _refused(function: Function) -> Function:
    """A function that says what to install when it is called."""

    @wraps(function)
    def refuse(*_: Any, **__: Any) -> Any:
        raise missing("numba", function.__module__)

    refuse.__dict__["py_func"] = function  # as Numba's has it
    return cast(Function, refuse)
