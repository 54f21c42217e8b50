"""A profile: what something uses, as a function of what it is given (ELYSIUM sections 3.2 and 4).

An operator's CPU profile maps the rows per second of a slot to the cycles per second that it needs. A node's overhead
profile maps what all its slots use to what the node uses. Both are networks with one input, three hidden neurons and
one output in the paper; a straight line is there for tests and for few readings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.profiles.networks import Network, train
from rheostat.elastic.elysium.profiles.samples import Uses
from rheostat.errors import ConfigurationError

Profile = Callable[[Floats], Floats]
"""Vectorised: a use for every value given, never below 0."""

HIDDEN = 3
"""Neurons of the hidden layer (section 5.1)."""

TRAINED = 0.7
"""Share of the readings that a network is trained with; the others test it (section 5.1)."""


@dataclass(frozen=True)
class Line:
    """A straight line: ``base`` at rest, ``slope`` more for every unit given.

    Attributes:
        base: use at rest.
        slope: more for every unit given.

    >>> Line(base=1.0, slope=0.5)(np.array([0.0, 4.0]))
    array([1., 3.])
    """

    base: float
    slope: float

    def __call__(self, given: Floats) -> Floats:
        """What is used."""
        return np.maximum(self.base + self.slope * np.asarray(given, dtype=np.float64), 0.0)

    @classmethod
    def fitted(cls, uses: Uses) -> Line:
        """By least squares.

        >>> Line.fitted(Uses.of([0, 1, 2], [1, 3, 5]))
        Line(base=1.0, slope=2.0)
        """
        if len(uses) < 2 or np.ptp(uses.given) == 0:
            raise ConfigurationError("a line needs readings at two different rates at least: record metrics for longer")
        slope, base = np.polyfit(uses.given, uses.used, 1)
        return cls(round(float(base), 12), round(float(slope), 12))


@dataclass(frozen=True, eq=False)
class LearnedProfile:
    """A profile that a network learned.

    Attributes:
        network: that was trained.
        highest: the most that was given in any reading.
        beyond: above ``highest`` the profile goes on along its last slope. The paper's does not: a network flattens
            out, and then takes a slot for able to do what none has been seen to do.
        error: mean error on the readings it was not trained with, relative to what was used.
    """

    network: Network
    highest: float
    beyond: bool
    error: float

    def __call__(self, given: Floats) -> Floats:
        """What is used."""
        asked = np.asarray(given, dtype=np.float64)
        if not self.beyond:
            return np.maximum(self._of(asked), 0.0)
        top = self._of(np.array([0.9 * self.highest, self.highest]))
        slope = (top[1] - top[0]) / (0.1 * self.highest) if self.highest > 0 else 0.0
        inside = self._of(np.minimum(asked, self.highest))
        return np.maximum(inside + slope * np.maximum(asked - self.highest, 0.0), 0.0)

    def _of(self, given: Floats) -> Floats:
        found: Floats = self.network(given.reshape(-1, 1)).reshape(given.shape)
        return found


def learned(uses: Uses, seed: int, folds: int = 10, beyond: bool = False) -> LearnedProfile:
    """A profile with the paper's network, trained on 70 % of the readings, tested on the others.

    >>> rates = np.linspace(0, 100, 60)
    >>> profile = learned(Uses.of(rates, 5 + 2 * rates), seed=1)
    >>> bool(abs(profile(np.array([50.0]))[0] - 105) < 1), profile.error < 0.01
    (True, True)
    """
    order = np.random.default_rng(seed).permutation(len(uses))
    cut = max(int(TRAINED * len(order)), min(len(order), 4))
    given, used = uses.given[order, None], uses.used[order, None]
    network = train(given[:cut], used[:cut], HIDDEN, seed, folds)
    held = slice(cut, None) if cut < len(order) else slice(None)
    error = relative_error(network(given[held])[:, 0], used[held, 0])
    return LearnedProfile(network, float(uses.given.max()), beyond, error)


def per_row(uses: Uses) -> float:
    """Bytes per row: all that slots received, relative to the rows.

    >>> per_row(Uses.of([10, 30], [1000, 3000]))
    100.0
    """
    if not len(uses) or uses.given.sum() <= 0:
        raise ConfigurationError("the size of rows is not known before some were received: record metrics for longer")
    return float(uses.used.sum() / uses.given.sum())


def relative_error(estimated: Floats, real: Floats) -> float:
    """Mean of |estimated - real| / real; readings of nothing are left out.

    >>> relative_error(np.array([1.1, 2.0, 5.0]), np.array([1.0, 2.0, 0.0]))
    0.05...
    """
    some = real > 0
    return float(np.mean(np.abs(estimated[some] - real[some]) / real[some])) if some.any() else 0.0
