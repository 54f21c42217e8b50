"""The keyed store against a dict per epoch: write, fold, crash, recover, reroute, expire, call timers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rheostat.elastic.routing.table import even_routing, owned
from rheostat.keyed.keyed_layout import TIMERS
from rheostat.state import compaction
from rheostat.state.checkpoint import Checkpoint
from rheostat.state.compaction import choose_newest
from rheostat.state.files import Folder
from rheostat.state.keyed_table import KeyedReader, write_keys
from rheostat.state.manifest import Manifest
from rheostat.state.segments import Segment
from tests.state.builders import SHARDS
from tests.state.keyed_builders import (
    HASHES,
    KEYS,
    LAYOUT,
    ROUTINGS,
    Kept,
    Model,
    model_of,
    shard_of,
    state_frame,
    wake_frame,
)

TABLE = "op"
RETAIN = 3


@dataclass(frozen=True)
class Moment:
    """The manifest after an epoch, and its expected contents."""

    manifest: Manifest
    model: Model
    watermark: int | None
    now: int | None


CHANGES = st.dictionaries(
    KEYS, st.none() | st.tuples(st.integers(0, 99), st.frozensets(st.integers(-2, 14), max_size=2)), max_size=5
)
FOLDS = st.sampled_from(["none", "chosen", "chosen", "newest", "some", "all"])
EPOCH = rule(
    changes=CHANGES,
    how=FOLDS,
    steps=st.integers(0, 3),
    passed=st.integers(0, 2),
    routing=st.none() | ROUTINGS,
    dies=st.sampled_from([False, False, False, True]),
)


@settings(max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))
class KeyedStore(RuleBasedStateMachine):
    """Epochs as the runtime runs them: slots write changes and fold, timers are called, the manifest is committed."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp())
        self.checkpoint = Checkpoint.open(str(self.path), SHARDS, RETAIN)
        self.checkpoint.table_folder(TABLE).create()
        self.routing: tuple[int, ...] = even_routing(SHARDS, 2)
        self.ttl: int | None = None
        self.moments = [Moment(Manifest(), {}, None, None)]
        self._fan_in, compaction.FAN_IN = compaction.FAN_IN, 3  # so that there is something to fold soon

    def teardown(self) -> None:
        compaction.FAN_IN = self._fan_in
        self.checkpoint.close()
        shutil.rmtree(self.path)

    @initialize(ttl=st.sampled_from([None, 1, 2, 4]))
    def begin(self, ttl: int | None) -> None:
        self.ttl = ttl

    @property
    def newest(self) -> Moment:
        return self.moments[-1]

    @property
    def folder(self) -> Folder:
        return self.checkpoint.table_folder(TABLE)

    def reader(
        self, segments: Sequence[Segment], slot: int, now: int | None, routing: Sequence[int] | None = None
    ) -> KeyedReader:
        mine = owned(routing or self.routing, slot)
        return KeyedReader(self.folder, LAYOUT, segments, mine, now=now, ttl=self.ttl)

    def alive(self, model: Model, now: int | None) -> Model:
        """The model without expired keys."""
        if self.ttl is None or now is None:
            return model
        return {k: v for k, v in model.items() if v.touched is None or v.touched + self.ttl > now}

    @EPOCH
    def run_epoch(
        self,
        changes: dict[str | None, tuple[int, frozenset[int]] | None],
        how: str,
        steps: int,
        passed: int,
        routing: tuple[int, ...] | None,
        dies: bool,
    ) -> None:
        """Run an epoch; one that crashes has written its segments but does not commit."""
        self.routing = routing or self.routing
        last, epoch = self.newest, self.newest.manifest.epoch + 1
        now = None if self.ttl is None else (last.now or 0) + passed
        segments, model = self._take_in(changes, how, epoch, now)
        after = steps if last.watermark is None else last.watermark + steps
        segments, model = self._call_timers(segments, model, epoch, now, after)
        if dies:
            self._reopen()
            return
        manifest = self.checkpoint.manifest.at(epoch, tables={TABLE: tuple(segments)})
        self.checkpoint.commit(manifest)
        self.moments = [*self.moments, Moment(manifest, model, after, now)][-RETAIN:]
        self._read(self.newest, self.routing)

    @EPOCH
    def run_another(self, **epoch: Any) -> None:
        """Run an epoch. With a second rule, epochs are more frequent than other steps."""
        self.run_epoch(**epoch)

    def _take_in(
        self,
        changes: Mapping[str | None, tuple[int, frozenset[int]] | None],
        how: str,
        epoch: int,
        now: int | None,
    ) -> tuple[list[Segment], Model]:
        last = self.newest
        live = last.manifest.tables.get(TABLE, ())
        fold = self._folded(how, live)
        segments = [s for s in live if s not in fold]
        model = self.alive(last.model, now)
        for slot in range(max(self.routing) + 1):
            mine = {k: v for k, v in changes.items() if self.routing[shard_of(k)] == slot}
            hashes = np.array([HASHES[k] for k in mine], dtype=np.int64)
            known = model_of(self.reader(live, slot, now).lookup(hashes))
            assert known == {k: v for k, v in model.items() if HASHES[k] in hashes}
            changed = {k: Kept(v[0], now, v[1]) if v is not None else None for k, v in mine.items()}
            before = {k: v.timers for k, v in known.items()}
            wakes = [(k, at) for k, v in changed.items() if v for at in v.timers - before.get(k, frozenset())]
            if not mine and not fold:
                continue
            written = self._write(changed, wakes, fold, len(fold) == len(live), epoch, slot, now)
            segments += [written] if written is not None else []
        for key, value in changes.items():
            model = {k: v for k, v in model.items() if k != key}
            if value is not None:
                model[key] = Kept(value[0], now, value[1])
        return segments, model

    def _write(
        self,
        changed: Mapping[str | None, Kept | None],
        wakes: Iterable[tuple[str | None, int]],
        fold: Sequence[Segment],
        complete: bool,
        epoch: int,
        slot: int,
        now: int | None,
    ) -> Segment | None:
        watermark = self.newest.watermark
        folded = self.reader(fold, slot, now).fold(watermark, complete=complete) if fold else []
        return write_keys(
            self.folder,
            LAYOUT,
            state_frame(changed, now),
            wake_frame(wakes),
            folded,
            watermark=watermark,
            epoch=epoch,
            slot=slot,
            shards=SHARDS,
        )

    def _call_timers(
        self, segments: list[Segment], model: Model, epoch: int, now: int | None, after: int
    ) -> tuple[list[Segment], Model]:
        """Every timer that the watermark has passed is found, whichever segment has it."""
        before, live = self.newest.watermark, list(segments)
        moved = before is None or after > before
        due = {k: v for k, v in model.items() if moved and any(at <= after for at in v.timers)}
        for slot in range(max(self.routing) + 1):
            found = self.reader(live, slot, now).due(before, after)
            called = model_of(found.filter((pl.col(TIMERS).list.min() <= after).fill_null(False)))
            assert called == {k: v for k, v in due.items() if self.routing[shard_of(k)] == slot}
            if not called:
                continue
            changed = {k: replace(v, timers=frozenset(t for t in v.timers if t > after)) for k, v in called.items()}
            written = write_keys(
                self.folder,
                LAYOUT,
                state_frame(changed, now),
                None,
                [],
                watermark=after,
                epoch=epoch,
                slot=slot,
                shards=SHARDS,
            )
            assert written is not None
            segments = [*segments, written]
            model = {**model, **{k: replace(v, touched=now) for k, v in changed.items()}}
        return segments, model

    def _folded(self, how: str, live: Sequence[Segment]) -> tuple[Segment, ...]:
        """The segments to fold: those that ``choose_newest`` returns, or any run of the newest epochs."""
        epochs = sorted({s.epoch for s in live})
        if how == "chosen":
            return choose_newest(live)
        keep = {"none": 0, "newest": 1, "some": len(epochs) // 2, "all": len(epochs)}[how]
        run = set(epochs[len(epochs) - keep :])
        return tuple(s for s in live if s.epoch in run)

    @rule()
    def recover(self) -> None:
        self._reopen()

    def _reopen(self) -> None:
        self.checkpoint.close()
        self.checkpoint = Checkpoint.open(str(self.path), SHARDS, RETAIN)
        assert self.checkpoint.manifest == self.newest.manifest
        mentioned = {s.file for m in self.moments for s in m.manifest.tables.get(TABLE, ())}
        assert {p.name for p in (self.path / "state" / TABLE).iterdir()} == mentioned

    @precondition(lambda self: len(self.moments) > 1)
    @rule(routing=ROUTINGS, back=st.integers(0, RETAIN - 1))
    def read_everything_at_any_retained_epoch(self, routing: tuple[int, ...], back: int) -> None:
        self._read(self.moments[max(len(self.moments) - 1 - back, 0)], routing)

    def _read(self, moment: Moment, routing: tuple[int, ...]) -> None:
        live = moment.manifest.tables.get(TABLE, ())
        found: Model = {}
        for slot in range(max(routing) + 1):
            rows = self.reader(live, slot, moment.now, routing).fold(moment.watermark, complete=True)[0]
            mine = model_of(rows)
            assert all(routing[shard_of(k)] == slot for k in mine)
            found |= mine
        assert found == self.alive(moment.model, moment.now)

    @precondition(lambda self: len(self.moments) > 1)
    @rule(wanted=st.frozensets(KEYS), back=st.integers(0, RETAIN - 1))
    def look_keys_up_at_any_retained_epoch(self, wanted: frozenset[str | None], back: int) -> None:
        moment = self.moments[max(len(self.moments) - 1 - back, 0)]
        live = moment.manifest.tables.get(TABLE, ())
        alive = self.alive(moment.model, moment.now)
        for slot in range(max(self.routing) + 1):
            hashes = np.array([HASHES[k] for k in wanted if self.routing[shard_of(k)] == slot], dtype=np.int64)
            found = model_of(self.reader(live, slot, moment.now).lookup(hashes))
            assert found == {k: v for k, v in alive.items() if HASHES[k] in hashes}

    @invariant()
    def segments_are_in_the_order_of_epochs(self) -> None:
        epochs = [s.epoch for s in self.newest.manifest.tables.get(TABLE, ())]
        assert epochs == sorted(epochs)


test_the_keyed_store_is_a_dict_per_epoch = KeyedStore.TestCase
