"""Which revisions of a proposal are accepted, and why the others are refused.

Users' requests and the policy's revisions take the same way. Every operator has at most one change in progress, a
user's request comes before the policy's revision of the same operator, and revisions that belong together are accepted
together or not at all. ``turn`` calls this for the users first, then for the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rheostat.elastic.loop.treatment import Treatment, objection_to, propose, record_refusal, step
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Revision


@dataclass(frozen=True, eq=False)
class Refusal:
    """A revision that the loop did not accept.

    Attributes:
        revision: the revision.
        why: the reason, in words.
    """

    revision: Revision
    why: str

    def __str__(self) -> str:
        return f"{self.revision.operator}: {self.why}"


def accept(
    revisions: Iterable[Revision],
    treatments: dict[str, Treatment],
    requests: dict[str, OperatorPlan],
    plan: Plan,
    now: float,
    *,
    together: bool = False,
    asked_for: Collection[str] = (),
    allowed: tuple[int, int] | None = None,
) -> tuple[list[Revision], list[Refusal]]:
    """Accept or refuse revisions. Updates ``treatments`` and ``requests``.

    Args:
        revisions: the revisions. Those of unknown operators and those that change nothing are ignored.
        treatments: the change in progress of every operator.
        requests: by operator, the plan to request.
        plan: the plan in force.
        now: seconds on the clock of the observations.
        together: True to accept all revisions or none.
        asked_for: operators that a user asked to change in this turn; the policy has to wait for them.
        allowed: the fewest and most slots that a revision may have; None if it may have any number.

    Returns:
        The accepted revisions, and the refused ones with reasons.
    """
    candidates = [r for r in revisions if r.operator in treatments and r.action != Action.NOTHING]
    objections = _objections(candidates, treatments, asked_for, allowed)
    if together and any(objections):
        blocked = ", ".join(r.operator for r, why in zip(candidates, objections, strict=True) if why)
        objections = [why or f"it belongs together with the refused change of {blocked}" for why in objections]
    accepted, refused = [], []
    for revision, why in zip(candidates, objections, strict=True):
        name = revision.operator
        if why:
            refused.append(Refusal(revision, why))
            treatments[name] = record_refusal(treatments[name], revision, why, now)
            continue
        treatments[name], _ = propose(treatments[name], revision, now)
        accepted.append(revision)
        treatments[name], goal = step(treatments[name], plan.operators[name], now)
        if goal is not None:
            requests[name] = goal
    return accepted, refused


def _objections(
    revisions: Sequence[Revision],
    treatments: Mapping[str, Treatment],
    asked_for: Collection[str],
    allowed: tuple[int, int] | None,
) -> list[str]:
    """Return for every revision why it cannot be accepted now; empty if it can."""
    objections: list[str] = []
    accepted = set[str]()
    for revision in revisions:
        if revision.operator in asked_for:
            why = "a user's request comes first"
        elif revision.operator in accepted:
            why = "another change of the same operator was accepted in this turn"
        elif allowed is not None and not allowed[0] <= revision.plan.slots <= allowed[1]:
            why = f"it has {revision.plan.slots} slots, and the query may have {allowed[0]} to {allowed[1]}"
        else:
            why = objection_to(treatments[revision.operator], revision)
        if not why:
            accepted.add(revision.operator)
        objections.append(why)
    return objections
