"""Shards that move in the middle of a stream, row by row exact (Enorm sections 4.5 and 5).

Places hold partials by shard, window and key. A row goes to the place that owns its shard's window at that moment. What
instant, smooth and disruptive migration do to owners, state and waiting rows is written out here, so that tests can
compare the windows that come out with those of a stream that nobody disturbed. Time is the number of rows that have
come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Ints
from rheostat.errors import TopologyError
from rheostat.planning.enorm.migration import Strategy
from rheostat.planning.enorm.splitting import Form
from rheostat.windows.panes import pane_of
from rheostat.windows.window import Window

_EVER = np.iinfo(np.int64).min
_PLACE, _SHARD, _WINDOW, _START, _KEY = range(5)


@dataclass(frozen=True)
class Rows:
    """A stream in the order of its arrival; event times may be out of order."""

    times: Ints
    keys: Ints
    values: Ints


@dataclass(frozen=True)
class Migration:
    """A shard that moves.

    Attributes:
        at: how many rows have come when it begins; ``until``, when a disruptive one ends.
    """

    strategy: Strategy
    shard: int
    target: int
    at: int
    until: int = 0


@dataclass(frozen=True)
class Partials:
    """Counts and totals; ``by`` has a line for each: place, shard, number of the window, start, key."""

    by: Ints
    counts: Ints
    totals: Ints

    def grouped(self, columns: Sequence[int]) -> Partials:
        """One partial for each combination of these columns, in their order."""
        chosen = self.by[:, columns]
        if not len(chosen):
            return Partials(chosen, self.counts, self.totals)
        order = np.lexsort(chosen.T[::-1])
        chosen = chosen[order]
        first = np.flatnonzero(np.r_[True, (chosen[1:] != chosen[:-1]).any(axis=1)])
        counts, totals = (np.add.reduceat(values[order], first) for values in (self.counts, self.totals))
        return Partials(chosen[first], counts, totals)

    def where(self, mask: npt.NDArray[np.bool_]) -> Partials:
        """Only these."""
        return Partials(self.by[mask], self.counts[mask], self.totals[mask])


@dataclass(frozen=True)
class MigrationOutcome:
    """What the places hold at the end, and what the migrations did on the way.

    Attributes:
        results: one line per window that was asked for, its start and key: (number, start, key, count, total).
        expanded: keys of a pane that lie at more than one place, once for each place too many.
        waited: rows that waited for state; ``duplicated``, rows that were processed at two places.
        moved: partials that were sent as state.
    """

    results: Ints
    expanded: int
    waited: int
    duplicated: int
    moved: int


def run(
    rows: Rows, migrations: Iterable[Migration], windows: Sequence[Window], shards: int, places: int, form: Form
) -> MigrationOutcome:
    """The windows of a stream during which shards move.

    A split component keeps partials of panes, which are merged wherever they lie. A combined one keeps the state of
    every window at the place that owns it, and only that place gives results.

    >>> rows = Rows(*(np.array(column) for column in ([0, 1, 6, 7], [3, 3, 3, 3], [10, 20, 30, 40])))
    >>> move = Migration(Strategy.INSTANT, shard=1, target=0, at=1)
    >>> found = run(rows, [move], [Window(5, 5), Window(10, 10)], shards=2, places=2, form=Form.SPLIT)
    >>> found.results.tolist(), found.expanded
    ([[0, 0, 3, 2, 30], [0, 5, 3, 2, 70], [1, 0, 3, 4, 100]], 1)
    """
    machine = _Machine(rows, list(windows), shards, places, form)
    events: list[tuple[int, int, Migration]] = []
    for m in migrations:
        if not (0 <= m.shard < shards and 0 <= m.target < places and 0 <= m.at <= len(rows.keys)):
            raise TopologyError(f"{m}: there are {shards} shards, {places} places and {len(rows.keys)} rows")
        events.append((m.at, 1, m))
        if m.strategy is Strategy.DISRUPTIVE and m.until > m.at:
            events.append((m.until, 0, m))
    seen = 0
    for at, begins, m in sorted(events, key=lambda e: e[:2]):
        now = min(at, len(rows.keys))
        machine.take(np.arange(seen, now))
        seen = now
        if begins:
            machine.begin(m)
        if m.strategy is Strategy.DISRUPTIVE and (not begins or m.until <= m.at):
            machine.end(m)
    machine.take(np.arange(seen, len(rows.keys)))
    return machine.outcome()


@dataclass
class _Machine:
    rows: Rows
    windows: list[Window]
    shards: int
    places: int
    form: Form
    kept: list[Partials] = field(default_factory=list)
    waiting: dict[int, list[Ints]] = field(default_factory=dict)
    newest: int = _EVER
    waited: int = 0
    duplicated: int = 0
    moved: int = 0

    def __post_init__(self) -> None:
        self.units = self.windows if self.form is Form.COMBINED else [pane_of(self.windows)]
        # For every shard, from which window start on which place owns it; the last that applies counts.
        self.owners = [[(_EVER, shard % self.places)] for shard in range(self.shards)]

    def take(self, chosen: Ints) -> None:
        """Rows come: those of shards on their way wait, the others are processed."""
        if not len(chosen):
            return
        self.newest = max(self.newest, int(self.rows.times[chosen].max()))
        on_the_way = np.isin(self.rows.keys[chosen] % self.shards, list(self.waiting))
        for shard, waiting in self.waiting.items():
            mine = chosen[self.rows.keys[chosen] % self.shards == shard]
            waiting.append(mine)
            self.waited += len(mine)
        self._process(chosen[~on_the_way])

    def begin(self, m: Migration) -> None:
        """The partitioner changes, or the shard stops."""
        if m.shard in self.waiting:
            raise TopologyError(f"shard {m.shard} is still on its way: let its migration end before the next")
        if m.strategy is Strategy.DISRUPTIVE:
            self.waiting[m.shard] = []
        elif m.strategy is Strategy.SMOOTH:
            # Windows that begin after everything seen so far have no state yet.
            boundary = self.newest + 1 if self.newest > _EVER else _EVER
            earlier = [o for o in self.owners[m.shard] if o[0] < boundary]
            self.owners[m.shard] = [*earlier, (boundary, m.target)]
        elif self.form is Form.COMBINED:
            raise TopologyError("instant migration leaves partials behind, which only a split component merges")
        else:
            self.owners[m.shard] = [(_EVER, m.target)]

    def end(self, m: Migration) -> None:
        """The state has arrived: it belongs to the new place, and what waited is processed there."""
        held = _joined(self.kept)
        old = {place for _, place in self.owners[m.shard]} - {m.target}
        moving = (held.by[:, _SHARD] == m.shard) & np.isin(held.by[:, _PLACE], list(old))
        self.moved += len(held.where(moving).grouped(range(5)).by)
        held.by[moving, _PLACE] = m.target
        self.kept = [held]
        self.owners[m.shard] = [(_EVER, m.target)]
        self._process(np.concatenate([np.empty(0, np.int64), *self.waiting.pop(m.shard)]))

    def outcome(self) -> MigrationOutcome:
        """Everything closes: windows out of panes, or the state of windows where it belongs."""
        held = _joined(self.kept).grouped(range(5))
        apart = len(held.by) - len(held.grouped((_SHARD, _WINDOW, _START, _KEY)).by)
        if self.form is Form.COMBINED:
            done = held.where(held.by[:, _PLACE] == self._owner(held.by[:, _SHARD], held.by[:, _START]))
        else:
            done = _of_windows(held, self.windows)
        found = done.grouped((_WINDOW, _START, _KEY))
        results = np.column_stack([found.by, found.counts, found.totals])
        return MigrationOutcome(results, apart, self.waited, self.duplicated, self.moved)

    def _process(self, chosen: Ints) -> None:
        places_of_rows: list[tuple[Ints, Ints]] = []
        for number, unit in enumerate(self.units):
            row, start = _instances(self.rows.times[chosen], unit)
            keys = self.rows.keys[chosen][row]
            shard = keys % self.shards
            place = self._owner(shard, start)
            by = np.column_stack([place, shard, np.full(len(row), number), start, keys])
            values = self.rows.values[chosen][row]
            self.kept.append(Partials(by, np.ones(len(row), np.int64), values))
            places_of_rows.append((row, place))
        row, place = (np.concatenate(column) for column in zip(*places_of_rows, strict=True))
        self.duplicated += len(np.unique(row * self.places + place)) - len(np.unique(row))

    def _owner(self, shard: Ints, start: Ints) -> Ints:
        place = np.array([owners[0][1] for owners in self.owners])[shard]
        for number, owners in enumerate(self.owners):
            for boundary, later in owners[1:]:
                place[(shard == number) & (start >= boundary)] = later
        return place


def _joined(parts: Iterable[Partials]) -> Partials:
    none = Partials(np.empty((0, 5), np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    each = [none, *parts]
    return Partials(*(np.concatenate([getattr(p, n) for p in each]) for n in ("by", "counts", "totals")))


def _instances(times: Ints, window: Window) -> tuple[Ints, Ints]:
    """Which instances of a window contain each time: positions of times, and starts."""
    latest = times - (times - window.offset) % window.slide
    most = -(-window.size // window.slide)
    starts = latest[:, None] - window.slide * np.arange(most)
    row, column = np.nonzero(starts + window.size > times[:, None])
    return row, starts[row, column]


def _of_windows(panes: Partials, windows: Sequence[Window]) -> Partials:
    parts = []
    for number, window in enumerate(windows):
        row, start = _instances(panes.by[:, _START], window)
        by = panes.by[row].copy()
        by[:, _WINDOW], by[:, _START] = number, start
        parts.append(Partials(by, panes.counts[row], panes.totals[row]))
    return _joined(parts)
