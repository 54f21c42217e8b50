"""Learns profiles: resource use as a function of load (ELYSIUM sections 3.2 and 4).

An operator's CPU profile maps the rows per second into a slot to the cycles per second that the slot uses. A node's
overhead profile maps the cycles per second of all its slots to those of the node. In the paper both are networks with
one input, three hidden neurons and one output; a straight line is enough for tests and for few readings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.profiles.networks import MIN_ROWS, Network, train
from rheostat.elastic.elysium.profiles.samples import Uses
from rheostat.errors import ConfigurationError

Profile = Callable[[Floats], Floats]
"""Maps an array of loads to an array of uses, none below 0."""

HIDDEN = 3
"""Neurons of the hidden layer (section 5.1)."""

TRAINED = 0.7
"""Share of the readings that train a network; the others test it (section 5.1)."""


@dataclass(frozen=True)
class Line:
    """A straight line, cut off at 0.

    Attributes:
        base: use without load.
        slope: additional use per unit of load.

    >>> Line(base=1.0, slope=0.5)(np.array([0.0, 4.0]))
    array([1., 3.])
    """

    base: float
    slope: float

    def __call__(self, given: Floats) -> Floats:
        """Return the use at each load."""
        return np.maximum(self.base + self.slope * np.asarray(given, dtype=np.float64), 0.0)

    @classmethod
    def fitted(cls, uses: Uses) -> Line:
        """Fit a line by least squares.

        >>> Line.fitted(Uses.of([0, 1, 2], [1, 3, 5]))
        Line(base=1.0, slope=2.0)
        """
        if len(uses) < 2 or np.ptp(uses.given) == 0:
            raise ConfigurationError("a line needs readings at two different rates: record metrics for longer")
        slope, base = np.polyfit(uses.given, uses.used, 1)
        return cls(round(float(base), 12), round(float(slope), 12))


@dataclass(frozen=True, eq=False)
class LearnedProfile:
    """A profile learned by a network.

    Attributes:
        network: the trained network.
        highest: highest load of any reading.
        beyond: True to continue with the last slope above ``highest``. False as in the paper: the network flattens out,
            so it underestimates the use at loads that were never recorded.
        error: mean relative error on the readings that did not train the network.

    >>> rates = np.linspace(0, 100, 40)
    >>> for beyond in (False, True):
    ...     profile = learned(Uses.of(rates, 2 * rates), seed=1, folds=2, beyond=beyond)
    ...     print(bool(profile(np.array([1000.0]))[0] > 1500))  # far above what was recorded; 2000 is true
    False
    True
    """

    network: Network
    highest: float
    beyond: bool
    error: float

    def __call__(self, given: Floats) -> Floats:
        """Return the use at each load."""
        load = np.asarray(given, dtype=np.float64)
        if not self.beyond:
            return np.maximum(self._evaluate(load), 0.0)
        top = self._evaluate(np.array([0.9 * self.highest, self.highest]))
        slope = (top[1] - top[0]) / (0.1 * self.highest) if self.highest > 0 else 0.0
        inside = self._evaluate(np.minimum(load, self.highest))
        return np.maximum(inside + slope * np.maximum(load - self.highest, 0.0), 0.0)

    def _evaluate(self, load: Floats) -> Floats:
        used: Floats = self.network(load.reshape(-1, 1)).reshape(load.shape)
        return used


def learned(uses: Uses, seed: int, folds: int = 10, beyond: bool = False) -> LearnedProfile:
    """Learn a profile with the paper's network, trained on 70 % of the readings and tested on the others.

    Args:
        uses: the readings.
        seed: seed of the split and of the training.
        folds: number of folds of the cross-validation.
        beyond: True to continue with the last slope above the highest load of any reading.

    >>> rates = np.linspace(0, 100, 60)
    >>> profile = learned(Uses.of(rates, 5 + 2 * rates), seed=1)
    >>> bool(abs(profile(np.array([50.0]))[0] - 105) < 1), profile.error < 0.01
    (True, True)
    """
    order = np.random.default_rng(seed).permutation(len(uses))
    cut = max(int(TRAINED * len(order)), min(len(order), MIN_ROWS))
    given, used = uses.given[order, None], uses.used[order, None]
    network = train(given[:cut], used[:cut], HIDDEN, seed, folds)
    tested = slice(cut, None) if cut < len(order) else slice(None)
    error = relative_error(network(given[tested])[:, 0], used[tested, 0])
    return LearnedProfile(network, float(uses.given.max()), beyond, error)


def per_row(uses: Uses) -> float:
    """Return the mean bytes per row, from readings of bytes per second by rows per second.

    >>> per_row(Uses.of([10, 30], [1000, 3000]))
    100.0
    """
    if not len(uses) or uses.given.sum() <= 0:
        raise ConfigurationError("no rows were received, so their size is unknown: record metrics for longer")
    return float(uses.used.sum() / uses.given.sum())


def relative_error(estimated: Floats, real: Floats) -> float:
    """Return the mean of |estimated - real| / real over the readings above 0; 0 if there are none.

    >>> relative_error(np.array([1.1, 2.0, 5.0]), np.array([1.0, 2.0, 0.0]))
    0.05...
    """
    some = real > 0
    return float(np.mean(np.abs(estimated[some] - real[some]) / real[some])) if some.any() else 0.0
