"""Time windows: what a user asks for, as exact integer arithmetic on microseconds (Enorm section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheostat.durations import Duration, label, micros
from rheostat.errors import TopologyError


@dataclass(frozen=True, order=True)
class Window:
    """All intervals ``[start, start + size)`` whose start is ``offset`` plus a multiple of ``slide``.

    Users make windows with ``tumbling`` and ``sliding``, which take durations as text. Times are microseconds since
    1970-01-01 00:00 UTC.

    Attributes:
        size: length of a window, in microseconds.
        slide: distance between the starts of two windows, in microseconds; ``every`` of ``sliding``.
        offset: start of the first window after 1970-01-01 00:00 UTC, in microseconds.

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
        """How many instances contain a row, on average.

        >>> Window(size=60, slide=20).overlap
        3.0
        """
        return self.size / self.slide

    @property
    def has_gaps(self) -> bool:
        """True if some times lie between instances, in none of them.

        >>> Window(size=20, slide=60).has_gaps
        True
        """
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

    Args:
        sizes: how long the windows are; several sizes give several kinds of window.
        offset: how long after a multiple of the size, counted from 1970-01-01 00:00 UTC, a window starts.

    >>> [w.label for w in tumbling("10 minutes", "1 hour")]
    ['10 minutes', '1 hour']
    >>> tumbling("1 day", offset="6 hours")[0].label
    '1 day from 6 hours'
    """
    if not sizes:
        raise TopologyError("tumbling() needs at least one size, as in tumbling('10 minutes')")
    return tuple(Window(micros(s), micros(s), micros(offset)) for s in sizes)


def sliding(size: Duration, *, every: Duration, offset: Duration = "0 seconds") -> tuple[Window, ...]:
    """Windows of one size that start every so often.

    Args:
        size: how long a window is.
        every: how far apart their starts are. Windows overlap if it is less than ``size``; if it is more, rows that
            fall into the gaps belong to no window.
        offset: how long after a multiple of ``every``, counted from 1970-01-01 00:00 UTC, a window starts.

    >>> sliding("1 hour", every="1 minute")[0].overlap
    60.0
    >>> sliding("1 minute", every="5 minutes")[0].label
    '1 minute every 5 minutes'
    """
    return (Window(micros(size), micros(every), micros(offset)),)
