"""The tree is a table of contents: tests mirror it, a name means one thing, and everything in the package is in use."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("src/rheostat", "papers", "benchmarks")

NO_PACKAGE = {"tests/docs", "tests/examples"}
"""Test folders for what is no package: pages and scripts."""

SEVERAL = {"__init__", "__main__", "commands", "evaluation"}
"""Modules that may occur in several rooms: papers/ and benchmarks/ have a command each, every paper an evaluation."""

NOUNS = {
    "lending",
    "planning",
    "queueing",
    "recording",
    "routing",
    "splitting",
    "hashing",
    "keyed",
    "joint_scaling",
    "smoothing",
    "ranking",
    "figure_05_provisioning",
}
"""Modules that end like a participle and name a thing."""


@cache
def files(room: str) -> tuple[Path, ...]:
    return tuple(sorted((ROOT / room).rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def module_of(path: Path) -> str:
    """The dotted name of a file."""
    below = path.relative_to(ROOT / "src" if path.is_relative_to(ROOT / "src") else ROOT)
    return ".".join(below.with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for room in ROOMS for path in files(room)}


def imports_of(module: str) -> Iterator[str]:
    """What a module imports, inside functions and for type checkers too; names may be modules or what is in them."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def reached_from(roots: set[str]) -> set[str]:
    """Every module that these import, at any distance, with the packages around them."""
    seen: set[str] = set()
    todo = list(roots)
    while todo:
        module = todo.pop()
        if module in seen or module not in MODULES:
            continue
        seen.add(module)
        todo += [module.rpartition(".")[0], *imports_of(module)]
    return seen


def twice(names: Iterator[tuple[str, str]]) -> list[str]:
    """Names that occur more than once, and where."""
    places = defaultdict(list)
    for name, place in names:
        places[name].append(place)
    return [f"{name}: {', '.join(found)}" for name, found in sorted(places.items()) if len(found) > 1]


def test_every_test_folder_has_a_package() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in files("tests")} - {"tests"} - NO_PACKAGE
    packages = {p.parent.relative_to(ROOT).as_posix() for room in ROOMS for p in files(room)}
    lost = sorted(f for f in folders if not {f.replace("tests/", r, 1) for r in ("src/rheostat/", "")} & packages)
    assert not lost, "test folders without a package of that name:\n" + "\n".join(lost)


@pytest.mark.parametrize("rooms", [("src/rheostat",), ROOMS], ids=["the package", "with papers and benchmarks"])
def test_a_class_name_means_one_thing(rooms: tuple[str, ...]) -> None:
    found = twice(
        (node.name, path.relative_to(ROOT).as_posix())
        for room in rooms
        for path in files(room)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    )
    assert not found, f"{len(found)} class names occur more than once:\n" + "\n".join(found)


@pytest.mark.parametrize("rooms", [("src/rheostat",), ROOMS], ids=["the package", "with papers and benchmarks"])
def test_a_module_name_means_one_thing(rooms: tuple[str, ...]) -> None:
    found = twice(
        (path.stem, path.relative_to(ROOT).as_posix())
        for room in rooms
        for path in files(room)
        if path.stem not in SEVERAL
    )
    assert not found, f"{len(found)} module names occur more than once:\n" + "\n".join(found)


def test_modules_are_named_after_things() -> None:
    paths = [path for room in ROOMS for path in files(room) if path.stem.endswith(("ing", "ed"))]
    found = sorted(path.relative_to(ROOT).as_posix() for path in paths if path.stem not in NOUNS)
    assert not found, "modules named by a participle; name the thing they hold or decide:\n" + "\n".join(found)


def test_everything_in_the_package_is_in_use() -> None:
    package = {m for m in MODULES if m.partition(".")[0] == "rheostat"}
    roots = {m for m in package if m == "rheostat" or m.startswith("rheostat.cli") or m.endswith(".__main__")}
    lost = sorted(package - reached_from(roots))
    assert not lost, (
        f"{len(lost)} modules that neither public names nor the command line reach; connect, move or remove:\n"
        + "\n".join(lost)
    )


def test_the_package_imports_neither_papers_nor_benchmarks() -> None:
    found = sorted(
        f"{module} imports {name}"
        for module in MODULES
        if module.partition(".")[0] == "rheostat"
        for name in imports_of(module)
        if name.partition(".")[0] in ("papers", "benchmarks", "tests", "examples")
    )
    assert not found, "\n".join(found)
