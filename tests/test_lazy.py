"""Packages whose names are loaded at first use: each name is where the type checker thinks it is."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import rheostat as rh
from rheostat.elastic import elysium, policies, posg
from rheostat.planning import enorm

PACKAGES: list[Any] = [rh, policies, elysium, posg, enorm]
FOR_ANNOTATIONS = {"rheostat.elastic.policies": {"Elastic", "Latency", "Policy"}}
"""By module, what it imports for annotations alone."""


def declared(package: ModuleType) -> dict[str, tuple[str, str]]:
    """Public name to module and attribute, as the imports for type checkers have it."""
    (block,) = (n for n in ast.parse(inspect.getsource(package)).body if isinstance(n, ast.If))
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name not in FOR_ANNOTATIONS.get(package.__name__, ())
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_every_name_is_listed_once_and_the_same_everywhere(package: Any) -> None:
    names = declared(package)
    assert set(names) <= set(package.__all__) <= set(dir(package))
    assert package.__all__ == sorted(package.__all__, key=lambda name: (not name.isupper(), name))
    lazy = {name for listed in package._HOMES.values() for name in listed.split()}
    assert lazy | set(getattr(package, "_MODULES", ())) == set(names)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_a_name_is_what_type_checkers_think_it_is(package: Any) -> None:
    for name, (home, attribute) in declared(package).items():
        module = import_module(home)
        known = getattr(module, attribute, None) or import_module(f"{home}.{attribute}")
        assert getattr(package, name) is known, name


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_an_unknown_name_is_an_attribute_error(package: Any) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018
