"""Queues of nodes with one core each, in steps of 10 ms: the inner loop of ``hot_spots``.

The tuples that reach a node in one step are a batch, whose latency counts from that step. Tuples of a shard that is
being moved are held and join the queue of the new node when the shard has arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.jit import compiled

STEP = 0.01
"""Seconds of a step."""

HERE, DRAINING, SERIALISING, WIRE, DESERIALISING = range(5)
"""Phase of a shard: at its node; waiting until its queued tuples are processed; or being moved, in three phases."""

MOVING_SHARE, SENDING_SHARE = 0.5, 0.1
"""Shares of a core for moving state and for sending partials while tuples wait as well. Ours."""

LIMIT = 60_000
"""Most batches in the queue of a node: ten minutes."""

_BINS, _FINEST, _DECADES = 600, 1e-3, 6


@dataclass(frozen=True)
class Latencies:
    """Latencies of a run, in seconds.

    Attributes:
        mean: mean latency of the tuples processed in each second of the run; NaN if there were none.
        overall: mean latency of all tuples processed after the calm time.
        p99: 99th percentile of their latencies.
        worst: highest of their latencies.
        moves: number of shards that were moved.
    """

    mean: Floats
    overall: float
    p99: float
    worst: float
    moves: int


@dataclass(frozen=True)
class Queues:
    """Queues of the nodes, shards that are being moved, and measurements. ``advance`` changes the arrays in place.

    Attributes:
        routing: node of every shard.
        partials: by node, seconds of CPU that sending partials still takes.
        clock: one number, the steps so far.
        arrived: by node, a ring of the steps in which the batches arrived.
        batches: by node, a ring of the tuples that wait in the batches.
        ends: by node, the number of the first batch and of the next one to arrive.
        held: by shard, tuples held in each step since its move began.
        moving: by shard, four numbers: its phase; the node it goes to; the step in which its move began; and the batch
            before which its last tuples are, or after the move the number of steps that it took.
        costs: by shard, seconds left to serialise, on the network, and to deserialise.
        sums: by second of the run, the summed latency of the tuples processed, and their number.
        bins: tuples processed after the calm time, by the logarithm of their latency.
        whole: the summed latency of the tuples processed after the calm time, and the highest.
    """

    routing: Ints
    partials: Floats
    clock: Ints
    arrived: Ints
    batches: Floats
    ends: Ints
    held: Floats
    moving: Ints
    costs: Floats
    sums: Floats
    bins: Floats
    whole: Floats

    @classmethod
    def idle(cls, routing: Ints, nodes: int, seconds: int) -> Queues:
        """Return queues in which nothing waits.

        Args:
            routing: node of every shard.
            nodes: number of nodes.
            seconds: length of the run.
        """
        shards = len(routing)
        rings = np.zeros((nodes, LIMIT), np.int64), np.zeros((nodes, LIMIT)), np.zeros((nodes, 2), np.int64)
        ways = np.zeros((shards, LIMIT // 10)), np.zeros((shards, 4), np.int64), np.zeros((shards, 3))
        measured = np.zeros((seconds, 2)), np.zeros(_BINS), np.zeros(2)
        return cls(routing.astype(np.int64), np.zeros(nodes), np.zeros(1, np.int64), *rings, *ways, *measured)

    def leave(self, shard: int, target: int, phase: int, costs: tuple[float, float, float]) -> None:
        """Begin to move a shard, unless it is being moved already.

        Args:
            shard: the shard.
            target: the node it goes to.
            phase: first phase of the move.
            costs: seconds to serialise its state, on the network, and to deserialise it.
        """
        if self.moving[shard, 0] == HERE:
            self.moving[shard] = phase, target, self.clock[0], self.ends[self.routing[shard], 1]
            self.costs[shard] = costs

    def pause(self, shard: int) -> float:
        """Return the seconds that the last move of a shard took; 0 while it is being moved or if it never was."""
        return float(self.moving[shard, 3]) * STEP if self.moving[shard, 0] == HERE else 0.0

    def advance(self, arrivals: Floats, per_tuple: float, calm: float) -> bool:
        """Simulate one step for each row of arrivals.

        Args:
            arrivals: tuples by step and shard.
            per_tuple: seconds of CPU for a tuple.
            calm: seconds of the run that do not count.

        Returns:
            False if a queue became too long.
        """
        state: tuple[Any, ...] = tuple(vars(self).values())
        return bool(_advance(arrivals, per_tuple, calm, *state))

    def latencies(self, moves: int) -> Latencies:
        """Return the latencies of the run; ``moves`` is the number of shards that were moved."""
        with np.errstate(invalid="ignore"):
            mean = self.sums[:, 0] / self.sums[:, 1]
        total = float(self.bins.sum())
        if not total:
            return Latencies(mean, 0.0, 0.0, 0.0, moves)
        edges = _FINEST * 10 ** (np.arange(1, _BINS + 1) * _DECADES / _BINS)
        p99 = float(edges[np.searchsorted(np.cumsum(self.bins), 0.99 * total)])
        return Latencies(mean, float(self.whole[0] / total), p99, float(self.whole[1]), moves)


@compiled
def _advance(  # noqa: PLR0912, PLR0915 - one loop, whose parts share all arrays
    arrivals: Floats,
    per_tuple: float,
    calm: float,
    routing: Ints,
    partials: Floats,
    clock: Ints,
    arrived: Ints,
    batches: Floats,
    ends: Ints,
    held: Floats,
    moving: Ints,
    costs: Floats,
    sums: Floats,
    bins: Floats,
    whole: Floats,
) -> bool:
    nodes, shards = len(partials), len(routing)
    for row in range(len(arrivals)):
        step = clock[0]
        coming = np.zeros(nodes)
        for shard in range(shards):
            if moving[shard, 0] == HERE:
                coming[routing[shard]] += arrivals[row, shard]
            else:
                since = step - moving[shard, 2]
                if since >= held.shape[1]:
                    return False
                held[shard, since] += arrivals[row, shard]
        busy = np.zeros(nodes, np.int64)
        for shard in range(shards):
            if moving[shard, 0] == DRAINING and ends[routing[shard], 0] >= moving[shard, 3]:
                moving[shard, 0] = SERIALISING
            if moving[shard, 0] == SERIALISING:
                busy[routing[shard]] += 1
            elif moving[shard, 0] == DESERIALISING:
                busy[moving[shard, 1]] += 1
        for node in range(nodes):
            if coming[node] > 0 and not _push(arrived, batches, ends, node, step, coming[node]):
                return False
            share = 1.0
            if busy[node] > 0:
                share -= MOVING_SHARE
            if partials[node] > 0:
                share -= SENDING_SHARE
            left = STEP * share
            while left > 0 and ends[node, 0] < ends[node, 1]:
                place = ends[node, 0] % LIMIT
                done = min(batches[node, place], left / per_tuple)
                waited = (step - arrived[node, place] + 0.5) * STEP
                sums[step // 100, 0] += done * waited
                sums[step // 100, 1] += done
                if step * STEP >= calm:
                    whole[0] += done * waited
                    whole[1] = max(whole[1], waited)
                    bins[min(_BINS - 1, int(np.log10(waited / _FINEST) / _DECADES * _BINS))] += done
                left -= done * per_tuple
                batches[node, place] -= done
                if batches[node, place] > 1e-9:
                    break
                ends[node, 0] += 1
            spare = STEP * (1.0 - share) + max(0.0, left)
            for shard in range(shards):
                phase = moving[shard, 0]
                mine = routing[shard] if phase == SERIALISING else moving[shard, 1]
                if phase in (SERIALISING, DESERIALISING) and mine == node:
                    part = 0 if phase == SERIALISING else 2
                    given = min(spare, costs[shard, part])
                    costs[shard, part] -= given
                    spare -= given
            partials[node] = max(0.0, partials[node] - spare)
        for shard in range(shards):
            if moving[shard, 0] == SERIALISING and costs[shard, 0] <= 0:
                moving[shard, 0] = WIRE
            elif moving[shard, 0] == WIRE:
                costs[shard, 1] -= STEP
                if costs[shard, 1] <= 1e-9:
                    moving[shard, 0] = DESERIALISING
            if moving[shard, 0] == DESERIALISING and costs[shard, 2] <= 0:
                target = moving[shard, 1]
                for since in range(step - moving[shard, 2] + 1):
                    if held[shard, since] > 0:
                        if not _push(arrived, batches, ends, target, moving[shard, 2] + since, held[shard, since]):
                            return False
                        held[shard, since] = 0.0
                routing[shard] = target
                moving[shard, 0], moving[shard, 3] = HERE, step - moving[shard, 2] + 1
        clock[0] += 1
    return True


@compiled
def _push(arrived: Ints, batches: Floats, ends: Ints, node: int, step: int, tuples: float) -> bool:
    if ends[node, 1] - ends[node, 0] >= LIMIT:
        return False
    place = ends[node, 1] % LIMIT
    arrived[node, place], batches[node, place] = step, tuples
    ends[node, 1] += 1
    return True
