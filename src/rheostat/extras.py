"""Packages that are not in the core install: each belongs to an extra that is named after what it serves."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rheostat.errors import SetupError

EXTRAS = {
    "datasketches": "sketches",
    "sortedcontainers": "maps",
    "numba": "policies",
    "sklearn": "elysium",
    "scipy": "elysium",
    "threadpoolctl": "elysium",
    "matplotlib": "plots",
}
"""Package as it is imported, and the smallest extra that brings it."""


def load(package: str, needed_by: str, extra: str | None = None) -> Any:
    """A package of an extra, or an error that says which extra to install.

    Args:
        package: as it is imported; a module inside a package is fine.
        needed_by: what does not work without it, in words.
        extra: the extra to name in the error; the smallest one that brings the package by default.

    >>> load("json", "a test").dumps([1])
    '[1]'
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        raise missing(package, needed_by, extra) from None


def installed(package: str) -> bool:
    """True if the package can be imported."""
    return find_spec(package) is not None


def missing(package: str, needed_by: str, extra: str | None = None) -> SetupError:
    """The error for a package that is not installed.

    >>> print(missing("numba", "the policy 'streamswitch'"))
    the policy 'streamswitch' needs the package numba: install it with pip install "rheostat[policies]"
    """
    name = package.partition(".")[0]
    brought_by = extra or EXTRAS[name]
    return SetupError(f'{needed_by} needs the package {name}: install it with pip install "rheostat[{brought_by}]"')
