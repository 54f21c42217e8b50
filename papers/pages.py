"""Claims as tables in Markdown: a report of one paper, and the documentation's two pages of all of them.

``reproduction.md`` has the tables, with notes of two sentences at most. ``reproduction-notes.md`` has what is longer:
what each paper's algorithm is as published and what is ours, and details of single claims, which the notes link to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.claims import Claim, of_ours, of_paper, tally, tally_ours

if TYPE_CHECKING:
    from papers.paper_run import Paper

PAGE, NOTES = "reproduction.md", "reproduction-notes.md"

_PAPER = ("claim", "paper", "as published", "our version", "chosen by us", "holds")
_OURS = ("statement", "here", "chosen by us", "holds")

_INTRODUCTION = f"""What the five papers measured, and what the same algorithms do here. Written by
`rheostat reproduce all`.

Every paper has two tables. The first has what the paper says, judged on its algorithm **as published**; our version is
beside that where it was run apart. The second has what we add, which no count of a paper's claims includes.

- *chosen by us*: a parameter that was chosen after seeing results, or an input that was built from the claim. Such a
  row shows that the claim can hold, not that it must.
- *not decided here*: the simulator could not have given another verdict, so a no would say nothing of the paper.

What is ours in each algorithm, and longer notes, are on [a page of their own]({NOTES})."""


def tables(claims: Sequence[Claim], name: str = "", notes: str = "") -> str:
    """Both tables with their counts and notes.

    Args:
        claims: of one paper.
        name: of the paper, for links into the page of notes.
        notes: file of that page; empty to print details where they belong.

    >>> print(tables([Claim("a", "x grows", "2 x", "3 x", True, published="4 x")]))
    ### What the paper says
    <BLANKLINE>
    1 of 1 claims hold.
    <BLANKLINE>
    | claim | paper | as published | our version | chosen by us | holds |
    |---|---|---|---|---|---|
    | x grows | 2 x | 4 x | 3 x |  | yes |
    """
    parts = ["### What the paper says", tally(claims), _table(_PAPER, of_paper(claims), name, notes)]
    if of_ours(claims):
        parts += ["### What we add", tally_ours(claims), _table(_OURS, of_ours(claims), name, notes)]
    return "\n\n".join(parts)


def anchor(name: str, claim: Claim) -> str:
    """Where the page of notes has a claim's details: the heading as Markdown's table of contents names it.

    >>> anchor("enorm", Claim("s7.7-components", "x", "y", "z", True))
    'enorm-s77-components'
    """
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", f"{name} {claim.id}").strip().lower())


def write_pages(found: Mapping[str, Sequence[Claim]], papers: Mapping[str, Paper], folder: Path) -> None:
    """Both pages of the documentation, from all papers."""
    parts, notes = ["# Reproduction", _INTRODUCTION], ["# Notes on the reproduction", _about_notes()]
    for name, claims in found.items():
        title = papers[name].TITLE
        parts += [f"## {title}", tables(claims, name, NOTES)]
        notes += [f"## {title}", papers[name].ABOUT.strip(), *_details(name, claims)]
    (folder / PAGE).write_text("\n\n".join(parts) + "\n")
    (folder / NOTES).write_text("\n\n".join(notes) + "\n")


def beside(claim: Claim) -> str:
    """Our version's figure, with its verdict where that is another; nothing if it was not run apart.

    >>> beside(Claim("a", "x", "2", "3", False, published="1", ours_holds=True))
    '3 (yes)'
    """
    if not claim.published:
        return ""
    if claim.ours_holds is None or claim.ours_holds == (claim.verdict == "yes"):
        return claim.ours
    return f"{claim.ours} ({'yes' if claim.ours_holds else 'no'})"


def _about_notes() -> str:
    return f"What the tables of the [reproduction]({PAGE}) have no room for. Written by `rheostat reproduce all`."


def _details(name: str, claims: Sequence[Claim]) -> list[str]:
    return [f"### {name} {c.id}\n\n*{c.claim}*\n\n{c.detail}" for c in claims if c.detail]


def _table(header: Sequence[str], claims: Sequence[Claim], name: str, notes: str) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    told = [text for c in claims if (text := _note(c, name, notes))]
    number = 0
    for c in claims:
        number += bool(_note(c, name, notes))
        mark = f" [{number}]" if _note(c, name, notes) else ""
        holds = c.verdict if c.verdict == "yes" else f"**{c.verdict}**"
        figures = (c.paper, c.judged, beside(c)) if c.origin == "paper" else (c.ours,)
        cells = (c.claim + mark, *figures, c.chosen, holds)
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    if told:
        lines += ["", *(f"{place}. {text}" for place, text in enumerate(told, start=1))]
    return "\n".join(lines)


def _note(claim: Claim, name: str, notes: str) -> str:
    """What stands below the table: the reason for no verdict, the note, and a link or the details themselves."""
    limit = f"Not decided: {claim.limit}." if claim.verdict == "not decided here" else ""
    more = f"[More]({notes}#{anchor(name, claim)})." if claim.detail and notes else claim.detail
    return " ".join(text for text in (limit, claim.note, more) if text)
