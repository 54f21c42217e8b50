"""Generated tweets have the properties that the paper gives for the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from papers.posg.testbed.mentions import KINDS, Tweets
from rheostat.errors import ConfigurationError


def test_the_stream_is_like_the_paper_s() -> None:
    mentions = Tweets().mentions()
    counts = np.bincount(mentions.entities)
    assert len(mentions.entities) == 500_000
    assert (counts > 0).sum() == pytest.approx(35_000, rel=0.1)
    assert counts.max() / 500_000 == pytest.approx(0.065, rel=0.03)
    assert mentions.kinds[mentions.entities == counts.argmax()].tolist() == [1] * int(counts.max())
    shares = np.bincount(mentions.kinds) / 500_000
    assert len(shares) == len(KINDS)
    assert (shares > 0.05).all()


def test_an_entity_is_always_of_the_same_kind() -> None:
    tweets = Tweets(count=5_000)
    mentions = tweets.mentions()
    assert (tweets.kinds()[mentions.entities] == mentions.kinds).all()
    longer = Tweets(count=6_000).mentions()
    assert (longer.entities[:5_000] == mentions.entities).all()
    assert (longer.kinds[:5_000] == mentions.kinds).all()


def test_seeds_differ_and_repeat() -> None:
    first, again, other = (Tweets(count=1_000, seed=seed).mentions() for seed in (1, 1, 2))
    assert (first.entities == again.entities).all()
    assert (first.entities != other.entities).any()


@pytest.mark.parametrize("top", [0.01, 0.065, 0.5, 0.9])
def test_the_most_frequent_entity_has_its_share(top: float) -> None:
    tweets = Tweets(entities=1_000, top=top)
    weights = np.arange(1.0, 1_001.0) ** -tweets.skew
    assert weights[0] / weights.sum() == pytest.approx(top)


@pytest.mark.parametrize("options", [{"count": -1}, {"entities": 1}, {"top": 1.0}, {"entities": 10, "top": 0.05}])
def test_invalid_arguments_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="entities"):
        Tweets(**options)  # type: ignore[arg-type]
