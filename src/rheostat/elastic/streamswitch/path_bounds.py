"""Divides an end-to-end latency bound between the operators of a path (StreamSwitch section 6.6).

An operator *succeeds* in a window if its mean latency is within its bound, and the path does best when its worst
operator does. So the bound is divided such that all operators succeed equally often. ``split_bound`` divides it at
once, from measured latencies. ``adjusted`` changes the bounds a little, from the success rates under the current ones,
because bounds also change what operators do. The paper proposes such adjustments without saying how fast.
``PathBounds`` is what the policy remembers between two of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.errors import ConfigurationError

SMALLEST_SHARE = 0.05
"""Smallest bound of an operator, as a share of an equal division of the end-to-end bound.

It keeps the bounds of operators that always succeed from shrinking towards 0.
"""

GAIN = 5.0
"""How fast bounds follow success rates: a rate 1 % below the mean makes a bound 5 % longer."""


@dataclass(frozen=True)
class BoundSplit:
    """An end-to-end bound divided by ``split_bound``.

    Attributes:
        bounds: bound of every operator in seconds; they add up to the end-to-end bound.
        success: share of the measured latencies within the bound, by operator.
        feasible: False if some operator would never succeed.
    """

    bounds: Mapping[str, float]
    success: Mapping[str, float]
    feasible: bool

    @property
    def worst(self) -> float:
        """The lowest success rate, which the split maximises."""
        return min(self.success.values())


def split_bound(total: float, latencies: Mapping[str, Sequence[float]]) -> BoundSplit:
    """Divide a bound such that the worst success rate is as high as possible, given measured latencies.

    To succeed at some rate, an operator needs that quantile of its latencies as its bound. The best rate is the highest
    one whose quantiles add up to at most the total. The rest of the total goes to all operators in proportion.

    Args:
        total: the end-to-end bound, in seconds.
        latencies: mean latencies of past windows, by operator; NaN, infinite and negative ones are ignored.

    >>> found = split_bound(2.0, {"split": [0.4, 0.6, 1.0, 1.2], "count": [0.2, 0.3, 0.6, 0.9]})
    >>> {name: round(bound, 3) for name, bound in found.bounds.items()}, found.worst
    ({'split': 1.25, 'count': 0.75}, 0.75)
    """
    names, samples = _valid_latencies(total, latencies)
    known = [s for s in samples if len(s)]
    if not known:
        return BoundSplit(dict.fromkeys(names, total / len(names)), dict.fromkeys(names, 1.0), True)
    # An operator without latencies is assumed to be like all others together.
    samples = [s if len(s) else np.sort(np.concatenate(known)) for s in samples]
    rates = np.unique(np.concatenate([np.arange(1, len(s) + 1) / len(s) for s in samples]))
    low, high = 0, len(rates)
    while low < high:
        middle = (low + high) // 2
        fits = _quantiles(samples, rates[middle]).sum() <= total
        low, high = (middle + 1, high) if fits else (low, middle)
    needed = _quantiles(samples, rates[max(low - 1, 0)])
    shares = _with_smallest_share(needed / needed.sum() if needed.sum() > 0 else np.full(len(names), 1 / len(names)))
    # The smallest share is for operators that need almost nothing. Where it would cost success, it does not apply.
    bounds = total * shares if (total * shares >= needed).all() or low == 0 else needed * (total / needed.sum())
    # A bound that rounding made slightly smaller than its quantile counts as the quantile.
    bounds = np.where(np.isclose(bounds, needed, rtol=1e-12, atol=0.0), needed, bounds)
    success = [float((s <= b).mean()) for s, b in zip(samples, bounds, strict=True)]
    named = dict(zip(names, bounds.tolist(), strict=True))
    return BoundSplit(named, dict(zip(names, success, strict=True)), low > 0)


def adjusted(bounds: Mapping[str, float], success: Mapping[str, float], gain: float = 0.5) -> dict[str, float]:
    """Return the next bounds: operators that succeed more often than the mean give a little to the others.

    The sum of the bounds stays the same.

    Args:
        bounds: current bound of every operator, in seconds.
        success: success rates under these bounds, by operator. A missing rate, or one that is not between 0 and 1,
            counts as the mean of the others.
        gain: how much bounds change: with 1, a rate of 0.1 above the mean costs about a tenth of the bound.

    >>> adjusted({"split": 1.0, "count": 1.0}, {"split": 0.8, "count": 1.0}, gain=1.0)["split"]
    1.0996...
    """
    names, now = list(bounds), np.array(list(bounds.values()), dtype=np.float64)
    if not names or not (np.isfinite(now) & (now > 0)).all() or not 0 < gain < np.inf:
        raise ConfigurationError(f"bounds={dict(bounds)}, gain={gain}: every bound and gain must be finite and above 0")
    rates = np.array([success.get(name, np.nan) for name in names], dtype=np.float64)
    known = (rates >= 0) & (rates <= 1)
    if not known.any():
        return dict(bounds)
    excess = np.where(known, rates - rates[known].mean(), 0.0)
    scaled = now * np.exp(-gain * excess)
    return dict(zip(names, (now.sum() * _with_smallest_share(scaled / scaled.sum())).tolist(), strict=True))


@dataclass(frozen=True)
class PathBounds:
    """The current bounds of the operators on a path, and how often they were kept.

    Attributes:
        bounds: bound of every operator in seconds; they add up to the end-to-end bound.
        kept: number of shard latencies within the bound since the bounds last changed, by operator.
        read: number of all shard latencies since the bounds last changed, by operator.
        since: when the bounds last changed, in seconds; minus infinity before the first observation.
    """

    bounds: Mapping[str, float]
    kept: Mapping[str, float]
    read: Mapping[str, float]
    since: float = float("-inf")

    @classmethod
    def equal(cls, total: float, operators: Sequence[str]) -> PathBounds:
        """Return bounds that are the same for every operator."""
        zeros = dict.fromkeys(operators, 0.0)
        return cls(dict.fromkeys(operators, total / max(len(operators), 1)), zeros, zeros)

    def after(self, time: float, seen: Mapping[str, Readings], every: float) -> PathBounds:
        """Return the bounds after one more interval.

        Shards without rows do not count, nor do readings that cannot be trusted.

        Args:
            time: end of the interval, in seconds.
            seen: readings by operator.
            every: seconds after which the bounds are adjusted.

        >>> late, fine = (Readings.of((0, 1), (9, 9), (99, 99), (0, 0), (seconds, 0.1)) for seconds in (1.5, 0.2))
        >>> path = PathBounds.equal(2.0, ("split", "count"))
        >>> for second in range(61):
        ...     path = path.after(float(second), {"split": late, "count": fine}, every=60.0)
        >>> {name: round(bound, 2) for name, bound in path.bounds.items()}
        {'split': 1.85, 'count': 0.15}
        """
        kept, read = dict(self.kept), dict(self.read)
        for name in self.bounds.keys() & seen.keys():
            latency = seen[name].shard_latency[(seen[name].arrival > 0) & ~np.isnan(seen[name].shard_latency)]
            if not seen[name].problem:
                kept[name] += float((latency <= self.bounds[name]).sum())
                read[name] += float(len(latency))
        if not np.isfinite(time):
            return self
        if not np.isfinite(self.since) or time < self.since:
            return replace(self, since=time)
        if time - self.since < every:
            return replace(self, kept=kept, read=read)
        rates = {name: kept[name] / read[name] for name in self.bounds if read[name] > 0}
        zeros = dict.fromkeys(self.bounds, 0.0)
        return PathBounds(adjusted(self.bounds, rates, GAIN), zeros, zeros, time)


def _valid_latencies(total: float, latencies: Mapping[str, Sequence[float]]) -> tuple[list[str], list[Floats]]:
    """Return the operators and the sorted valid latencies of each."""
    if not latencies or not 0 < total < np.inf:
        raise ConfigurationError(
            f"cannot divide a bound of {total} s between {len(latencies)} operators: "
            "pass a bound above 0 and at least one operator"
        )
    arrays = [np.asarray(values, dtype=np.float64).ravel() for values in latencies.values()]
    return list(latencies), [np.sort(a[np.isfinite(a) & (a >= 0)]) for a in arrays]


def _quantiles(samples: Sequence[Floats], rate: float) -> Floats:
    """Return the bound that each operator needs to succeed at a rate."""
    # Slightly less than the rate: rounding may make k/n of one operator larger than the same share of another.
    return np.array([s[max(int(np.ceil(rate * len(s) * (1 - 1e-12))) - 1, 0)] for s in samples])


def _with_smallest_share(shares: Floats) -> Floats:
    """Raise shares to the smallest one allowed, and scale the others so that the sum stays 1."""
    least = SMALLEST_SHARE / len(shares)
    low = np.zeros(len(shares), dtype=bool)
    while (more := (shares < least) & ~low).any():
        low |= more
        rest = shares[~low].sum()
        scaled = shares * ((1 - least * low.sum()) / rest) if rest > 0 else shares
        shares = np.where(low, least, scaled)
    return shares
