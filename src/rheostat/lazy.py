"""Load the public names of a package when they are first used, so that importing the package is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        package: name of the package.
        homes: maps the name of a module to the public names that it defines, separated by spaces.
        modules: maps each public name that is itself a module to the full name of that module.

    >>> load, names = lazy_names("rheostat", {"rheostat.durations": "micros label"})
    >>> load("micros")("2 seconds")
    2000000
    >>> load("nothing")
    Traceback (most recent call last):
    ...
    AttributeError: module 'rheostat' has no attribute 'nothing'
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    module_names = dict(modules or {})

    def load(name: str) -> Any:
        if name in module_names:
            value: Any = import_module(module_names[name])
        elif name in home_of:
            value = getattr(import_module(home_of[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        vars(sys.modules[package])[name] = value  # so that Python finds it without calling this function again
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *module_names})

    return load, names
