"""An end-to-end bound that is divided anew at intervals, by how often each operator on the path succeeds.

StreamSwitch bounds operators one by one. For a path of operators, section 6.6 proposes to measure how often each keeps
its bound, and to shift the bounds until all do so equally often, without saying how fast. ``bounds.adjusted`` is one
such shift; here is what is remembered between two of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheostat.elastic.streamswitch.bound_split import adjusted
from rheostat.elastic.streamswitch.readings import Readings

GAIN = 5.0
"""How fast bounds follow success: a rate that is 1 % below the mean makes a bound 5 % longer."""


@dataclass(frozen=True)
class PathBounds:
    """Bounds of the operators on a path, which add up to the end-to-end bound.

    Attributes:
        bounds: seconds by operator.
        kept: readings of shards that were within their bound since the bounds last changed; ``read``, all of them.
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
