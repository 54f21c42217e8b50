"""The package's public names: quick to import, each documented with an example."""

from __future__ import annotations

import inspect
import subprocess
import sys
from doctest import DocTestFinder
from functools import cache
from importlib import import_module
from types import ModuleType

import pytest

import rheostat as rh
from rheostat.topology import aside_stream, stream


def has_example(thing: object) -> bool:
    return ">>> " in (inspect.getdoc(thing) or "")


@cache
def examples_of(module: str) -> frozenset[str]:
    """Full names of what has an example in a module, found as pytest finds the examples that it runs."""
    return frozenset(found.name for found in DocTestFinder().find(import_module(module)) if found.examples)


def without_example(namespace: ModuleType) -> list[str]:
    """Public classes and functions of a namespace that have no example.

    Protocols are classes and need one. Constants and type aliases have no docstring of their own, and modules need none
    here: each is a namespace itself.
    """
    public = {name: getattr(namespace, name) for name in namespace.__all__}
    documented = {name: thing for name, thing in public.items() if inspect.isclass(thing) or inspect.isroutine(thing)}
    return [n for n, t in documented.items() if f"{t.__module__}.{t.__qualname__}" not in examples_of(t.__module__)]


MODULES = [n for n in rh.__all__ if inspect.ismodule(getattr(rh, n))]
NAMESPACES = [rh, *(getattr(rh, name) for name in MODULES)]
CLASSES = [
    rh.Context,
    rh.KeyProcessor,
    rh.Progress,
    rh.Query,
    rh.Stream,
    rh.Topology,
    rh.Window,
    rh.sinks.MemorySink,
    aside_stream.AsideStream,
    stream.Computed,
]
INTERNAL = {
    "Topology.add",
    "Topology.clock_of",
    "Topology.consolidates_of",
    "Topology.level_of",
    "Topology.origin_of",
    "Topology.path_to",
    "Topology.validate",
    "Window.latest_start",
    "Window.earliest_start",
    "Window.containing",
    "MemorySink.put",
}
"""Methods for the library itself; an example of their class shows some."""


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_holds(name: str) -> None:
    assert inspect.getdoc(getattr(rh, name))


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda m: m.__name__)
def test_every_name_has_an_example(namespace: ModuleType) -> None:
    assert without_example(namespace) == []


def test_a_name_without_an_example_is_found() -> None:
    namespace = ModuleType("namespace")
    names = {"LIMIT": 3, "Sink": rh.sinks.Sink, "Stream": rh.Stream, "has_example": has_example}
    namespace.__dict__.update(names, __all__=list(names))
    assert without_example(namespace) == ["has_example"]


@pytest.mark.parametrize("of", CLASSES, ids=lambda c: c.__name__)
def test_every_method_has_an_example(of: type) -> None:
    methods = {
        f"{of.__name__}.{name}": value
        for base in of.__mro__[:-1]
        for name, value in vars(base).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    }
    assert [n for n, m in methods.items() if n not in INTERNAL and not has_example(m)] == []


def test_importing_the_package_loads_neither_spark_nor_polars() -> None:
    code = "import rheostat, sys; print([m for m in ('pyspark', 'polars', 'pyarrow', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
