"""Enorm's public names: each where the type checker thinks it is, documented, and not loaded before it is used."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import rheostat as rh


def declared() -> dict[str, str]:
    """Public name to module, as the imports for type checkers have it."""
    assert rh.enorm.__file__
    block = next(n for n in ast.parse(Path(rh.enorm.__file__).read_text()).body if isinstance(n, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def test_every_name_is_listed_once_and_the_same_everywhere() -> None:
    assert sorted(rh.enorm.__all__) == sorted(declared()) == sorted(rh.enorm._HOME_OF)
    assert set(rh.enorm.__all__) <= set(dir(rh.enorm))


@pytest.mark.parametrize("name", rh.enorm.__all__)
def test_a_name_is_what_type_checkers_think_it_is_and_says_what_it_is(name: str) -> None:
    assert getattr(rh.enorm, name) is getattr(importlib.import_module(declared()[name]), name)
    assert inspect.getdoc(getattr(rh.enorm, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rh.enorm.nothing  # noqa: B018


def test_planning_a_query_loads_fusion_alone() -> None:
    code = "import rheostat.planning.enorm.fusion, sys; print([m for m in sys.modules if 'planning.enorm.' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert sorted(ast.literal_eval(done.stdout)) == [
        "rheostat.planning.enorm.attributes",
        "rheostat.planning.enorm.fusion",
    ]
