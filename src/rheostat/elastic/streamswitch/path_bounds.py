"""One end-to-end latency bound for a path of operators, as a bound for each of them (StreamSwitch section 6.6).

An operator succeeds more often the looser its bound, and the path does best when its worst operator does. So the bound
is divided such that all succeed equally often. There are two ways: ``split_bound`` divides it at once, from latencies
that were measured; ``adjusted`` shifts it a little, from success rates under the bounds in force, since bounds also
change what operators do. ``PathBounds`` is what the policy remembers between two such shifts; the paper proposes them
without saying how fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.errors import TopologyError

SMALLEST_SHARE = 0.05
"""Of an equal share of the bound: what every operator keeps, for success that is never lost cannot be measured."""

GAIN = 5.0
"""How fast bounds follow success: a rate that is 1 % below the mean makes a bound 5 % longer."""


@dataclass(frozen=True)
class BoundSplit:
    """Bounds by operator, which add up to the end-to-end bound.

    Attributes:
        bounds: seconds by operator.
        success: share of the measured latencies within the bound, by operator.
        feasible: False if some operator would never succeed.
    """

    bounds: Mapping[str, float]
    success: Mapping[str, float]
    feasible: bool

    @property
    def worst(self) -> float:
        """The lowest success rate: what the split makes as high as it can be."""
        return min(self.success.values())


def split_bound(total: float, latencies: Mapping[str, Sequence[float]]) -> BoundSplit:
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
        return BoundSplit(dict.fromkeys(names, total / len(names)), dict.fromkeys(names, 1.0), True)
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
    return BoundSplit(named, dict(zip(names, success, strict=True)), low > 0)


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


@dataclass(frozen=True)
class PathBounds:
    """Bounds of the operators on a path, which add up to the end-to-end bound.

    Attributes:
        bounds: seconds by operator.
        kept: readings of shards that were within their bound since the bounds last changed.
        read: all readings of shards since then.
        since: when the bounds last changed.
    """

    bounds: Mapping[str, float]
    kept: Mapping[str, float]
    read: Mapping[str, float]
    since: float = float("-inf")

    @classmethod
    def equal(cls, total: float, operators: Sequence[str]) -> PathBounds:
        """As much for every operator."""
        zeros = dict.fromkeys(operators, 0.0)
        return cls(dict.fromkeys(operators, total / max(len(operators), 1)), zeros, zeros)

    def after(self, time: float, seen: Mapping[str, Readings], every: float) -> PathBounds:
        """After one more interval; bounds change once so many seconds have passed.

        Shards without rows say nothing, and neither do readings that cannot be trusted.

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
