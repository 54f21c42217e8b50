"""Arguments that several commands share, and the topology in a user's file."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.errors import TopologyError

if TYPE_CHECKING:
    from rheostat import Topology

Json = Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object and nothing else.")]
File = Annotated[Path, typer.Argument(help="A Python file with topology(spark).", exists=True, dir_okay=False)]


def load_topology(file: Path, spark: Any) -> Topology:
    """The topology that a file's ``topology(spark)`` returns."""
    from rheostat import Topology  # noqa: PLC0415 - PySpark takes long to load

    make = runpy.run_path(str(file)).get("topology")  # not imported, so its functions travel to workers by value
    if not callable(make):
        raise TopologyError(f"{file} defines no function topology(spark) that returns a rheostat.Topology")
    made = make(spark)
    if not isinstance(made, Topology):
        raise TopologyError(f"topology(spark) in {file} returned {type(made).__name__}, not a rheostat.Topology")
    return made
