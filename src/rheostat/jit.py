"""Loops over single tuples, compiled to machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

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
    # A function typed at a prompt or in a docstring has no file that a cache could be kept for.
    keep = not function.__code__.co_filename.startswith("<")
    return cast(Function, numba.njit(cache=keep)(function))


def inlined(function: Function) -> Function:
    """The same for a function that is small and called often: it becomes a part of those that call it."""
    keep = not function.__code__.co_filename.startswith("<")
    return cast(Function, numba.njit(cache=keep, inline="always")(function))
