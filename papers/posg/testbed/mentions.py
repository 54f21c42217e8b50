"""Tweets that mention media, politicians and others: POSG's application on real data (section V), generated.

The paper's tweets were never published. What it says of them is kept: 500,000 tweets, about 35,000 entities that they
mention, the most frequent in 6.5 % of them. How many entities are media or politicians it does not say. Here, of the
1,000 most mentioned, half are politicians and a fifth media; of the rest 2 % and 1 %, as most are people who answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigurationError

KINDS = ("media", "politicians", "others")
"""What an entity can be, as in ``Mentions.kinds``."""

_KNOWN = 1_000
_SHARES = {True: (0.2, 0.5), False: (0.01, 0.02)}
"""Media and politicians among the entities: the most mentioned ones, and the rest."""


@dataclass(frozen=True, eq=False)
class Mentions:
    """Tweets in order.

    Attributes:
        entities: the entity that each tweet mentions.
        kinds: the kind of that entity, an index of ``KINDS``.
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
        count: tweets.
        entities: how many can be mentioned; in a short stream fewer are.
        top: share of the tweets that mention the most frequent entity, a politician.
        seed: everything random follows from it.
    """

    count: int = 500_000
    entities: int = 35_000
    top: float = 0.065
    seed: int = 1

    def __post_init__(self) -> None:
        if self.count < 0 or self.entities < 2 or not 1 / self.entities < self.top < 1:
            raise ConfigurationError(
                f"count={self.count}, entities={self.entities}, top={self.top}: there are two entities or more, and "
                "the most frequent has more than an even share, but not all, of the tweets"
            )

    @property
    def skew(self) -> float:
        """Exponent of the Zipf distribution in which the most frequent entity has its share.

        >>> round(Tweets().skew, 3)
        0.937
        """
        low, high = 0.0, 64.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _shares(self.entities, middle)[0] < self.top else (low, middle)
        return low

    def kinds(self) -> npt.NDArray[np.int64]:
        """The kind of every entity, from the most to the least frequent."""
        drawn = np.random.default_rng([self.seed, 1]).random(self.entities)
        known = np.arange(self.entities) < _KNOWN
        media, politicians = (np.where(known, a, b) for a, b in zip(_SHARES[True], _SHARES[False], strict=True))
        kinds = np.where(drawn < media, 0, np.where(drawn < media + politicians, 1, 2))
        kinds[0] = 1
        return kinds

    def mentions(self) -> Mentions:
        """The tweets."""
        rng = np.random.default_rng([self.seed, 0])
        shares = np.cumsum(_shares(self.entities, self.skew))
        entities = np.searchsorted(shares, rng.random(self.count)).clip(max=self.entities - 1)
        return Mentions(entities, self.kinds()[entities])


def _shares(entities: int, skew: float) -> npt.NDArray[np.float64]:
    weights: npt.NDArray[np.float64] = np.arange(1, entities + 1, dtype=np.float64) ** -skew
    shares: npt.NDArray[np.float64] = weights / weights.sum()
    return shares
