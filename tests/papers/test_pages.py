"""Claims as tables, and the documentation's two pages."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from papers.claims import Claim, addition, versions
from papers.pages import anchor, tables, write_pages


def claim(number: int = 1, holds: bool = True, **more: Any) -> Claim:
    given = {"claim": f"claim {number}", "paper": "2 x", "ours": "3 x", **more}
    return Claim(f"id{number}", holds=holds, **given)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| claim ") and "---" not in line][1:]


def test_a_table_has_a_line_for_each_claim_and_numbered_notes() -> None:
    every = [claim(1), claim(2, False, note="First."), claim(3), claim(4, note="Second.")]
    assert tables(every).splitlines() == [
        "### What the paper says",
        "",
        "3 of 4 claims hold.",
        "",
        "| claim | paper | as published | our version | chosen by us | holds |",
        "|---|---|---|---|---|---|",
        "| claim 1 | 2 x | 3 x |  |  | yes |",
        "| claim 2 [1] | 2 x | 3 x |  |  | **no** |",
        "| claim 3 | 2 x | 3 x |  |  | yes |",
        "| claim 4 [2] | 2 x | 3 x |  |  | yes |",
        "",
        "1. First.",
        "2. Second.",
    ]


def test_our_version_is_beside_the_published_one_with_its_verdict_where_that_differs() -> None:
    same = versions("a", "claim a", "2 x", [("1 x", True), ("3 x", True)])
    other = versions("b", "claim b", "2 x", [("1 x", False), ("3 x", True)], chosen="speed")
    found = rows(tables([same, other]))
    assert found == ["| claim a | 2 x | 1 x | 3 x |  | yes |", "| claim b | 2 x | 1 x | 3 x (yes) | speed | **no** |"]


def test_what_is_not_decided_says_why() -> None:
    text = tables([claim(1, False, limit="there is one node", note="It has two cores.")])
    assert "| **not decided here** |" in text
    assert "1. Not decided: there is one node. It has two cores." in text
    assert "0 of 0 claims hold, 1 more is not decided here." in text


def test_ours_have_a_table_of_their_own() -> None:
    text = tables([claim(1), addition("speed", "it is fast", "1 s", True, "Very.", chosen="size")])
    first, second = text.split("### What we add\n\n")
    assert "it is fast" not in first
    assert second.splitlines() == [
        "1 of 1 statements hold.",
        "",
        "| statement | here | chosen by us | holds |",
        "|---|---|---|---|",
        "| it is fast [1] | 1 s | size | yes |",
        "",
        "1. Very.",
    ]
    assert "What we add" not in tables([claim(1)])


def test_no_claims_are_a_table_without_lines() -> None:
    assert len(tables([]).splitlines()) == 6


def test_a_bar_in_a_cell_is_no_column() -> None:
    assert rows(tables([claim(paper="a | b", ours="|c|")])) == ["| claim 1 | a \\| b | \\|c\\| |  |  | yes |"]


def test_two_claims_with_the_same_note_have_two_numbers() -> None:
    text = tables([claim(1, note="Same."), claim(2, note="Same.")])
    assert text.count("[1]") == text.count("[2]") == 1


def test_a_cell_of_two_lines_stays_in_its_row() -> None:
    assert len(rows(tables([claim(ours="3 x\n4 x")]))) == 1


def test_details_are_linked_to_or_told_at_once() -> None:
    told = claim(note="Short.", detail="All of it.")
    assert "1. Short. All of it." in tables([told])
    assert "1. Short. [More](notes.md#posg-id1)." in tables([told], "posg", "notes.md")


def slug(heading: str) -> str:
    """As Python-Markdown's table of contents names a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def test_every_link_of_the_page_leads_to_a_heading_of_the_notes(tmp_path: Path) -> None:
    odd = Claim("s7.7-drs-lb+", "claim", "2 x", "3 x", True, detail="Details.")
    module: Any = SimpleNamespace(TITLE="The paper", ABOUT="\nWhat is ours.\n")
    write_pages({"one": [claim(detail="More."), odd], "two": [claim(2)]}, {"one": module, "two": module}, tmp_path)
    page, notes = ((tmp_path / name).read_text() for name in ("reproduction.md", "reproduction-notes.md"))
    links = re.findall(r"\(reproduction-notes\.md#([^)]*)\)", page)
    headings = [slug(line.lstrip("# ")) for line in notes.splitlines() if line.startswith("#")]
    assert links == [anchor("one", claim()), anchor("one", odd)]
    assert set(links) <= set(headings)
    assert notes.count("What is ours.") == 2
    assert "*claim 1*\n\nMore." in notes
    assert "after seeing results" in page
