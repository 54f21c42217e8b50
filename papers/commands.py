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

from papers.claims import Claim, of_ours, of_paper, tally, tally_ours
from papers.pages import beside, tables, write_pages

if TYPE_CHECKING:
    from papers.paper_run import Paper

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
    from papers.paper_run import Run  # noqa: PLC0415 - figures take long to load

    console = Console(stderr=as_json)
    found: dict[str, list[Claim]] = {}
    papers = PAPERS if paper == "all" else (paper,)
    _make_folders(reports, papers)
    for name in papers:
        module = _paper(name)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=as_json) as progress:
            found[name] = module.reproduce(Run(reports / name, quick, seed, Bar(progress)))
        (reports / name / "claims.md").write_text(f"# {module.TITLE}\n\n{tables(found[name])}\n")
        if not as_json:
            show(module.TITLE, found[name], console)
    if paper == "all" and Path("docs").is_dir() and not quick:
        write_pages(found, {name: _paper(name) for name in papers}, Path("docs"))
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


def _paper(name: str) -> Paper:
    return cast("Paper", importlib.import_module(f"papers.{name}.{name}_evaluation"))


def show(title: str, claims: Sequence[Claim], console: Console) -> None:
    """The claims as tables on the terminal: the paper's, then ours."""
    console.print(_shown(f"{title}: {tally(claims)}", of_paper(claims), ("paper", "as published", "our version")))
    if of_ours(claims):
        console.print(_shown(f"What we add: {tally_ours(claims)}", of_ours(claims), ("here",)))


def _shown(title: str, claims: Sequence[Claim], columns: Sequence[str]) -> Table:
    table = Table(title=title, show_lines=True)
    for column in ("claim", *columns, "chosen by us", "holds"):
        table.add_column(column)
    colours = {"yes": "green", "no": "red", "not decided here": "yellow"}
    for claim in claims:
        limit = f"Not decided: {claim.limit}." if claim.verdict == "not decided here" else ""
        notes = " ".join(text for text in (limit, claim.note) if text)
        words = escape(claim.claim) + (f"\n[dim]{escape(notes)}[/dim]" if notes else "")
        figures = (claim.paper, claim.judged, beside(claim))
        cells = figures if claim.origin == "paper" else (claim.ours,)
        holds = f"[{colours[claim.verdict]}]{claim.verdict}[/]"
        table.add_row(words, *map(escape, cells), escape(claim.chosen), holds)
    return table
