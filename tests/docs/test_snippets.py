"""Every Python block of the README and of the docs runs; every shell block uses commands that exist.

The blocks of a page share their names, as a reader would type them one after the other. They find the folder ``loans``
with the rows of ``tests/loans.py``, and whatever they write goes to a temporary folder. A block that cannot run here
has a comment before it that gives the reason: ``<!-- not run: it needs a broker -->``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.main import get_command

import rheostat as rh
from rheostat.cli.main import app
from tests.loans import write_loans

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCED = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n+)?```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: what stands after the fence.
        code: its text.
        line: line of the page on which the code begins.
        reason: why it cannot run here; empty if it can.
    """

    language: str
    code: str
    line: int
    reason: str


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in some languages."""
    text = page.read_text()
    found = [
        Block(m["language"], m["code"], text.count("\n", 0, m.start("code")) + 1, m["reason"] or "")
        for m in FENCED.finditer(text)
    ]
    return [block for block in found if block.language in languages]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_PYTHON = [page for page in PAGES if blocks(page, "python", "py")]
WITH_SHELL = [page for page in PAGES if blocks(page, "bash", "sh", "shell", "console")]


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with loans to read, in which relative paths end up, for Python as for Spark."""
    write_loans(tmp_path / "loans")
    monkeypatch.chdir(tmp_path)
    java: Any = spark._jvm
    files = java.org.apache.hadoop.fs.FileSystem.getLocal(spark.sparkContext._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(java.org.apache.hadoop.fs.Path(str(tmp_path)))
    yield tmp_path
    for query in spark.streams.active:
        query.stop()
    files.setWorkingDirectory(before)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_blocks_run(page: Path, spark: SparkSession, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "__page__", "spark": spark, "rh": rh}
    for block in blocks(page, "python", "py"):
        if block.reason:
            continue
        source = "\n" * (block.line - 1) + block.code  # so that a traceback has the page's own line
        exec(compile(source, name_of(page), "exec"), names)


@pytest.mark.parametrize("page", WITH_SHELL, ids=name_of)
def test_shell_blocks_use_commands_that_exist(page: Path) -> None:
    for block in blocks(page, "bash", "sh", "shell", "console"):
        for line in block.code.splitlines():
            check_command(line, f"{name_of(page)}, the block at line {block.line}: {line}")


def check_command(line: str, where: str) -> None:
    """Refuse a line whose command, target of make or file does not exist."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    while words and "=" in words[0]:  # a variable for the command
        words = words[1:]
    if not words:
        return
    command, *rest = words
    if command == "make":
        assert re.search(rf"^{rest[0]}:", (ROOT / "Makefile").read_text(), re.M), where
    elif Path(command).name == "rheostat":
        known = set(getattr(get_command(app), "commands", {}))
        assert rest[0] in known or rest[0].startswith("-"), where
    elif Path(command).name in ("python", "python3", "spark-submit"):
        files = [word for word in rest if word.endswith(".py")]
        assert files or rest[0] == "-m", where
        assert all((ROOT / file).exists() for file in files), where
    else:
        assert command in ("pip", "git", "cd", "uv", "apt-get", "sudo", "export"), where


def test_a_block_that_cannot_run_says_why(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n<!-- not run: it needs a broker -->\n```python\nx\n```\n\n```python\ny\n```\n")
    assert [(b.reason, b.code, b.line) for b in blocks(page, "python")] == [
        ("it needs a broker", "x\n", 5),
        ("", "y\n", 9),
    ]


@pytest.mark.parametrize("line", ["make nothing", "rheostat fly", "python examples/none.py", "rm -rf /"])
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    with pytest.raises(AssertionError):
        check_command(line, "")
