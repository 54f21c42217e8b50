"""What a paper says it measured, and whether we see it too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """One statement of a paper beside ours.

    Attributes:
        id: short and stable, for example ``fig6-throughput``.
        claim: what is claimed, as a sentence that can be true or false.
        paper: what the paper prints; ``ours``, what we saw.
        holds: whether the claim is true of what we saw.
        note: why it does not hold, or what to know of how it was measured.

    >>> Claim("table3", "a decision for 32 nodes takes at most 5.7 ms", "5.7 ms", "1.5 ms", True).to_json()["holds"]
    True
    """

    id: str
    claim: str
    paper: str
    ours: str
    holds: bool
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values; a note only if there is one."""
        fields = {"id": self.id, "claim": self.claim, "paper": self.paper, "ours": self.ours, "holds": bool(self.holds)}
        return {**fields, "note": self.note} if self.note else fields


def to_markdown(claims: Sequence[Claim]) -> str:
    """The claims as a table, with the notes below it.

    >>> print(to_markdown([Claim("a", "x grows", "2 x", "3 x", True)]))
    | claim | paper | ours | holds |
    |---|---|---|---|
    | x grows | 2 x | 3 x | yes |
    """
    lines = ["| claim | paper | ours | holds |", "|---|---|---|---|"]
    noted = [c for c in claims if c.note]
    for c in claims:
        mark = f" [{noted.index(c) + 1}]" if c.note else ""
        cells = (c.claim + mark, c.paper, c.ours, "yes" if c.holds else "**no**")
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    if noted:
        lines += ["", *(f"{number}. {c.note}" for number, c in enumerate(noted, start=1))]
    return "\n".join(lines)
