"""The commands ``bench`` and ``reproduce``, whose code is not in the wheel: they need a checkout of the repository."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from rheostat.errors import SetupError

COMMANDS = {
    "bench": ("benchmarks.commands", "Compare Rheostat with Spark on the same work, in one run (needs a checkout)."),
    "reproduce": ("papers.commands", "Repeat a paper's evaluation: tables, figures, claims (needs a checkout)."),
}
"""Maps the name of a command to the module that defines it as ``app``, and to its line of help."""

PASSED_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Typer settings of a command that passes all its arguments on."""


def command(module: str) -> Callable[[typer.Context], None]:
    """Return a command that loads a module when it runs, and passes its arguments to the ``app`` of that module."""

    def run(context: typer.Context) -> None:
        load(module, context.command_path).app(context.args, prog_name=context.command_path)

    return run


def load(module: str, needed_by: str) -> Any:
    """Import a module from a checkout: the one that this package is installed from, or the current folder.

    Args:
        module: full name of the module, such as ``benchmarks.commands``.
        needed_by: the command that needs it, for the error if there is no checkout.
    """
    file = Path(*module.split(".")).with_suffix(".py")
    for root in (Path(__file__).parents[3], Path.cwd()):
        # Other projects may have a folder of that name too; only a checkout of Rheostat has src/rheostat beside it.
        if (root / "src" / "rheostat" / "__init__.py").exists() and (root / file).exists():
            sys.path.insert(0, str(root))
            return importlib.import_module(module)
    raise SetupError(
        f"{needed_by!r} needs the folder {file.parts[0]}/ of the repository, which is not in the package: "
        "clone the repository and run the command there"
    )
