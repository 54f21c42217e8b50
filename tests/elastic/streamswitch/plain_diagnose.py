"""Diagnose as the paper tells it (section 3): whole vectors of latencies compared, every number of shards tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.elastic.model.plan import Action
from rheostat.elastic.streamswitch.diagnosis import Health, Limits
from rheostat.elastic.streamswitch.readings import Readings

GOOD, SEVERE = Health.GOOD, Health.SEVERE


@dataclass(frozen=True)
class Found:
    """What of a diagnosis is not words."""

    action: Action
    moves: tuple[tuple[int, int], ...]
    health: Health
    projected: Health
    feasible: bool


Move = tuple[int, int, tuple[int, ...]]
"""From, to, and the shards; slots by number."""


class Plain:
    """An operator as it is, or as it would be with another routing."""

    def __init__(self, now: Readings, limits: Limits) -> None:
        self.now, self.limits, self.routing = now, limits, list(now.routing)
        self.service = dict(zip(now.slots, now.service.tolist(), strict=True))
        self.usual = dict(zip(now.slots, now.usual.tolist(), strict=True))
        self.latency = dict(zip(now.slots, now.latency.tolist(), strict=True))

    def after(self, move: Move) -> Plain:
        source, target, shards = move
        moved = Plain(self.now, self.limits)
        moved.routing = [target if k in shards else slot for k, slot in enumerate(self.routing)]
        moved.service.setdefault(target, self.usual[source])
        moved.latency.setdefault(target, 0.0)
        return moved

    def shards(self, slot: int) -> list[int]:
        return [k for k, other in enumerate(self.routing) if other == slot]

    def load(self, slot: int) -> float:
        return float(sum(self.now.arrival[k] for k in self.shards(slot)))

    def strain(self, slot: int) -> float:
        load, room = self.load(slot), (1 - self.limits.margin) * self.service[slot]
        return float(min(1 / (room - load), 1e9) if load < room else 1e9 * max(load / max(room, 1e-9), 1.0))

    def vector(self) -> list[float]:
        return sorted((self.strain(slot) for slot in set(self.routing)), reverse=True)

    def health_of(self, slot: int) -> int:
        free = (1 - self.limits.margin) * self.service[slot] - self.load(slot)
        late = self.latency[slot] > self.limits.alert
        return int(late) + int(free <= 0 or 1 / free > self.limits.bound)

    def health(self, ignored: Sequence[int] = ()) -> Health:
        return Health(max((self.health_of(s) for s in set(self.routing) if s not in ignored), default=0))

    def merge(self) -> Move | None:
        """Algorithm 1: the pair of slots whose merger leaves the lexicographically lowest latencies."""
        slots = self.now.slots
        moves = [(s, d, tuple(self.shards(s))) for s in slots for d in slots if s != d]
        return min(moves, key=lambda move: self.after(move).vector(), default=None)

    def relief(self, source: int, targets: Sequence[int]) -> Move | None:
        """Algorithm 2: some shards, lowest latency first, such that the worse of both slots is best."""
        mine = [k for k in self.shards(source) if self.now.arrival[k] > 0]
        mine.sort(key=lambda k: self.now.shard_latency[k])
        found = []
        for target in targets:
            tries = [(source, target, tuple(mine[:count])) for count in range(len(mine))]
            if not tries:
                continue
            best = min(tries, key=self.worse)
            theirs = self.strain(target) if target in self.now.slots else 0.0
            if best[2] and self.worse(best) <= 0.95 * max(self.strain(source), theirs):
                found.append(best)
        return min(found, key=lambda move: self.after(move).vector(), default=None)

    def worse(self, move: Move) -> float:
        after = self.after(move)
        return max(after.strain(move[0]), after.strain(move[1]))


def plainly_diagnosed(now: Readings, limits: Limits) -> Found:
    """The two-level logic of section 3.2, with what Diagnose adds to it."""
    plain, slots = Plain(now, limits), now.slots
    state = plain.health()

    def done(action: Action, move: Move | None, feasible: bool = True) -> Found:
        if move is None:
            return Found(Action.NOTHING, (), state, state, feasible)
        moves = tuple((shard, move[1]) for shard in move[2])
        return Found(action, moves, state, plain.after(move).health(), feasible)

    if len(slots) > limits.max_slots:
        return done(Action.SCALE_IN, plain.merge())
    if state != SEVERE:
        merger = plain.merge() if state == GOOD and len(slots) > limits.min_slots else None
        fine = merger is not None and plain.after(merger).health() == GOOD
        return done(Action.SCALE_IN, merger if fine else None)
    helpless: list[int] = []
    severe = [s for s in slots if plain.health_of(s) == SEVERE]
    for source in sorted(severe, key=lambda s: -plain.strain(s)):
        other = plain.relief(source, [s for s in slots if s != source])
        new = plain.relief(source, [next(n for n in range(99) if n not in slots)])
        if other and plain.after(other).health(helpless) != SEVERE:
            return done(Action.BALANCE, other, not helpless)
        if new and len(slots) < limits.max_slots:
            return done(Action.SCALE_OUT, new, not helpless)
        if other:
            return done(Action.BALANCE, other, False)
        helpless.append(source)
    return done(Action.NOTHING, None, False)
