"""The promise that a query keeps: a bound on the mean latency over a sliding window."""

from __future__ import annotations

from dataclasses import dataclass, field

from rheostat.durations import Duration, micros
from rheostat.errors import ConfigurationError, TopologyError


@dataclass(frozen=True)
class Latency:
    """A promise about latency: over any window, the mean from arrival to commit stays within a bound.

    This is the latency constraint (L, T) of StreamSwitch section 2. Pass it to ``start(slo=...)``.

    Attributes:
        bound: the largest mean latency, as in ``"1 second"``: the paper's L.
        over: length of the sliding window: the paper's T.
        seconds: the bound in seconds.
        window: the length of the window in seconds.

    >>> promise = Latency("500 ms", over="2 seconds")
    >>> promise.seconds, promise.window, str(promise)
    (0.5, 2.0, 'mean latency within 0.5 s over 2 s')
    """

    bound: Duration
    over: Duration = "1 second"
    seconds: float = field(init=False, compare=False)
    window: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        for name, value, attribute in (("bound", self.bound, "seconds"), ("over", self.over, "window")):
            try:
                length = micros(value) / 1e6
            except TopologyError as error:
                raise ConfigurationError(f"Latency: {name}: {error}") from error
            if not length > 0:
                raise ConfigurationError(f"Latency: {name}={value!r} must be longer than 0")
            object.__setattr__(self, attribute, length)

    def __str__(self) -> str:
        return f"mean latency within {self.seconds:g} s over {self.window:g} s"
