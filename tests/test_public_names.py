"""The package's public names: quick to import, each documented with an example."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import rheostat as rh
from rheostat.topology import stream


def has_example(thing: object) -> bool:
    return ">>> " in (inspect.getdoc(thing) or "")


MODULES = [n for n in rh.__all__ if inspect.ismodule(getattr(rh, n))]
EXPORTED = [n for n in rh.__all__ if n not in MODULES and n != "AVAILABLE_NOW"]
CLASSES = [
    rh.Context,
    rh.KeyProcessor,
    rh.Progress,
    rh.Query,
    rh.Stream,
    rh.Topology,
    rh.Window,
    rh.sinks.MemorySink,
    stream.AsideStream,
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


@pytest.mark.parametrize("name", EXPORTED)
def test_every_name_has_an_example(name: str) -> None:
    assert has_example(getattr(rh, name))


@pytest.mark.parametrize("name", ["console", "foreach", "format", "memory", "parquet"])
def test_every_sink_has_an_example(name: str) -> None:
    assert has_example(getattr(rh.sinks, name))


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
