"""Public names of a package that are loaded when they are first used, so that importing the package is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        package: its name.
        homes: the public names that a module defines, separated by spaces, by the module's name.
        modules: public names that are modules, with the name of each module.

    >>> load, names = lazy_names("rheostat", {"rheostat.durations": "micros label"})
    >>> load("micros")("2 seconds")
    2000000
    >>> load("nothing")
    Traceback (most recent call last):
    ...
    AttributeError: module 'rheostat' has no attribute 'nothing'
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    whole = dict(modules or {})

    def load(name: str) -> Any:
        if name in whole:
            found: Any = import_module(whole[name])
        elif name in home_of:
            found = getattr(import_module(home_of[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        vars(sys.modules[package])[name] = found
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *whole})

    return load, names
