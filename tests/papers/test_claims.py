"""Claims as plain values and as a table."""

from __future__ import annotations

import json

import numpy as np

from papers.claims import Claim, to_markdown


def claim(number: int = 1, holds: bool = True, note: str = "", **more: str) -> Claim:
    given = {"claim": f"claim {number}", "paper": "2 x", "ours": "3 x", **more}
    return Claim(f"id{number}", holds=holds, note=note, **given)


def test_a_claim_is_plain_json() -> None:
    plain = claim(holds=bool(np.float64(3.0) > 2)).to_json()
    assert json.loads(json.dumps(plain)) == {
        "id": "id1",
        "claim": "claim 1",
        "paper": "2 x",
        "ours": "3 x",
        "holds": True,
    }


def test_what_numpy_compared_is_plain_json_as_well() -> None:
    plain = Claim("a", "b", "c", "d", np.float64(1.0) > 2).to_json()  # type: ignore[arg-type]
    assert json.loads(json.dumps(plain))["holds"] is False


def test_a_note_is_there_only_if_there_is_one() -> None:
    assert claim(note="why").to_json()["note"] == "why"
    assert "note" not in claim().to_json()


def test_a_table_has_a_line_for_each_claim_and_numbered_notes() -> None:
    text = to_markdown([claim(1), claim(2, False, "first"), claim(3), claim(4, True, "second")])
    assert text.splitlines() == [
        "| claim | paper | ours | holds |",
        "|---|---|---|---|",
        "| claim 1 | 2 x | 3 x | yes |",
        "| claim 2 [1] | 2 x | 3 x | **no** |",
        "| claim 3 | 2 x | 3 x | yes |",
        "| claim 4 [2] | 2 x | 3 x | yes |",
        "",
        "1. first",
        "2. second",
    ]


def test_no_claims_are_a_table_without_lines() -> None:
    assert len(to_markdown([]).splitlines()) == 2


def test_a_bar_in_a_cell_is_no_column() -> None:
    line = to_markdown([claim(paper="a | b", ours="|c|")]).splitlines()[2]
    assert line == "| claim 1 | a \\| b | \\|c\\| | yes |"


def test_two_claims_with_the_same_note_have_two_numbers() -> None:
    text = to_markdown([claim(1, note="same"), claim(2, note="same")])
    assert text.count("[1]") == text.count("[2]") == 1


def test_a_cell_of_two_lines_stays_in_its_row() -> None:
    assert len(to_markdown([claim(ours="3 x\n4 x")]).splitlines()) == 3
