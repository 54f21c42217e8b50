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
"""Package as it is imported, and the extra that brings it."""


def load(package: str, needed_by: str) -> Any:
    """A package of an extra, or an error that says which extra to install.

    Args:
        package: as it is imported.
        needed_by: what does not work without it, in words.

    >>> load("json", "a test").dumps([1])
    '[1]'
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        raise missing(package, needed_by) from None


def installed(package: str) -> bool:
    """True if the package can be imported."""
    return find_spec(package) is not None


def missing(package: str, needed_by: str) -> SetupError:
    """The error for a package that is not there.

    >>> print(missing("numba", "the policy 'streamswitch'"))
    the policy 'streamswitch' needs the package numba: install it with pip install "rheostat[policies]"
    """
    name = package.partition(".")[0]
    return SetupError(f'{needed_by} needs the package {name}: install it with pip install "rheostat[{EXTRAS[name]}]"')
