"""What every paper's claims have to keep to, whatever they say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from papers.claims import Claim

MOST = 2
"""Sentences of a note."""


def sentences(text: str) -> int:
    """How many sentences a note has.

    >>> sentences("One, of 0.5 s. Two: e.g. fig. 3."), sentences("")
    (2, 0)
    """
    plain = re.sub(r"\b(fig|e\.g|i\.e)\.", r"\1", text)
    return len(re.findall(r"[.!?](?=\s+[A-Z`]|$)", plain.strip())) + bool(
        plain and not plain.strip().endswith((".", "!", "?"))
    )


def assert_well_told(claims: Sequence[Claim]) -> None:
    """Ids are unique, notes are short, and a claim that does not hold says why or has a figure that does."""
    assert len({c.id for c in claims}) == len(claims)
    assert [(c.id, c.note) for c in claims if sentences(c.note) > MOST] == []
    assert [c.id for c in claims if c.note and c.note[0].islower()] == []
    assert [c.id for c in claims if c.origin == "ours" and (c.published or c.limit or c.built_in)] == []
    assert [c.id for c in claims if (c.limit or c.built_in).endswith(".")] == []
    assert {c.verdict for c in claims} <= {"yes", "no", "not decided here"}
