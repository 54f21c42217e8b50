"""``rheostat explain``: how a topology would run."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli.options import File, load_topology


def explain(
    file: File,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid flowchart.")] = False,
) -> None:
    """Show how a topology would run: components, shuffles, how each window is derived."""
    from rheostat.spark.session import session  # noqa: PLC0415 - PySpark takes long to load

    spark = session("rheostat-explain")
    print(load_topology(file, spark).explain("mermaid" if mermaid else "text"))
    spark.stop()
