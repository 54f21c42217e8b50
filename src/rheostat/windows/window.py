"""Time windows: what a user asks for, as exact integer arithmetic on microseconds (Enorm section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheostat.durations import Duration, label, micros
from rheostat.errors import TopologyError


@dataclass(frozen=True, order=True)
class Window:
    """All intervals ``[start, start + size)`` whose start is ``offset`` plus a multiple of ``slide``.

    ``slide == size`` tumbles, ``slide < size`` overlaps, ``slide > size`` hops over gaps. All three are in
    microseconds; times are microseconds since 1970-01-01 UTC.

    >>> hour = Window(size=60, slide=20)
    >>> list(hour.containing(65))
    [20, 40, 60]
    >>> hour.latest_start(65), hour.earliest_start(65)
    (60, 20)
    """

    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        if self.size <= 0 or self.slide <= 0:
            raise TopologyError(f"a window needs a positive size and slide, not {self.size} and {self.slide} us")
        object.__setattr__(self, "offset", self.offset % self.slide)  # a whole slide later is the same window

    @property
    def label(self) -> str:
        """How the window appears in results and plans.

        >>> Window(micros("1 hour"), micros("5 minutes")).label
        '1 hour every 5 minutes'
        """
        text = label(self.size)
        if self.slide != self.size:
            text += f" every {label(self.slide)}"
        if self.offset:
            text += f" from {label(self.offset)}"
        return text

    @property
    def overlap(self) -> float:
        """The number of instances that contain a row, on average."""
        return self.size / self.slide

    @property
    def has_gaps(self) -> bool:
        """True if some times lie between instances, in none of them."""
        return self.slide > self.size

    def covers(self, time: int) -> bool:
        """True if some instance contains ``time``; False in the gaps of a window that hops.

        >>> [Window(size=1, slide=5).covers(t) for t in (0, 3)]
        [True, False]
        """
        return time < self.latest_start(time) + self.size

    def latest_start(self, time: int) -> int:
        """Start of the last instance that begins at or before ``time``."""
        return time - (time - self.offset) % self.slide

    def earliest_start(self, time: int) -> int:
        """Start of the first instance that ends after ``time``; later than ``time`` if it falls into a gap."""
        return self.latest_start(time - self.size) + self.slide

    def containing(self, time: int) -> Iterator[int]:
        """Starts of the instances that contain ``time``."""
        return iter(range(self.earliest_start(time), self.latest_start(time) + 1, self.slide))

    def closing(self, before: int, after: int) -> range:
        """Starts of the instances whose end lies in ``(before, after]``: those a watermark closes on its way.

        >>> list(Window(size=60, slide=20).closing(before=60, after=110))
        [20, 40]
        """
        first = self.latest_start(before - self.size) + self.slide
        last = self.latest_start(after - self.size)
        return range(first, last + 1, self.slide)


def tumbling(*sizes: Duration, offset: Duration = "0 seconds") -> tuple[Window, ...]:
    """Windows that follow each other without overlap, one kind per size.

    >>> [w.label for w in tumbling("10 minutes", "1 hour")]
    ['10 minutes', '1 hour']
    """
    if not sizes:
        raise TopologyError("tumbling() needs at least one size, as in tumbling('10 minutes')")
    return tuple(Window(micros(s), micros(s), micros(offset)) for s in sizes)


def hopping(size: Duration, every: Duration, offset: Duration = "0 seconds") -> tuple[Window, ...]:
    """Windows of one size that start every so often; ``every`` may exceed ``size``, leaving gaps.

    >>> hopping("1 minute", every="5 minutes")[0].label
    '1 minute every 5 minutes'
    """
    return (Window(micros(size), micros(every), micros(offset)),)


def sliding(size: Duration, slide: Duration, offset: Duration = "0 seconds") -> tuple[Window, ...]:
    """Overlapping windows: like ``hopping``, but ``slide`` must not exceed ``size``.

    >>> sliding("1 hour", slide="1 minute")[0].overlap
    60.0
    """
    if micros(slide) > micros(size):
        raise TopologyError(
            f"sliding({size!r}, slide={slide!r}) would skip rows between windows; use hopping() if you mean that"
        )
    return hopping(size, slide, offset)
