"""Another number of nodes: what the policy or a user wants, and what the loop makes of it (ELYSIUM section 3.2).

Slots change at the next epoch. Nodes come when the cluster gives them, so the number wanted and the nodes there are two
values: ``Plan.nodes`` is the number wanted, ``Observation.cores`` has the nodes that are there.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.plan import Action

ASKED = "asked for"
"""The reason of a change that a user asked for."""


@dataclass(frozen=True)
class NodeChange:
    """A change of the number of nodes.

    Attributes:
        before: the number that was wanted.
        after: the number that is wanted from now on.
        reasons: why, in words and numbers.
        asked: True if a user asked for it.
        refused: why it was not accepted; empty if it was.
    """

    before: int
    after: int
    reasons: tuple[str, ...] = ()
    asked: bool = False
    refused: str = ""

    @property
    def action(self) -> Action:
        """What it does."""
        return Action.between(self.before, self.after)


def judge(
    before: int,
    wanted: int,
    allowed: NodeRange | None,
    *,
    fixed: str = "",
    reasons: tuple[str, ...] = (),
    asked: bool = False,
) -> NodeChange | None:
    """Accept or refuse another number of nodes. A number outside of the range becomes the nearest in it.

    Args:
        before: the number that is wanted so far.
        wanted: the number to have.
        allowed: the fewest and most; None if any number is allowed.
        fixed: why the number cannot change; empty if it can.
        reasons: why, in words and numbers.
        asked: True if a user asked for it.

    Returns:
        The change; None if there is none.

    >>> judge(2, 9, NodeRange(1, 8), reasons=("all nodes are busy",)).reasons
    ('all nodes are busy', '9 nodes would be needed, and the query may have 1 to 8')
    >>> judge(1, 2, None, fixed="local[2] is one node").refused
    'local[2] is one node'
    >>> judge(8, 9, NodeRange(1, 8)) is None
    True
    """
    after = wanted if allowed is None else allowed.clip(wanted)
    if fixed:
        return NodeChange(before, wanted, reasons, asked, fixed) if wanted != before else None
    if after == before:
        return None
    if after != wanted:
        reasons = (*reasons, f"{wanted} nodes would be needed, and the query may have {allowed}")
    return NodeChange(before, after, reasons, asked)
