"""What a paper says it measured, judged here; and what we add, judged apart from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Origin = Literal["paper", "ours"]
Verdict = Literal["yes", "no", "not decided here"]


@dataclass(frozen=True)
class Claim:
    """One statement, a paper's or our own, beside what we measured.

    Attributes:
        id: short and stable, for example ``fig6-throughput``.
        claim: what is claimed, as a sentence that can be true or false.
        paper: what the paper prints.
        ours: what we measured, with our version of the algorithm where it was run apart.
        holds: True if the claim is true of the algorithm as published, as far as there is another version.
        note: what to know at once, in two sentences at most.
        published: what we measured with the algorithm as published; empty if there is only one version, or one run.
        ours_holds: True if the claim is true of our version; None if there is only one.
        chosen: which parameter was chosen after seeing results, or which input was built from the claim.
        limit: why the simulator cannot give another verdict than no; then a no decides nothing.
        detail: everything else to know, for the page of notes.
        origin: whose statement it is.

    >>> Claim("table3", "a decision for 32 nodes takes at most 5.7 ms", "5.7 ms", "1.5 ms", True).verdict
    'yes'
    >>> Claim("fig15", "barriers are late", "6 s", "1 s", False, limit="no more than 328 rows are in flight").verdict
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
    detail: str = ""
    origin: Origin = "paper"

    @property
    def verdict(self) -> Verdict:
        """Whether it holds; a no that the simulator could not have avoided is none."""
        if self.holds:
            return "yes"
        return "not decided here" if self.limit else "no"

    @property
    def judged(self) -> str:
        """The figure that the verdict is about."""
        return self.published or self.ours

    def to_json(self) -> dict[str, Any]:
        """As plain values; texts that are empty are left out.

        >>> sorted(Claim("a", "x grows", "2 x", "3 x", True).to_json())
        ['claim', 'holds', 'id', 'origin', 'ours', 'paper', 'published', 'verdict']
        """
        fields = {"id": self.id, "claim": self.claim, "paper": self.paper, "ours": self.ours, "holds": bool(self.holds)}
        told = {"note": self.note, "chosen": self.chosen, "limit": self.limit, "detail": self.detail}
        if self.origin == "paper":
            fields["published"] = self.judged
        if self.ours_holds is not None:
            fields["ours_holds"] = bool(self.ours_holds)
        kept = {name: text for name, text in told.items() if text}
        return {**fields, **kept, "origin": self.origin, "verdict": self.verdict}


Judged = tuple[str, bool]
"""What was measured, in words, and whether the claim is true of it."""


def versions(
    id: str,
    claim: str,
    paper: str,
    found: Iterable[Judged | None],
    note: str = "",
    chosen: str = "",
    limit: str = "",
    detail: str = "",
) -> Claim:
    """A paper's claim, judged on the algorithm as published, with our version beside it.

    Args:
        found: as published, and with our version; None if that was not run.

    >>> found = versions("fig5", "latency is kept", "96 %", [("94 %", False), ("97 %", True)])
    >>> found.verdict, found.judged, found.ours, found.ours_holds
    ('no', '94 %', '97 %', True)
    """
    published, ours = found
    assert published is not None, f"{id}: the published version is what the claim is judged on"
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
    """A statement of our own, which no paper's count has.

    >>> addition("speed", "one core places 20 million tuples a second", "41 million/s", True).origin
    'ours'
    """
    return Claim(id, claim, paper, ours, holds, note, chosen=chosen, detail=detail, origin="ours")


def of_paper(claims: Sequence[Claim]) -> list[Claim]:
    """Those that are the paper's."""
    return [c for c in claims if c.origin == "paper"]


def of_ours(claims: Sequence[Claim]) -> list[Claim]:
    """Those that are our own."""
    return [c for c in claims if c.origin == "ours"]


def tally(claims: Sequence[Claim]) -> str:
    """How many of the paper's claims hold; those that are not decided here are counted apart, ours not at all.

    >>> yes, no = (Claim("a", "x grows", "2 x", "3 x", holds) for holds in (True, False))
    >>> unknown = Claim("b", "y grows", "2 x", "3 x", False, limit="y has one value here")
    >>> tally([yes, no, unknown]), tally([yes])
    ('1 of 2 claims hold, 1 more is not decided here.', '1 of 1 claims hold.')
    """
    verdicts = [c.verdict for c in of_paper(claims)]
    held, open_ = verdicts.count("yes"), verdicts.count("not decided here")
    more = f", {open_} more {'is' if open_ == 1 else 'are'} not decided here" if open_ else ""
    return f"{held} of {len(verdicts) - open_} claims hold{more}."


def tally_ours(claims: Sequence[Claim]) -> str:
    """How many of our own statements hold.

    >>> tally_ours([addition("a", "x is fast", "3 s", True)])
    '1 of 1 statements hold.'
    """
    mine = of_ours(claims)
    return f"{sum(c.holds for c in mine)} of {len(mine)} statements hold."
