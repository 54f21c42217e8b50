"""``rheostat reproduce``: run a paper's evaluation again and print its claims beside what we measured."""

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

from papers.claims import Claim, of_ours, of_paper, tally, tally_ours
from papers.pages import beside, reason_and_note, tables, write_pages

if TYPE_CHECKING:
    from papers.paper_run import Paper

app = typer.Typer(add_completion=False)

PAPERS = ("elasticutor", "streamswitch", "elysium", "posg", "enorm")


class Bar:
    """Shows a progress bar for each part of a run."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._part: TaskID | None = None

    def begin(self, title: str, steps: int) -> None:
        """A part of the run begins."""
        self._part = self._progress.add_task(title, total=steps)

    def advance(self) -> None:
        """One step of the current part is done."""
        assert self._part is not None
        self._progress.advance(self._part)


@app.command(epilog="Example: rheostat reproduce posg --quick --json")
def reproduce(
    paper: Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)}, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller runs: under a minute per paper.")] = False,
    reports: Annotated[Path, typer.Option(help="Folder for figures and tables.")] = Path("reports"),
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the claims as one JSON list and nothing else.")
    ] = False,
) -> None:
    """Run a paper's evaluation again: draw its figures and tables, and say which of its claims hold."""
    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"unknown paper {paper!r}: choose {', '.join(PAPERS)} or all", param_hint="PAPER")
    from papers.paper_run import Run  # noqa: PLC0415 - Matplotlib takes long to load

    console = Console(stderr=as_json)
    claims: dict[str, list[Claim]] = {}
    papers = PAPERS if paper == "all" else (paper,)
    _make_folders(reports, papers)
    for name in papers:
        module = _paper(name)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=as_json) as progress:
            claims[name] = module.reproduce(Run(reports / name, quick, seed, Bar(progress)))
        (reports / name / "claims.md").write_text(f"# {module.TITLE}\n\n{tables(claims[name])}\n")
        if not as_json:
            show(module.TITLE, claims[name], console)
    if paper == "all" and Path("docs").is_dir() and not quick:
        write_pages(claims, {name: _paper(name) for name in papers}, Path("docs"))
    if as_json:
        print(json.dumps([c.to_json() for each in claims.values() for c in each]))
    else:
        console.print(f"Figures and tables are in {escape(str(reports))}/", highlight=False, soft_wrap=True)


def _make_folders(reports: Path, papers: Sequence[str]) -> None:
    """Make a folder for each paper, so that a wrong path is found before runs that take minutes."""
    try:
        for name in papers:
            (reports / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"cannot make or write to {reports} ({error.strerror}): name another folder"
        raise typer.BadParameter(why, param_hint="--reports") from error


def _paper(name: str) -> Paper:
    return cast("Paper", importlib.import_module(f"papers.{name}.{name}_evaluation"))


def show(title: str, claims: Sequence[Claim], console: Console) -> None:
    """Print two tables on the terminal: the paper's claims, then our own statements."""
    columns = ("paper", "as published", "our version")
    console.print(_terminal_table(f"{title}: {tally(claims)}", of_paper(claims), columns))
    if of_ours(claims):
        console.print(_terminal_table(f"What we add: {tally_ours(claims)}", of_ours(claims), ("here",)))


def _terminal_table(title: str, claims: Sequence[Claim], columns: Sequence[str]) -> Table:
    table = Table(title=title, show_lines=True)
    for column in ("claim", *columns, "chosen by us", "holds"):
        table.add_column(column)
    colours = {"yes": "green", "no": "red", "not decided here": "yellow"}
    for claim in claims:
        note = reason_and_note(claim)
        words = escape(claim.claim) + (f"\n[dim]{escape(note)}[/dim]" if note else "")
        figures = (claim.paper, claim.judged, beside(claim))
        cells = figures if claim.origin == "paper" else (claim.ours,)
        holds = f"[{colours[claim.verdict]}]{claim.verdict}[/]"
        table.add_row(words, *map(escape, cells), escape(claim.chosen), holds)
    return table
