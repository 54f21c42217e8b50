"""How many nodes a query may have: what ``start(nodes=...)`` means."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.errors import ConfigurationError


@dataclass(frozen=True)
class NodeRange:
    """The fewest and most nodes of a query. A node is a Spark executor.

    Attributes:
        least: the fewest.
        most: the most.

    >>> import rheostat as rh
    >>> rh.nodes(min=2, max=4)
    NodeRange(least=2, most=4)
    """

    least: int
    most: int

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ConfigurationError(
                f"nodes(min={self.least}, max={self.most}): min must be at least 1, and max at least min"
            )

    @property
    def fixed(self) -> bool:
        """True if there is only one number."""
        return self.least == self.most

    def clip(self, wanted: int) -> int:
        """Return the number in the range that is nearest to the one wanted.

        >>> NodeRange(2, 8).clip(1), NodeRange(2, 8).clip(5)
        (2, 5)
        """
        return min(max(wanted, self.least), self.most)

    def __str__(self) -> str:
        return str(self.least) if self.fixed else f"{self.least} to {self.most}"


def nodes(min: int = 1, max: int = 8) -> NodeRange:
    """The fewest and most nodes that a policy may use, for ``start(nodes=...)``. A node is a Spark executor.

    Args:
        min: the fewest.
        max: the most.

    >>> import rheostat as rh
    >>> print(rh.nodes(min=1, max=8))
    1 to 8
    """
    return NodeRange(min, max)
