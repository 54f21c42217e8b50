"""Time windows, in exact integer arithmetic on microseconds (Enorm section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheostat.durations import Duration, label, micros
from rheostat.errors import TopologyError


@dataclass(frozen=True, order=True)
class Window:
    """All intervals ``[start, start + size)`` whose start is ``offset`` plus a multiple of ``slide``.

    Each of these intervals is an *instance* of the window. Users make windows with ``tumbling`` and ``sliding``, which
    take durations as text. Times are in microseconds since 1970-01-01 00:00 UTC.

    Attributes:
        size: length of an instance, in microseconds.
        slide: distance between the starts of two instances, in microseconds; ``every`` in ``sliding``.
        offset: start of the first instance at or after 1970-01-01 00:00 UTC, in microseconds.

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
        # Offsets that differ by a whole slide give the same instances.
        object.__setattr__(self, "offset", self.offset % self.slide)

    @property
    def label(self) -> str:
        """The name of the window in results and plans.

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
        """The mean number of instances that contain a row.

        >>> Window(size=60, slide=20).overlap
        3.0
        """
        return self.size / self.slide

    @property
    def has_gaps(self) -> bool:
        """True if there are times that no instance contains.

        >>> Window(size=20, slide=60).has_gaps
        True
        """
        return self.slide > self.size

    def covers(self, time: int) -> bool:
        """True if some instance contains ``time``; False if it falls into a gap.

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
        """Starts of the instances that end in ``(before, after]``: those closed as the watermark moves that far.

        >>> list(Window(size=60, slide=20).closing(before=60, after=110))
        [20, 40]
        """
        first = self.latest_start(before - self.size) + self.slide
        last = self.latest_start(after - self.size)
        return range(first, last + 1, self.slide)


def tumbling(*sizes: Duration, offset: Duration = "0 seconds") -> tuple[Window, ...]:
    """Windows that follow each other without overlap, one kind per size.

    Args:
        sizes: the lengths of the windows.
        offset: shifts the starts of windows, which are otherwise multiples of the size since 1970-01-01 00:00 UTC.

    >>> [w.label for w in tumbling("10 minutes", "1 hour")]
    ['10 minutes', '1 hour']
    >>> tumbling("1 day", offset="6 hours")[0].label
    '1 day from 6 hours'
    """
    if not sizes:
        raise TopologyError("tumbling() needs at least one size, as in tumbling('10 minutes')")
    return tuple(Window(micros(s), micros(s), micros(offset)) for s in sizes)


def sliding(size: Duration, *, every: Duration, offset: Duration = "0 seconds") -> tuple[Window, ...]:
    """Windows of one size that start at regular intervals.

    Args:
        size: the length of a window.
        every: the time between the starts of two windows. Windows overlap if it is less than ``size``; if it is more,
            rows that fall into the gaps belong to no window.
        offset: shifts the starts of windows, which are otherwise multiples of ``every`` since 1970-01-01 00:00 UTC.

    >>> sliding("1 hour", every="1 minute")[0].overlap
    60.0
    >>> sliding("1 minute", every="5 minutes")[0].label
    '1 minute every 5 minutes'
    """
    return (Window(micros(size), micros(every), micros(offset)),)
