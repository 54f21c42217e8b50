"""Whole streams through segments on disk: folding, expiry and rerouting do not change the results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from unittest.mock import patch

import polars as pl
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rheostat.elastic.routing.table import even_routing, owned, shards_of
from rheostat.state import compaction
from rheostat.state.files import Folder
from rheostat.state.segments import Segment
from rheostat.state.window_table import TableReader, write_rows
from rheostat.windows.close import MergedGranule, close
from rheostat.windows.consolidation import ConsolidationPlan, plan_consolidation
from rheostat.windows.window import Window
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.state.builders import SHARDS
from tests.windows.builders import overlapping, window_sets
from tests.windows.streams import (
    EXACT,
    GRANULE,
    MERGED,
    START,
    Epoch,
    Results,
    epochs,
    expected,
    partials,
    placed,
    results_of,
    watermarks,
)

Routing = tuple[int, ...]


@dataclass
class OnDisk:
    """A table as the runtime keeps it: segments, written by slots whose number may change with every epoch."""

    folder: Folder
    plan: ConsolidationPlan
    layout: WindowLayout
    segments: tuple[Segment, ...] = ()

    def epoch(self, number: int, rows: Epoch, before: int | None, after: int | None, routing: Routing) -> Results:
        """Ingest rows, fold, close and expire."""
        self._ingest(number, partials(rows, self.plan, self.layout), before, routing)
        closed = [] if after is None else self._close(number, before, after, routing)
        if after is not None:
            self.segments = tuple(
                s for s in self.segments if any(self.plan.expiry(g, last) > after for g, (_, last) in s.spans.items())
            )
        results: Results = {}
        for part in closed:
            for key, values in results_of(part, self.plan, self.layout).items():
                known = results.setdefault(key, {})
                assert not known.keys() & values.keys()
                known.update(values)
        return results

    def _ingest(self, number: int, new: pl.DataFrame, before: int | None, routing: Routing) -> None:
        fold = compaction.choose(self.segments)
        event(f"folds: {bool(fold)}")
        written: list[Segment | None] = []
        for slot in sorted(set(routing)):
            mine = new.filter(pl.Series(owned(routing, slot)[shards_of(new[HASH].to_numpy(), SHARDS)]))
            reader = TableReader(self.folder, self.layout, fold, owned(routing, slot))
            old = reader.live(lambda g, s: before is None or self.plan.expiry(g, s) > before)
            arrived = placed(mine, self.plan, self.layout, before)
            frames = [arrived, *(f.select(arrived.columns) for f in old)]
            written.append(self._write(self.layout.merge(pl.concat(frames), within=[GRANULE, START]), number, slot))
        self.segments = tuple(s for s in self.segments if s not in fold)
        self.segments += tuple(s for s in written if s is not None)

    def _close(self, number: int, before: int | None, after: int, routing: Routing) -> Iterable[list[MergedGranule]]:
        parts, written = [], []
        for slot in sorted(set(routing)):
            reader = TableReader(self.folder, self.layout, self.segments, owned(routing, slot))
            closed = list(close(reader, self.layout, self.plan, before, after))
            parts.append(closed)
            if kept := [c for c in closed if self.plan.keeps(c.granule, c.start, after)]:
                frames = [
                    c.frame.with_columns(
                        pl.lit(c.granule, dtype=pl.Int16).alias(GRANULE), pl.lit(c.start, dtype=pl.Int64).alias(START)
                    )
                    for c in kept
                ]
                names = [GRANULE, START, *(c.name for c in self.layout.columns)]
                written.append(self._write(pl.concat([f.select(names) for f in frames]), number, slot))
        self.segments += tuple(s for s in written if s is not None)
        return parts

    def _write(self, rows: pl.DataFrame, epoch: int, slot: int) -> Segment | None:
        return write_rows(self.folder, self.layout, rows, epoch=epoch, slot=slot, shards=SHARDS)


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(window_sets(10, 2), overlapping()),
    epochs(),
    st.integers(0, 12),
    st.sampled_from([EXACT, MERGED]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
)
def test_state_on_disk_gives_exact_windows(
    windows: list[Window], stream: list[Epoch], slack: int, layout: WindowLayout, slots: list[int]
) -> None:
    plan = plan_consolidation(windows, subtractable=layout.subtractable)
    before: int | None = None
    results: list[Results] = []
    with tempfile.TemporaryDirectory() as folder, patch.object(compaction, "FAN_IN", 2):
        table = OnDisk(Folder.at(folder), plan, layout)
        for number, after in enumerate(watermarks(stream, slack)):
            routing = even_routing(SHARDS, slots[number % len(slots)])
            results.append(table.epoch(number, stream[number], before, after, routing))
            before = after
    assert results == expected(stream, slack, windows, layout)
