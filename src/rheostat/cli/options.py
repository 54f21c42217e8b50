"""Arguments that several commands share, and loading a topology from a user's file."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.errors import TopologyError

if TYPE_CHECKING:
    from rheostat import Topology

Json = Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object and nothing else.")]
File = Annotated[Path, typer.Argument(help="A Python file that defines topology(spark).", exists=True, dir_okay=False)]


def parse_slots(text: str | None, option: str = "--slots") -> int | tuple[int, int] | None:
    """Return the number or the range that an option gives.

    Args:
        text: what the user wrote; None if nothing.
        option: name of the option, for the error.

    >>> parse_slots("4"), parse_slots("1-16"), parse_slots(None)
    (4, (1, 16), None)
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if match is None:
        raise typer.BadParameter(f"{text!r}: pass a number such as 4, or a range such as 1-16", param_hint=option)
    return int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))


def load_topology(file: Path, spark: Any) -> Topology:
    """Run a user's file and return what its function ``topology(spark)`` returns."""
    from rheostat import Topology  # noqa: PLC0415 - PySpark takes long to load

    # The file is run, not imported: workers cannot import it, and functions of a file that was run are sent by value.
    make_topology = runpy.run_path(str(file)).get("topology")
    if not callable(make_topology):
        raise TopologyError(
            f"{file} defines no function topology(spark): add one that builds and returns a rheostat.Topology"
        )
    topology = make_topology(spark)
    if not isinstance(topology, Topology):
        raise TopologyError(
            f"topology(spark) in {file} returned {type(topology).__name__}: return the rheostat.Topology"
        )
    return topology
