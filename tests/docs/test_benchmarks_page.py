"""The benchmarks' page explains every key that ``rheostat bench --json`` prints, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPORTS = {
    "windows": "_report",
    "state": "run",
    "rescale": "run",
    "skew": "run",
    "shuffle": "report",
    "slo": "run",
    "law": "run",
    "autoscale": "run",
    "growth": "run",
    "against": "run",
    "floor": "run",
    "observations": "run",
    "nexmark": "run",
    "layouts": "run",
    "fusion": "run",
    "migration": "run",
    "homes": "run",
}
"""A benchmark, and the function in its file that returns what is printed."""


def printed(name: str) -> set[str]:
    tree = ast.parse((ROOT / "benchmarks" / f"bench_{name}.py").read_text())
    function = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == REPORTS[name])
    found = next(n.value for n in ast.walk(function) if isinstance(n, ast.Return) and isinstance(n.value, ast.Dict))
    return {key.value for key in found.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def explained(name: str) -> set[str]:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    section = next(s for s in page.split("\n## ")[1:] if name in s.partition("\n")[0].split(", "))
    first_cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", " ".join(first_cells)))


@pytest.mark.parametrize("name", REPORTS)
def test_every_key_is_explained(name: str) -> None:
    assert explained(name) == printed(name)


def test_every_benchmark_is_on_the_page() -> None:
    files = {p.stem.removeprefix("bench_") for p in (ROOT / "benchmarks").glob("bench_*.py")}
    assert files == set(REPORTS)
