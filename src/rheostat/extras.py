"""Optional packages: each is installed by an extra, which is named after what needs the package."""

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
    "vaderSentiment": "sentiment",
}
"""Import name of each optional package, with the smallest extra that installs it."""


def load(package: str, needed_by: str, extra: str | None = None) -> Any:
    """Import an optional package; raise an error that names the extra if it is not installed.

    Args:
        package: import name of a package, or of a module inside one.
        needed_by: what needs the package; the error starts with it.
        extra: the extra to name in the error; by default the smallest one that installs the package.

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
    """Return the error for a package that is not installed.

    Args:
        package: import name of a package, or of a module inside one.
        needed_by: what needs the package; the error starts with it.
        extra: the extra to name in the error; by default the smallest one that installs the package.

    >>> print(missing("numba", "the policy 'streamswitch'"))
    the policy 'streamswitch' needs the package numba: install it with pip install "rheostat[policies]"
    """
    name = package.partition(".")[0]
    extra = extra or EXTRAS[name]
    return SetupError(f'{needed_by} needs the package {name}: install it with pip install "rheostat[{extra}]"')
