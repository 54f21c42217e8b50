"""Generated tweets that mention media, politicians and others, in place of the real tweets of POSG's section V.

The paper's tweets were never published. Ours have the properties that it gives: 500,000 tweets that mention about
35,000 entities, the most frequent of them in 6.5 % of the tweets. It does not say how many entities are media or
politicians. Here, of the 1,000 most mentioned entities half are politicians and a fifth are media; of the others 2 %
and 1 %, because most of them are people who reply.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigurationError

KINDS = ("media", "politicians", "others")
"""The kinds of entities; ``Mentions.kinds`` holds indices of this."""

_PROMINENT = 1_000
"""Number of entities that count as the most mentioned ones."""
_PROMINENT_SHARES, _OTHER_SHARES = (0.2, 0.5), (0.01, 0.02)
"""Shares of media and of politicians: among the most mentioned entities, and among the others."""


@dataclass(frozen=True, eq=False)
class Mentions:
    """What the tweets of a stream mention, in their order.

    Attributes:
        entities: number of the entity that each tweet mentions.
        kinds: the kind of that entity, as an index of ``KINDS``.
    """

    entities: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tweets:
    """A stream of tweets with Zipf-distributed entities.

    >>> mentions = Tweets(count=20_000).mentions()
    >>> round(float((mentions.entities == mentions.entities[mentions.kinds == 1].min()).mean()), 3)
    0.066

    Attributes:
        count: number of tweets.
        entities: number of entities that can be mentioned; a short stream mentions fewer.
        top: share of the tweets that mention the most frequent entity, which is a politician.
        seed: seed of everything random.
    """

    count: int = 500_000
    entities: int = 35_000
    top: float = 0.065
    seed: int = 1

    def __post_init__(self) -> None:
        if self.count < 0 or self.entities < 2 or not 1 / self.entities < self.top < 1:
            raise ConfigurationError(
                f"invalid tweets: count={self.count}, entities={self.entities}, top={self.top}; need count >= 0, "
                "entities >= 2 and 1 / entities < top < 1"
            )

    @property
    def skew(self) -> float:
        """Exponent of the Zipf distribution in which the most frequent entity has the share ``top``.

        >>> round(Tweets().skew, 3)
        0.937
        """
        low, high = 0.0, 64.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _shares(self.entities, middle)[0] < self.top else (low, middle)
        return low

    def kinds(self) -> npt.NDArray[np.int64]:
        """Return the kind of every entity, from the most to the least frequent."""
        random = np.random.default_rng([self.seed, 1]).random(self.entities)
        prominent = np.arange(self.entities) < _PROMINENT
        media, politicians = (np.where(prominent, a, b) for a, b in zip(_PROMINENT_SHARES, _OTHER_SHARES, strict=True))
        kinds = np.where(random < media, 0, np.where(random < media + politicians, 1, 2))
        kinds[0] = 1
        return kinds

    def mentions(self) -> Mentions:
        """Generate the tweets."""
        rng = np.random.default_rng([self.seed, 0])
        shares = np.cumsum(_shares(self.entities, self.skew))
        entities = np.searchsorted(shares, rng.random(self.count)).clip(max=self.entities - 1)
        return Mentions(entities, self.kinds()[entities])


def _shares(entities: int, skew: float) -> npt.NDArray[np.float64]:
    """Return the share of every entity in a Zipf distribution, from the most to the least frequent."""
    weights: npt.NDArray[np.float64] = np.arange(1, entities + 1, dtype=np.float64) ** -skew
    shares: npt.NDArray[np.float64] = weights / weights.sum()
    return shares
