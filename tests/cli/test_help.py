"""Help: there for every command, with an example that the command takes, and without loading what is slow to load."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.commands import app as bench
from papers.commands import app as reproduce
from rheostat.cli.main import app

ROOT = Path(__file__).parents[2]
HEAVY = ("pyspark", "polars", "pyarrow", "numpy", "pandas", "numba", "sklearn", "scipy", "matplotlib", "datasketches")


def commands() -> dict[str, Any]:
    """Every command by what one types after ``rheostat``."""
    own: Any = typer.main.get_command(app)
    benches: Any = typer.main.get_command(bench)
    found = {name: command for name, command in own.commands.items() if name not in ("bench", "cluster", "reproduce")}
    for group in ("demo", "cluster"):
        found |= {f"{group} {name}": command for name, command in own.commands[group].commands.items()}
    found |= {f"bench {name}": command for name, command in benches.commands.items()}
    return found | {"reproduce": typer.main.get_command(reproduce)}


@pytest.mark.parametrize("name", commands())
def test_every_command_shows_an_example_that_it_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = commands()[name]
    assert command.epilog
    monkeypatch.chdir(ROOT)  # examples name files of the project
    program, *words = shlex.split(command.epilog.removeprefix("Example: "))
    assert program == "rheostat"
    assert words[: len(name.split())] == name.split()
    command.make_context(name, words[len(name.split()) :])  # fails on an unknown option or a file that is not there


@pytest.mark.parametrize("name", commands())
def test_every_command_and_option_is_described(name: str) -> None:
    command = commands()[name]
    assert command.help
    bare = [p.name for p in command.params if p.param_type_name == "option" and not p.help]
    assert not bare


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["bench", "--help"], ["reproduce", "--help"]])
def test_help_loads_nothing_slow(arguments: list[str]) -> None:
    code = f"""
import sys
from rheostat.cli.main import app
try:
    app({arguments!r})
except SystemExit as end:
    print(end.code, [m for m in {HEAVY!r} if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
