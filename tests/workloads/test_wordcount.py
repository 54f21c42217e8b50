"""Sentences swing by a quarter, and Count's shards get the words that hash to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import hash_shards
from rheostat.workloads.wordcount import COUNT_SLOTS, SPLIT_SLOTS, WordCount


def test_defaults_are_the_papers() -> None:
    sentences = WordCount()
    assert sentences.rates(0, 300).sum() == pytest.approx(15_000)
    peak, trough = (sentences.rates(t - 0.5, t + 0.5).sum() for t in (75, 225))
    assert peak == pytest.approx(15_000 * 1.25, rel=1e-3)
    assert trough == pytest.approx(15_000 * 0.75, rel=1e-3)
    assert (SPLIT_SLOTS, COUNT_SLOTS) == (10, 20)


def test_sentences_spread_evenly_over_split() -> None:
    sentences = WordCount(shards=8)
    assert sentences.rates(10, 20) == pytest.approx(np.full(8, sentences.rates(10, 20).sum() / 8))
    counts = np.bincount(sentences.between(10, 20).shards, minlength=8)
    assert counts == pytest.approx(counts.mean(), rel=0.03)


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0])
def test_words_fall_to_the_shards_that_they_hash_to(skew: float) -> None:
    sentences = WordCount(vocabulary=30, skew=skew)
    by_hand = [0.0] * 4
    for rank in range(1, 31):
        by_hand[int(hash_shards(rank - 1, 4)[0])] += rank**-skew
    assert sentences.count_weights(4) == pytest.approx(np.array(by_hand) / sum(by_hand))


def test_no_shard_of_count_is_too_heavy_for_a_slot() -> None:
    assert WordCount().count_weights(64).max() < 0.5 / COUNT_SLOTS
    assert WordCount(skew=1.0).count_weights(64).max() > 1 / COUNT_SLOTS  # which is why it is not the default


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: WordCount(base=-1), "base"),
        (lambda: WordCount(amplitude=20_000), "amplitude"),
        (lambda: WordCount(words=0), "words"),
        (lambda: WordCount(vocabulary=0), "vocabulary"),
        (lambda: WordCount(skew=-1), "skew"),
        (lambda: WordCount(shards=0), "shards"),
        (lambda: WordCount().count_weights(0), "shards"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}="):
        make()
