"""Claims: verdicts, counts, plain values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from papers.claims import Claim, addition, of_ours, of_paper, tally, tally_ours, versions


def claim(number: int = 1, holds: bool = True, **more: Any) -> Claim:
    return Claim(f"id{number}", f"claim {number}", "2 x", "3 x", holds, **more)


def test_a_claim_is_plain_json() -> None:
    plain = claim(holds=bool(np.float64(3.0) > 2)).to_json()
    assert json.loads(json.dumps(plain)) == {
        "id": "id1",
        "claim": "claim 1",
        "paper": "2 x",
        "ours": "3 x",
        "holds": True,
        "published": "3 x",
        "origin": "paper",
        "verdict": "yes",
    }


def test_what_numpy_compared_is_plain_json_as_well() -> None:
    plain = Claim("a", "b", "c", "d", np.float64(1.0) > 2, ours_holds=np.float64(1.0) < 2).to_json()  # type: ignore[arg-type]
    assert json.loads(json.dumps(plain))["holds"] is False
    assert json.loads(json.dumps(plain))["ours_holds"] is True


@pytest.mark.parametrize("key", ["note", "chosen", "limit", "detail"])
def test_a_text_is_there_only_if_there_is_one(key: str) -> None:
    told: dict[str, Any] = {key: "why"}
    assert claim(**told).to_json()[key] == "why"
    assert key not in claim().to_json()


def test_the_verdict_is_about_the_published_version() -> None:
    found = versions("a", "x grows", "2 x", [("1 x", False), ("3 x", True)])
    assert (found.holds, found.verdict, found.judged, found.ours, found.ours_holds) == (False, "no", "1 x", "3 x", True)
    plain = found.to_json()
    assert (plain["published"], plain["ours"], plain["ours_holds"]) == ("1 x", "3 x", True)


def test_a_version_that_was_not_run_has_no_figure() -> None:
    found = versions("a", "x grows", "2 x", [("1 x", True), None])
    assert (found.verdict, found.judged, found.ours) == ("yes", "1 x", "1 x")
    assert (found.published, found.ours_holds) == ("", None)


def test_a_no_that_could_not_be_avoided_decides_nothing() -> None:
    limit = "the simulator has one node"
    assert claim(holds=False, limit=limit).verdict == "not decided here"
    assert claim(holds=False, limit=limit).to_json()["holds"] is False
    assert claim(holds=True, limit=limit).verdict == "yes"  # it was not unavoidable


def test_a_yes_that_is_built_in_decides_nothing() -> None:
    reason = "a local move is free in the simulator"
    free = claim(built_in=reason)
    assert (free.verdict, free.undecided, free.to_json()["limit"]) == ("not decided here", reason, reason)
    assert claim(holds=False, built_in=reason).verdict == "no"  # it was not built in
    assert tally([free, claim(2)]) == "1 of 1 claims hold, 1 more is not decided here."


def test_only_the_papers_claims_are_counted() -> None:
    ours = addition("speed", "it is fast", "1 s", True)
    every = [claim(1), claim(2, False), claim(3, False, limit="no nodes"), claim(4, False, limit="no nodes"), ours]
    assert tally(every) == "1 of 2 claims hold, 2 more are not decided here."
    assert tally_ours(every) == "1 of 1 statements hold."
    assert of_ours(every) == [ours]
    assert len(of_paper(every)) == 4


def test_an_addition_has_no_published_version() -> None:
    plain = addition("speed", "it is fast", "1 s", False, "why", paper="not in the paper").to_json()
    assert (plain["origin"], plain["verdict"], plain["paper"], plain["note"]) == (
        "ours",
        "no",
        "not in the paper",
        "why",
    )
    assert "published" not in plain
