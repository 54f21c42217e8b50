"""Word count: sentences that arrive at Split, and how their words fall to the shards of Count.

StreamSwitch (section 6.6) gives 15 thousand sentences a second, 25 % more and less within 5 minutes, and limits the
operators so that 10 Split and 20 Count slots are needed. It prints nothing about sentences. Ten words of a vocabulary
of 10,000 are ours, and so is the skew: with the 1.0 of natural language, the first word alone would be 10 % of
all, twice what a slot of Count can take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.workloads.cells import Eras
from rheostat.workloads.draws import hash_shards, not_negative, positive, summed, whole, zipf
from rheostat.workloads.sinusoid import Sine

SENTENCES = 15_000.0
AMPLITUDE = 0.25 * SENTENCES
PERIOD = 300.0
SPLIT_SLOTS = 10
COUNT_SLOTS = 20


@dataclass(frozen=True, eq=False)
class WordCount(Sine, Eras):
    """Sentences that arrive at Split, evenly over its shards.

    Attributes:
        base: sentences per second, on average.
        amplitude: how far the rate goes from that.
        period: seconds from one peak to the next.
        shards: of Split.
        words: in a sentence.
        vocabulary: different words.
        skew: exponent of the Zipf distribution of words.
        seconds: how long it lasts; infinite by default.
        scale: multiplies all rates.
        poisson: sentences arrive at random moments; if not, at equal distances.
        seed: everything random follows from it.

    >>> sentences = WordCount()
    >>> round(float(sentences.rates(74.9, 75.1).sum()))
    18750
    >>> sentences.count_weights(64).shape
    (64,)
    """

    base: float = SENTENCES
    amplitude: float = AMPLITUDE
    period: float = PERIOD
    shards: int = 64
    words: float = 10.0
    vocabulary: int = 10_000
    skew: float = 0.5
    seconds: float = math.inf
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1

    def __post_init__(self) -> None:
        positive(words=self.words)
        not_negative(skew=self.skew)
        whole(1, vocabulary=self.vocabulary)
        self._check()

    def count_weights(self, shards: int) -> Floats:
        """Every shard's share of the words, for an operator that is partitioned by word.

        >>> round(float(WordCount().count_weights(64).sum()), 9)
        1.0
        """
        whole(1, shards=shards)
        words = hash_shards(np.arange(self.vocabulary), shards)
        return summed(words, zipf(self.vocabulary, self.skew), shards)

    def _weights(self, _era: int) -> Floats:
        return zipf(self.shards, 0.0)
