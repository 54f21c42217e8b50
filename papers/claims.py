"""Statements beside measurements: what a paper claims, and what we add, each with its verdict.

Every figure file of a paper returns ``Claim`` values. ``papers/pages.py`` and ``papers/commands.py`` print them as two
tables, one of the paper's claims and one of our own statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Origin = Literal["paper", "ours"]
Verdict = Literal["yes", "no", "not decided here"]


@dataclass(frozen=True)
class Claim:
    """One statement, the paper's or ours, beside what we measured.

    Attributes:
        id: short and stable, such as ``fig6-throughput``.
        claim: the statement, as a sentence that can be true or false.
        paper: the figure or the words that the paper prints.
        ours: our figure, measured with our version of the algorithm if that was run separately.
        holds: True if the statement is true of the algorithm as published, or of the only version there is.
        note: what the reader should know at once, in at most two sentences.
        published: our figure for the algorithm as published; empty if ``ours`` is that figure.
        ours_holds: True if the statement is true of our version; None if our version was not run separately.
        chosen: parameters that we chose, possibly after seeing results, or inputs that were built from the claim.
        limit: why the simulator cannot give the verdict "yes". A "no" then decides nothing.
        built_in: why the simulator cannot give the verdict "no". A "yes" then decides nothing.
        detail: longer explanations, for the page of notes.
        origin: "paper" for a claim of the paper, "ours" for a statement that we add.

    >>> Claim("table3", "a decision for 32 nodes takes at most 5.7 ms", "5.7 ms", "1.5 ms", True).verdict
    'yes'
    >>> Claim("fig15", "barriers are late", "6 s", "1 s", False, limit="at most 328 rows are in flight").verdict
    'not decided here'
    >>> Claim("fig9", "local moves are free", "free", "0 ms", True, built_in="a local move has no cost").verdict
    'not decided here'
    """

    id: str
    claim: str
    paper: str
    ours: str
    holds: bool
    note: str = ""
    published: str = ""
    ours_holds: bool | None = None
    chosen: str = ""
    limit: str = ""
    built_in: str = ""
    detail: str = ""
    origin: Origin = "paper"

    @property
    def verdict(self) -> Verdict:
        """Whether the statement holds, or that this cannot be decided by simulation."""
        if self.undecided:
            return "not decided here"
        return "yes" if self.holds else "no"

    @property
    def undecided(self) -> str:
        """Why the simulator could not have given another verdict; empty if it could."""
        return self.built_in if self.holds else self.limit

    @property
    def judged(self) -> str:
        """The figure that the verdict is about."""
        return self.published or self.ours

    def to_json(self) -> dict[str, Any]:
        """Return the claim as plain values, without empty texts.

        >>> sorted(Claim("a", "x grows", "2 x", "3 x", True).to_json())
        ['claim', 'holds', 'id', 'origin', 'ours', 'paper', 'published', 'verdict']
        """
        fields = {"id": self.id, "claim": self.claim, "paper": self.paper, "ours": self.ours, "holds": bool(self.holds)}
        if self.origin == "paper":
            fields["published"] = self.judged
        if self.ours_holds is not None:
            fields["ours_holds"] = bool(self.ours_holds)
        limit = self.undecided or self.limit or self.built_in
        texts = {"note": self.note, "chosen": self.chosen, "limit": limit, "detail": self.detail}
        present = {name: text for name, text in texts.items() if text}
        return {**fields, **present, "origin": self.origin, "verdict": self.verdict}


Judged = tuple[str, bool]
"""A measured figure in words, and True if the claim is true of it."""


def versions(
    id: str,
    claim: str,
    paper: str,
    results: Iterable[Judged | None],
    note: str = "",
    chosen: str = "",
    limit: str = "",
    detail: str = "",
) -> Claim:
    """Return a paper's claim, judged on the algorithm as published, with our version beside it.

    Args:
        id: as in ``Claim``.
        claim: as in ``Claim``.
        paper: as in ``Claim``.
        results: two of them: of the algorithm as published, and of our version, or None if that was not run.
        note: as in ``Claim``.
        chosen: as in ``Claim``.
        limit: as in ``Claim``.
        detail: as in ``Claim``.

    >>> latency = versions("fig5", "latency is kept", "96%", [("94%", False), ("97%", True)])
    >>> latency.verdict, latency.judged, latency.ours, latency.ours_holds
    ('no', '94%', '97%', True)
    """
    published, ours = results
    assert published is not None, f"{id}: the published version must be run, since the claim is judged on it"
    return Claim(
        id,
        claim,
        paper,
        (ours or published)[0],
        bool(published[1]),
        note,
        published=published[0] if ours else "",
        ours_holds=bool(ours[1]) if ours else None,
        chosen=chosen,
        limit=limit,
        detail=detail,
    )


def addition(
    id: str, claim: str, ours: str, holds: bool, note: str = "", chosen: str = "", detail: str = "", paper: str = "-"
) -> Claim:
    """Return a statement of our own, which is not counted among the paper's claims.

    >>> addition("speed", "one core places 20 million tuples a second", "41 million/s", True).origin
    'ours'
    """
    return Claim(id, claim, paper, ours, holds, note, chosen=chosen, detail=detail, origin="ours")


def of_paper(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims that the paper makes."""
    return [c for c in claims if c.origin == "paper"]


def of_ours(claims: Sequence[Claim]) -> list[Claim]:
    """Return the statements that we add."""
    return [c for c in claims if c.origin == "ours"]


def tally(claims: Sequence[Claim]) -> str:
    """Say how many of the paper's claims hold, and how many more are not decided here.

    >>> yes, no = (Claim("a", "x grows", "2 x", "3 x", holds) for holds in (True, False))
    >>> unknown = Claim("b", "y grows", "2 x", "3 x", False, limit="y has one value here")
    >>> tally([yes, no, unknown]), tally([yes])
    ('1 of 2 claims hold, 1 more is not decided here.', '1 of 1 claims hold.')
    """
    verdicts = [c.verdict for c in of_paper(claims)]
    held, undecided = verdicts.count("yes"), verdicts.count("not decided here")
    more = f", {undecided} more {'is' if undecided == 1 else 'are'} not decided here" if undecided else ""
    return f"{held} of {len(verdicts) - undecided} claims hold{more}."


def tally_ours(claims: Sequence[Claim]) -> str:
    """Say how many of our own statements hold.

    >>> tally_ours([addition("a", "x is fast", "3 s", True)])
    '1 of 1 statements hold.'
    """
    statements = of_ours(claims)
    return f"{sum(c.holds for c in statements)} of {len(statements)} statements hold."
