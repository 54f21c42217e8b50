"""Word count: the sentences that arrive at the operator Split, and how their words spread over the shards of Count.

StreamSwitch (section 6.6) uses 15,000 sentences per second, plus and minus 25 % with a period of 5 minutes, and limits
the operators so that they need 10 slots of Split and 20 of Count. It does not describe the sentences. Our choices are
10 words per sentence, a vocabulary of 10,000 words, and the skew: with the 1.0 of natural language, the most frequent
word alone would be 10 % of all words, twice the capacity of a slot of Count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.workloads.cells import Eras
from rheostat.workloads.draws import check_not_negative, check_positive, check_whole, hash_shards, sum_by_index, zipf
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
        base: mean sentences per second.
        amplitude: largest difference from ``base`` in sentences per second, at most ``base``.
        period: seconds from one peak to the next.
        shards: number of shards of Split.
        words: words per sentence.
        vocabulary: number of distinct words.
        skew: exponent of the Zipf distribution of words; 0 is uniform.
        seconds: length of the workload; infinite by default.
        scale: multiplies all rates.
        poisson: True if sentences arrive at random times, False if at equal distances.
        seed: seed of all random numbers.

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
        check_positive(words=self.words)
        check_not_negative(skew=self.skew)
        check_whole(1, vocabulary=self.vocabulary)
        self._check()

    def count_weights(self, shards: int) -> Floats:
        """Return each shard's share of the words, for an operator partitioned by word.

        >>> round(float(WordCount().count_weights(64).sum()), 9)
        1.0
        """
        check_whole(1, shards=shards)
        words = hash_shards(np.arange(self.vocabulary), shards)
        return sum_by_index(words, zipf(self.vocabulary, self.skew), shards)

    def _weights(self, _era: int) -> Floats:
        return zipf(self.shards, 0.0)
