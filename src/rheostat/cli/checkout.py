"""Commands whose code is not in the wheel: ``bench`` and ``reproduce`` run from a checkout of the project."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from rheostat.errors import SetupError

COMMANDS = {
    "bench": ("benchmarks.commands", "Rheostat beside Spark on the same work, measured in one run (in a checkout)."),
    "reproduce": ("papers.commands", "Run a paper's evaluation again: tables, figures, claims (in a checkout)."),
}
"""Name of the command, the module that has it as ``app``, and one line of help."""

PASSED_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of a command that passes all its arguments on."""


def command(module: str) -> Callable[[typer.Context], None]:
    """A command that hands its arguments to the ``app`` of a module, which is loaded when the command runs."""

    def run(context: typer.Context) -> None:
        load(module, context.command_path).app(context.args, prog_name=context.command_path)

    return run


def load(module: str, needed_by: str) -> Any:
    """A module of a checkout: the one this package is installed from, or else the one in the current folder."""
    file = Path(*module.split(".")).with_suffix(".py")
    for root in (Path(__file__).parents[3], Path.cwd()):
        # Any project may have a folder of that name; only ours has the package beside it.
        if (root / "src" / "rheostat" / "__init__.py").exists() and (root / file).exists():
            sys.path.insert(0, str(root))
            return importlib.import_module(module)
    raise SetupError(
        f"{needed_by!r} needs the folder {file.parts[0]}/ of the project, which is not installed with the package: "
        "clone the repository and run the command there"
    )
