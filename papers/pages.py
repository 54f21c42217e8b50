"""Claims as Markdown tables: a report for one paper, and two pages of the documentation for all of them.

``reproduction.md`` has the tables, with notes of at most two sentences. ``reproduction-notes.md`` has the longer texts
that these notes link to: what each paper's algorithm is as published, what we changed, and details of single claims.
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

_INTRODUCTION = f"""The evaluations of five papers, run again. This page is written by `rheostat reproduce all`.

Each paper has two tables. *What the paper says* lists the paper's claims. Each is judged on the paper's algorithm **as
published**; the result of our version stands beside it where both were run. *What we add* lists statements of our own,
which are not counted among the paper's claims.

How to read a row:

- *paper*: the figure or the words that the paper prints.
- *as published* and *our version*: what we measured, mostly in a simulator. Our version's verdict follows in brackets
  where it differs.
- *chosen by us*: a parameter that the paper does not print and that we chose, possibly after seeing results, or an
  input that we built from the claim. Such a row shows that the claim can hold, not that it must.
- *not decided here*: our simulator could not have given another verdict, so the row says nothing about the paper.

The [notes]({NOTES}) say what each algorithm is as published, what we changed, and more about single claims."""

_ABOUT_NOTES = f"Longer notes to the tables of the [reproduction]({PAGE}). Written by `rheostat reproduce all`."


def tables(claims: Sequence[Claim], name: str = "", notes: str = "") -> str:
    """Return both tables with their counts and notes.

    Args:
        claims: those of one paper.
        name: the paper's short name, for links into the page of notes.
        notes: file name of that page; empty to print details below the table instead of links.

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
    """Return the anchor of a claim's details in the page of notes, as Markdown derives it from the heading.

    >>> anchor("enorm", Claim("s7.7-components", "x", "y", "z", True))
    'enorm-s77-components'
    """
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", f"{name} {claim.id}").strip().lower())


def write_pages(claims: Mapping[str, Sequence[Claim]], papers: Mapping[str, Paper], folder: Path) -> None:
    """Write both pages of the documentation.

    Args:
        claims: by the paper's short name, in the order of the page.
        papers: the modules that the claims come from, by the same names.
        folder: where the documentation is.
    """
    page, notes = ["# Reproduction", _INTRODUCTION], ["# Notes on the reproduction", _ABOUT_NOTES]
    for name, each in claims.items():
        title = papers[name].TITLE
        page += [f"## {title}", tables(each, name, NOTES)]
        notes += [f"## {title}", papers[name].ABOUT.strip(), *_details(name, each)]
    (folder / PAGE).write_text("\n\n".join(page) + "\n")
    (folder / NOTES).write_text("\n\n".join(notes) + "\n")


def beside(claim: Claim) -> str:
    """Return our version's figure, with its verdict if that differs; empty if it was not run separately.

    >>> beside(Claim("a", "x", "2", "3", False, published="1", ours_holds=True))
    '3 (yes)'
    """
    if not claim.published:
        return ""
    if claim.ours_holds is None or claim.ours_holds == (claim.verdict == "yes"):
        return claim.ours
    return f"{claim.ours} ({'yes' if claim.ours_holds else 'no'})"


def reason_and_note(claim: Claim) -> str:
    """Return why there is no verdict, if there is none, and the note."""
    reason = f"Not decided: {claim.undecided}." if claim.undecided else ""
    return " ".join(text for text in (reason, claim.note) if text)


def _details(name: str, claims: Sequence[Claim]) -> list[str]:
    return [f"### {name} {c.id}\n\n*{c.claim}*\n\n{c.detail}" for c in claims if c.detail]


def _table(header: Sequence[str], claims: Sequence[Claim], name: str, notes: str) -> str:
    lines, footnotes = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)], []
    for c in claims:
        mark = ""
        if footnote := _footnote(c, name, notes):
            footnotes.append(footnote)
            mark = f" [{len(footnotes)}]"
        holds = c.verdict if c.verdict == "yes" else f"**{c.verdict}**"
        figures = (c.paper, c.judged, beside(c)) if c.origin == "paper" else (c.ours,)
        cells = (c.claim + mark, *figures, c.chosen, holds)
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    if footnotes:
        lines += ["", *(f"{place}. {text}" for place, text in enumerate(footnotes, start=1))]
    return "\n".join(lines)


def _footnote(claim: Claim, name: str, notes: str) -> str:
    """The text below the table: the reason for no verdict, the note, and a link to the details or the details."""
    more = f"[More]({notes}#{anchor(name, claim)})." if claim.detail and notes else claim.detail
    return " ".join(text for text in (reason_and_note(claim), more) if text)
