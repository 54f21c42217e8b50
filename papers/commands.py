"""``rheostat reproduce``: a paper's evaluation run again, its claims beside what we saw."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from papers.claims import Claim, to_markdown

if TYPE_CHECKING:
    from papers.run import Paper

app = typer.Typer(add_completion=False)

PAPERS = ("elasticutor", "streamswitch", "elysium", "posg", "enorm")


class Bar:
    """A progress bar for each part of a run."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._part: TaskID | None = None

    def begin(self, title: str, steps: int) -> None:
        """A part of the run begins."""
        self._part = self._progress.add_task(title, total=steps)

    def advance(self) -> None:
        """One of its steps is done."""
        assert self._part is not None
        self._progress.advance(self._part)


@app.command(epilog="Example: rheostat reproduce posg --quick --json")
def reproduce(
    paper: Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)}, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller runs: under a minute per paper.")] = False,
    reports: Annotated[Path, typer.Option(help="Folder for figures and tables.")] = Path("reports"),
    seed: Annotated[int, typer.Option(help="Everything random follows from it.", min=0)] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the claims as one JSON list and nothing else.")
    ] = False,
) -> None:
    """Run a paper's evaluation again: every table and figure, and which of its claims hold here."""
    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"choose one of {', '.join(PAPERS)} or all", param_hint="PAPER")
    from papers.run import Run  # noqa: PLC0415 - figures take long to load

    console = Console(stderr=as_json)
    found: dict[str, list[Claim]] = {}
    papers = PAPERS if paper == "all" else (paper,)
    _make_folders(reports, papers)
    for name in papers:
        module = cast("Paper", importlib.import_module(f"papers.{name}.evaluation"))
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=as_json) as progress:
            found[name] = module.reproduce(Run(reports / name, quick, seed, Bar(progress)))
        (reports / name / "claims.md").write_text(f"# {module.TITLE}\n\n{to_markdown(found[name])}\n")
        if not as_json:
            show(module.TITLE, found[name], console)
    if paper == "all" and Path("docs").is_dir() and not quick:
        write_page(found, Path("docs/reproduction.md"))
    if as_json:
        print(json.dumps([c.to_json() for claims in found.values() for c in claims]))
    else:
        console.print(f"figures and tables are in {escape(str(reports))}/", highlight=False, soft_wrap=True)


def _make_folders(reports: Path, papers: Sequence[str]) -> None:
    """A folder for each paper, before anything takes minutes."""
    try:
        for name in papers:
            (reports / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{reports} cannot be made or written to ({error.strerror}); name another folder"
        raise typer.BadParameter(why, param_hint="--reports") from error


def show(title: str, claims: list[Claim], console: Console) -> None:
    """The claims as a table on the terminal."""
    table = Table(title=title, show_lines=True)
    for column in ("claim", "paper", "ours", "holds"):
        table.add_column(column)
    for claim in claims:
        holds = "[green]yes[/green]" if claim.holds else "[red]no[/red]"
        note = f"\n[dim]{escape(claim.note)}[/dim]" if claim.note else ""
        table.add_row(escape(claim.claim) + note, escape(claim.paper), escape(claim.ours), holds)
    console.print(table)


def write_page(found: dict[str, list[Claim]], path: Path) -> None:
    """The documentation's page: every paper's claims beside ours."""
    parts = [
        "# Reproduction",
        "What the five papers measured, and what the same algorithms do here. Written by `rheostat reproduce all`.",
    ]
    for name, claims in found.items():
        module = cast("Paper", importlib.import_module(f"papers.{name}.evaluation"))
        held = sum(c.holds for c in claims)
        parts += [f"## {module.TITLE}", f"{held} of {len(claims)} claims hold.", to_markdown(claims)]
    path.write_text("\n\n".join(parts) + "\n")
