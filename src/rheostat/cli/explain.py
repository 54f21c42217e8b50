"""``rheostat explain``: show how a topology would run."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli.options import File, load_topology


def explain(
    file: File,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead of text.")] = False,
) -> None:
    """Show how a topology would run: its components and shuffles, and how each window is computed."""
    from rheostat.spark.session import session  # noqa: PLC0415 - PySpark takes long to load

    spark = session("rheostat-explain")
    print(load_topology(file, spark).explain("mermaid" if mermaid else "text"))
    spark.stop()
