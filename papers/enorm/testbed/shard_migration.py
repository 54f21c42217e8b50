"""Windows of a stream during which shards move, with every row followed (Enorm sections 4.5 and 5).

Places hold partials by shard, window and key. A row goes to the place that owns the window of its shard at that moment.
This module carries out what instant, smooth and disruptive migration do to owners, state and waiting rows, so that the
results of windows can be compared with those of a stream without migrations. Time is the number of rows that have
arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from papers.enorm.testbed.migration_costs import Strategy
from rheostat.arrays import Ints
from rheostat.errors import TopologyError
from rheostat.planning.enorm.splitting import Form
from rheostat.windows.panes import pane_of
from rheostat.windows.window import Window

_EVER = np.iinfo(np.int64).min  # earlier than all window starts
_PLACE, _SHARD, _WINDOW, _START, _KEY = range(5)


@dataclass(frozen=True)
class Rows:
    """A stream in the order of arrival.

    Attributes:
        times: event times, which may be out of order.
        keys: key of each row.
        values: value of each row.
    """

    times: Ints
    keys: Ints
    values: Ints


@dataclass(frozen=True)
class Migration:
    """The move of one shard.

    Attributes:
        strategy: how the shard moves.
        shard: number of the shard.
        target: the place it goes to.
        at: number of rows that have arrived when the move begins.
        until: number of rows that have arrived when a disruptive move ends; not used by the other strategies.
    """

    strategy: Strategy
    shard: int
    target: int
    at: int
    until: int = 0


@dataclass(frozen=True)
class Partials:
    """Partial results.

    Attributes:
        by: one row per partial result: place, shard, number of the window, start, key.
        counts: number of rows of each.
        totals: sum of the values of each.
    """

    by: Ints
    counts: Ints
    totals: Ints

    def grouped(self, columns: Sequence[int]) -> Partials:
        """Return one merged partial result per combination of these columns, sorted by them."""
        chosen = self.by[:, columns]
        if not len(chosen):
            return Partials(chosen, self.counts, self.totals)
        order = np.lexsort(chosen.T[::-1])
        chosen = chosen[order]
        first = np.flatnonzero(np.r_[True, (chosen[1:] != chosen[:-1]).any(axis=1)])
        counts, totals = (np.add.reduceat(values[order], first) for values in (self.counts, self.totals))
        return Partials(chosen[first], counts, totals)

    def where(self, mask: npt.NDArray[np.bool_]) -> Partials:
        """Return the partial results for which the mask is True."""
        return Partials(self.by[mask], self.counts[mask], self.totals[mask])


@dataclass(frozen=True)
class MigrationOutcome:
    """The results of the windows, and what the migrations did.

    Attributes:
        results: one row per window, start and key: (number of the window, start, key, count, total).
        expanded: partial results that exist because a key of a pane is at more than one place.
        waited: rows that waited for the state of their shard.
        duplicated: rows that were processed at two places.
        moved: partial results that were sent as state.
    """

    results: Ints
    expanded: int
    waited: int
    duplicated: int
    moved: int


def run(
    rows: Rows, migrations: Iterable[Migration], windows: Sequence[Window], shards: int, places: int, form: Form
) -> MigrationOutcome:
    """Process a stream during which shards move, and return the results of its windows.

    A split component keeps partials of panes, which are merged from all places. A combined one keeps the state of every
    window at the place that owns it, and only that place returns results.

    Args:
        rows: the stream.
        migrations: moves of shards.
        windows: windows to compute.
        shards: number of shards.
        places: number of places.
        form: split or combined.

    Raises:
        TopologyError: if a migration does not fit the stream, the form or an earlier migration.

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
            raise TopologyError(
                f"{m} is out of range: there are {shards} shards, {places} places and {len(rows.keys)} rows"
            )
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
    """The places, and what they hold while the stream passes."""

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
        # By shard: pairs of a window start and the place that owns windows from it on. The last matching pair counts.
        self.owners = [[(_EVER, shard % self.places)] for shard in range(self.shards)]

    def take(self, chosen: Ints) -> None:
        """Take rows: those of shards that are being moved wait, the others are processed."""
        if not len(chosen):
            return
        self.newest = max(self.newest, int(self.rows.times[chosen].max()))
        held_back = np.isin(self.rows.keys[chosen] % self.shards, list(self.waiting))
        for shard, waiting in self.waiting.items():
            of_shard = chosen[self.rows.keys[chosen] % self.shards == shard]
            waiting.append(of_shard)
            self.waited += len(of_shard)
        self._process(chosen[~held_back])

    def begin(self, m: Migration) -> None:
        """Begin a migration: the owners change at once, or rows of the shard begin to wait."""
        if m.shard in self.waiting:
            raise TopologyError(f"shard {m.shard} is still being moved: let its migration end before the next begins")
        if m.strategy is Strategy.DISRUPTIVE:
            self.waiting[m.shard] = []
        elif m.strategy is Strategy.SMOOTH:
            # Windows that begin after the newest row have no state yet.
            boundary = self.newest + 1 if self.newest > _EVER else _EVER
            earlier = [o for o in self.owners[m.shard] if o[0] < boundary]
            self.owners[m.shard] = [*earlier, (boundary, m.target)]
        elif self.form is Form.COMBINED:
            raise TopologyError(
                "instant migration leaves partials behind, which only a split component merges: use form=Form.SPLIT"
            )
        else:
            self.owners[m.shard] = [(_EVER, m.target)]

    def end(self, m: Migration) -> None:
        """End a disruptive migration: its state is at the new place, where the waiting rows are processed."""
        held = _joined(self.kept)
        old = {place for _, place in self.owners[m.shard]} - {m.target}
        moving = (held.by[:, _SHARD] == m.shard) & np.isin(held.by[:, _PLACE], list(old))
        self.moved += len(held.where(moving).grouped(range(5)).by)
        held.by[moving, _PLACE] = m.target
        self.kept = [held]
        self.owners[m.shard] = [(_EVER, m.target)]
        self._process(np.concatenate([np.empty(0, np.int64), *self.waiting.pop(m.shard)]))

    def outcome(self) -> MigrationOutcome:
        """Close all windows and return their results: merged from panes, or the state at the places that own it."""
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
        """Add rows, given by their positions, to the partial results at the places that own them."""
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
        """Return the places that own windows, given by shard and start."""
        place = np.array([owners[0][1] for owners in self.owners])[shard]
        for number, owners in enumerate(self.owners):
            for boundary, later in owners[1:]:
                place[(shard == number) & (start >= boundary)] = later
        return place


def _joined(parts: Iterable[Partials]) -> Partials:
    """Return all partial results in one value."""
    none = Partials(np.empty((0, 5), np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    each = [none, *parts]
    return Partials(*(np.concatenate([getattr(p, n) for p in each]) for n in ("by", "counts", "totals")))


def _instances(times: Ints, window: Window) -> tuple[Ints, Ints]:
    """Return the instances of a window that contain each time, as positions in ``times`` and starts."""
    latest = times - (times - window.offset) % window.slide
    most = -(-window.size // window.slide)
    starts = latest[:, None] - window.slide * np.arange(most)
    row, column = np.nonzero(starts + window.size > times[:, None])
    return row, starts[row, column]


def _of_windows(panes: Partials, windows: Sequence[Window]) -> Partials:
    """Return the partial results of windows, from those of panes."""
    parts = []
    for number, window in enumerate(windows):
        row, start = _instances(panes.by[:, _START], window)
        by = panes.by[row].copy()
        by[:, _WINDOW], by[:, _START] = number, start
        parts.append(Partials(by, panes.counts[row], panes.totals[row]))
    return _joined(parts)
