"""A row's way on Spark goes one way: what a room may import says so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rheostat

SPARK = Path(rheostat.__file__).parent / "spark"
MAY_IMPORT = {
    "epoch": {"epoch", "executors", "input", "stage", "output"},
    "executors": {"executors"},
    "input": {"input"},
    "stage": {"stage", "tasks"},
    "tasks": {"tasks", "stage"},
    "output": {"output", "stage"},
}
"""For every room of ``rheostat.spark``, the rooms whose modules it imports."""

VALUES = {
    "stage.specs",
    "stage.spec_wire",
    "stage.task_reports",
    "stage.report_wire",
    "stage.apply_spec",
    "stage.apply_report",
}
"""What stages tell their tasks and hear from them: plain values, which tasks and outputs may know."""


def modules_imported(path: Path) -> set[str]:
    """The modules of ``rheostat.spark`` that a file imports, without the package's name."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and n.module]
    prefix = "rheostat.spark."
    return {str(n.module).removeprefix(prefix) for n in nodes if str(n.module).startswith(prefix)}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_no_step_goes_back(room: str) -> None:
    for path in (SPARK / room).glob("*.py"):
        inside = {m for m in modules_imported(path) if "." in m}
        assert {m.split(".")[0] for m in inside} <= MAY_IMPORT[room], path
        if room in ("tasks", "output"):
            assert {m for m in inside if m.startswith("stage.")} <= VALUES, path


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_every_file_is_listed_where_one_looks_first(room: str) -> None:
    """The docstring of a room lists its files."""
    folder = SPARK / room
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    missing = [p.stem for p in folder.glob("*.py") if p.stem != "__init__" and f"``{p.stem}``" not in text]
    assert not missing


@pytest.mark.parametrize("room", ["windows", "planning", "keyed", "state"])
def test_every_file_of_the_pure_rooms_is_listed(room: str) -> None:
    folder = SPARK.parent / room
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    missing = [p.stem for p in folder.glob("*.py") if p.stem != "__init__" and f"``{p.stem}``" not in text]
    assert not missing
