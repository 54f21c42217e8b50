"""The number of nodes that a query wants, as its decisions tell: the newest one, and whether it was observed yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rheostat.elastic.loop.decision import ACCEPTED, Decision
from rheostat.elastic.loop.node_change import NodeChange
from rheostat.elastic.model.node_range import NodeRange


@dataclass(frozen=True)
class NodeWish:
    """The newest decision about nodes.

    Attributes:
        decision: its number in the event log.
        nodes: the number of nodes that it wants.
        since: when it was made, in UTC.
        observed: True if that many nodes were there at some time since.
    """

    decision: int
    nodes: int
    since: datetime
    observed: bool = False

    def outcome(self, there: int, change: NodeChange | None, now: datetime) -> str:
        """Return how the decision has ended, in words; empty if it has not.

        Args:
            there: the number of nodes that are there.
            change: another number that is wanted from now on; None if there is none.
            now: the time, in UTC.

        >>> wish = NodeWish(7, nodes=3, since=datetime(2026, 1, 1))
        >>> wish.outcome(3, None, datetime(2026, 1, 1, 0, 0, 9)), wish.outcome(2, None, datetime(2026, 1, 1))
        ('observed after 9 s', '')
        >>> wish.outcome(2, NodeChange(3, 1), datetime(2026, 1, 1))
        'replaced: 2 of 3 nodes were there when 1 were wanted'
        """
        if self.observed:
            return ""
        if there == self.nodes:
            return f"observed after {max((now - self.since).total_seconds(), 0.0):.3g} s"
        if change is not None:
            return f"replaced: {there} of {self.nodes} nodes were there when {change.after} were wanted"
        return ""

    def objection(self, allowed: NodeRange | None) -> str:
        """Return why a new run does not begin with this number; empty if it does.

        Args:
            allowed: the fewest and most nodes of the new run; None if the number is not its to change.
        """
        if allowed is None:
            return "the query was started without nodes=, so it takes the nodes that Spark has"
        if allowed.clip(self.nodes) != self.nodes:
            return f"it wants {self.nodes} nodes, and the query may have {allowed}"
        return ""


def newest_wish(decisions: Mapping[int, Decision]) -> NodeWish | None:
    """Return the newest accepted decision about nodes; None if there is none.

    Args:
        decisions: decisions by number.
    """
    for number in sorted(decisions, reverse=True):
        decision = decisions[number]
        if decision.nodes[1] and not decision.outcome.startswith(("refused", "dropped")):
            return NodeWish(number, decision.nodes[1], decision.time, observed=decision.outcome != ACCEPTED)
    return None
