"""One end-to-end latency bound as a bound for each operator on the path (StreamSwitch section 6.6).

An operator succeeds more often the looser its bound, and the path does best when its worst operator does. So the bound
is divided such that all succeed equally often. Two ways: at once, from latencies that were measured; or step by step,
from success rates under the bounds in force, since bounds also change what operators do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import TopologyError

SMALLEST_SHARE = 0.05
"""Of an equal share of the bound: what every operator keeps, for success that is never lost cannot be measured."""


@dataclass(frozen=True)
class Split:
    """Bounds by operator, which add up to the end-to-end bound.

    Attributes:
        success: share of the measured latencies within the bound, by operator.
        feasible: false if some operator would never succeed.
    """

    bounds: Mapping[str, float]
    success: Mapping[str, float]
    feasible: bool

    @property
    def worst(self) -> float:
        """The lowest success rate: what the split makes as high as it can be."""
        return min(self.success.values())


def split_bound(total: float, latencies: Mapping[str, Sequence[float]]) -> Split:
    """The split under which the worst success rate is highest, by the latencies that operators had.

    For any success rate, each operator needs its quantile of latencies; the highest rate whose quantiles fit into the
    bound is the best. What is left over goes to all in proportion.

    Args:
        latencies: mean latencies of windows, by operator; what is not a time is left out.

    >>> found = split_bound(2.0, {"split": [0.4, 0.6, 1.0, 1.2], "count": [0.2, 0.3, 0.6, 0.9]})
    >>> {name: round(bound, 3) for name, bound in found.bounds.items()}, found.worst
    ({'split': 1.25, 'count': 0.75}, 0.75)
    """
    names, samples = _checked(total, latencies)
    known = [s for s in samples if len(s)]
    if not known:
        return Split(dict.fromkeys(names, total / len(names)), dict.fromkeys(names, 1.0), True)
    # An operator of which nothing is known is taken to be like the others together.
    samples = [s if len(s) else np.sort(np.concatenate(known)) for s in samples]
    rates = np.unique(np.concatenate([np.arange(1, len(s) + 1) / len(s) for s in samples]))
    low, high = 0, len(rates)
    while low < high:
        middle = (low + high) // 2
        fits = _needed(samples, rates[middle]).sum() <= total
        low, high = (middle + 1, high) if fits else (low, middle)
    needed = _needed(samples, rates[max(low - 1, 0)])
    shares = _kept(needed / needed.sum() if needed.sum() > 0 else np.full(len(names), 1 / len(names)))
    # The floor on shares is for operators that need next to nothing; where it would cost success, it gives way.
    bounds = total * shares if (total * shares >= needed).all() or low == 0 else needed * (total / needed.sum())
    # A sum that rounding makes a little too small for a quantile must not lose it.
    bounds = np.where(np.isclose(bounds, needed, rtol=1e-12, atol=0.0), needed, bounds)
    success = [float((s <= b).mean()) for s, b in zip(samples, bounds, strict=True)]
    named = dict(zip(names, bounds.tolist(), strict=True))
    return Split(named, dict(zip(names, success, strict=True)), low > 0)


def adjusted(bounds: Mapping[str, float], success: Mapping[str, float], gain: float = 0.5) -> dict[str, float]:
    """The next bounds, after success rates were measured under these: a little from those above the mean to the others.

    The sum stays. Operators without a measured rate, or with one that is not between 0 and 1, count as the mean.

    Args:
        gain: how fast: with 1, a rate of 0.1 above the mean costs about a tenth of a bound.

    >>> adjusted({"split": 1.0, "count": 1.0}, {"split": 0.8, "count": 1.0}, gain=1.0)["split"]
    1.0996...
    """
    names, now = list(bounds), np.array(list(bounds.values()), dtype=np.float64)
    if not names or not (np.isfinite(now) & (now > 0)).all() or not 0 < gain < np.inf:
        raise TopologyError(f"bounds={dict(bounds)}, gain={gain}: bounds and gain are numbers above 0")
    rates = np.array([success.get(name, np.nan) for name in names], dtype=np.float64)
    known = (rates >= 0) & (rates <= 1)
    if not known.any():
        return dict(bounds)
    away = np.where(known, rates - rates[known].mean(), 0.0)
    grown = now * np.exp(-gain * away)
    return dict(zip(names, (now.sum() * _kept(grown / grown.sum())).tolist(), strict=True))


def _checked(total: float, latencies: Mapping[str, Sequence[float]]) -> tuple[list[str], list[Floats]]:
    if not latencies or not 0 < total < np.inf:
        raise TopologyError(f"a bound of {total} s for {len(latencies)} operators: there is at least one, and a bound")
    arrays = [np.asarray(values, dtype=np.float64).ravel() for values in latencies.values()]
    return list(latencies), [np.sort(a[np.isfinite(a) & (a >= 0)]) for a in arrays]


def _needed(samples: Sequence[Floats], rate: float) -> Floats:
    """The bound that each operator needs to succeed at a rate: its quantile."""
    # A trillionth less, for k/n of one operator may be rounded to a little above the same share of another.
    return np.array([s[max(int(np.ceil(rate * len(s) * (1 - 1e-12))) - 1, 0)] for s in samples])


def _kept(shares: Floats) -> Floats:
    """Shares with a smallest one, the rest in proportion."""
    least = SMALLEST_SHARE / len(shares)
    low = np.zeros(len(shares), dtype=bool)
    while (more := (shares < least) & ~low).any():
        low |= more
        rest = shares[~low].sum()
        scaled = shares * ((1 - least * low.sum()) / rest) if rest > 0 else shares
        shares = np.where(low, least, scaled)
    return shares
