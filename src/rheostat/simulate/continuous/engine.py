"""The continuous engine: what the papers ran on, row by row, with queues, network, state and pauses.

It is checked against M/M/1, M/M/k and M/D/1. What it leaves out: memory, failures, and rows that overtake each other on
the network by less than a tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.errors import ConfigurationError, RheostatError
from rheostat.simulate.continuous import shard_moves
from rheostat.simulate.continuous.job_records import fan_out, operators_of
from rheostat.simulate.continuous.kernel import advance
from rheostat.simulate.continuous.records import BINS, LATE, NOBODY, NODE, ROW, SHARD, SLOT, TOTALS, World
from rheostat.simulate.job import Cluster, Costs, Job, Timing
from rheostat.workloads.arrivals import Workload

_LEAST_ROWS = 1 << 14

_CATCH_UP = 5.0
"""Seconds in which a source wants to get rid of rows that wait in front of the job."""


@dataclass(frozen=True, eq=False)
class Interval:
    """What happened in one interval, as it truly was: policies see only the observation.

    Attributes:
        observation: what policies may see.
        offered: rows of the workload in it.
        admitted: rows that entered.
        done: rows completed, by operator and shard.
        waited: latencies of the rows completed, summed, by operator and shard.
        bins: completed rows by operator and bin of latency.
        end_rows: rows that reached the end of the job.
        end_waited: seconds since those rows entered, summed.
        remote: bytes that went between executors and their remote slots.
        migrated: bytes of state moved.
        switching: seconds that slots stood still for changes, summed.
    """

    observation: Observation
    offered: int
    admitted: int
    done: Mapping[str, npt.NDArray[np.int64]]
    waited: Mapping[str, Floats]
    bins: npt.NDArray[np.int64]
    end_rows: int
    end_waited: float
    remote: float
    migrated: float
    switching: float


@dataclass
class Continuous:
    """A running simulation: ``step`` it by intervals, ``apply`` plans to it.

    Attributes:
        job: operators and how rows go between them.
        cluster: nodes and their network.
        workload: where rows come from.
        plan: where operators run at first, and then now.
        seed: everything random follows from it.
        timing: how finely time is cut.
        costs: of changes, and bounds of queues.
        patience: seconds that rows wait in front of the job when full queues stop the source; their latency counts from
            when they were due. Rows that wait longer are never sent. With 0 the source just sends as fast as it is let,
            at most at the workload's rate.
        room: slot numbers that each operator may use.
        servers: cores that share the queue of each slot: 1, as in the papers' executors.
        time: seconds simulated so far.
        epoch: intervals simulated so far.
        switches: seconds that each change stopped its slots.

    >>> from rheostat.simulate.job import Operator
    >>> from rheostat.workloads.arrivals import Constant
    >>> job = Job((Operator("work", shards=4, cost=0.001),))
    >>> plan = Plan({"work": OperatorPlan.even(4, 2)}, nodes=1)
    >>> engine = Continuous(job, Cluster(1, 2), Constant(1000.0, weights=[1, 1, 1, 1]), plan)
    >>> seen = engine.step()
    >>> seen.offered == seen.admitted, int(seen.done["work"].sum()) in range(900, 1100)
    (True, True)
    """

    job: Job
    cluster: Cluster
    workload: Workload
    plan: Plan
    seed: int = 1
    timing: Timing = Timing()
    costs: Costs = Costs()
    pause: Pause = Pause.SHARD
    patience: float = np.inf
    room: int = 64
    servers: int = 1
    time: float = 0.0
    epoch: int = 0
    switches: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.job.operators[0].shards != self.workload.shards:
            raise ConfigurationError(
                f"operator {self.job.operators[0].name!r} has {self.job.operators[0].shards} shards, but the workload "
                f"has {self.workload.shards}: they have to be the same"
            )
        self._operators, self._edges, self._cumulated = operators_of(self.job, self.room)
        count = len(self.job.operators)
        self._slots: Any = np.zeros(self.room * count, dtype=SLOT)
        self._slots["operator"] = np.repeat(np.arange(count), self.room)
        for name in ("head", "tail", "first", "last", "blocked"):
            self._slots[name] = NOBODY
        self._slots["speed"], self._slots["servers"] = 1.0, self.servers
        self._free = np.zeros((len(self._slots), self.servers))
        self._late: Any = np.zeros((len(self._slots), self.servers), dtype=LATE)
        self._late["shard"] = NOBODY
        total = int(self._operators["shards"].sum())
        self._shards: Any = np.zeros(total, dtype=SHARD)
        for name in ("head", "tail", "target"):
            self._shards[name] = NOBODY
        self._shards["operator"] = np.repeat(np.arange(count), self._operators["shards"])
        self._shards["state"] = np.repeat([o.state_bytes for o in self.job.operators], self._operators["shards"])
        self._rows: Any = np.zeros(0, dtype=ROW)
        self._nodes: Any = np.zeros(self.cluster.nodes, dtype=NODE)
        self._totals: Any = np.zeros(1, dtype=TOTALS)
        self._totals["free_row"] = self._totals["source_blocked"] = NOBODY
        self._moving = np.zeros(total, dtype=np.int64)
        self._moving_count = 0
        self._bins = np.zeros((count, BINS), dtype=np.int64)
        self._random = np.array([self.seed], dtype=np.uint64)
        self._left = np.zeros(0), np.zeros(0, dtype=np.int32)
        self._waiting: list[shard_moves.Waiting] = []
        self._leaving: dict[str, OperatorPlan] = {}
        self._standing: dict[str, float] = {}
        self._cores = np.full(self.cluster.nodes, self.cluster.cores, dtype=np.int64)
        self._speeds = np.ones(self.cluster.nodes)
        self._speeds[: len(self.cluster.speeds)] = self.cluster.speeds
        self._places = {o.name: place for place, o in enumerate(self.job.operators)}
        if set(self.plan.operators) != set(self._places):
            raise ConfigurationError(
                f"the plan has operators {sorted(self.plan.operators)}, the job {sorted(self._places)}"
            )
        for name, plan in self.plan.operators.items():
            place = self._places[name]
            self._check(name, plan)
            self._place(place, plan)
            self._shards["slot"][self._span(place)] = place * self.room + plan.routing
        self._before = self._totals[0].copy()
        # A tick is short against the time that a full queue lasts, or it would hold back slots that are half idle.
        lasts = self.costs.queue * min(o.cost for o in self.job.operators) / 4
        self._ticks = max(self.timing.ticks, int(np.ceil(self.timing.interval / lasts)))
        self._settled = np.ones(count, dtype=bool)
        self._fan_out = fan_out(self.job)

    @property
    def observed(self) -> Plan:
        """Where everything runs; an operator in the middle of a change that stops slots is still where it was."""
        return Plan({**self.plan.operators, **self._leaving}, self.plan.nodes) if self._leaving else self.plan

    def step(self) -> Interval:
        """One interval."""
        self._begin_waiting()
        self._shards["done"], self._shards["waited"], self._slots["useful"] = 0, 0.0, 0.0
        self._bins[:] = 0
        end = self.time + self.timing.interval
        new = self.workload.between(self.time, end)
        times, goals = new.times, new.shards
        if len(self._left[0]):
            times, goals = np.concatenate([self._left[0], times]), np.concatenate([self._left[1], goals])
        self._make_room(len(times))
        entered, self._moving_count = advance(
            self._world(),
            times,
            goals,
            self.time,
            self.timing.interval / self._ticks,
            self._ticks,
            self._moving,
            self._moving_count,
        )
        kept = max(entered, int(np.searchsorted(times, end - self.patience)))
        if self._totals[0]["lost"]:
            raise RheostatError(
                f"{self._totals[0]['lost']} rows found no room: that is a fault of the engine, not of the job"
            )
        self._left = times[kept:], goals[kept:]
        self.time, self.epoch = end, self.epoch + 1
        self._settle()
        before, self._before = self._before, self._totals[0].copy()
        return self._interval(before, len(new.times))

    def apply(self, plan: Plan) -> None:
        """Begin to make a plan real: all of it, or nothing while an operator that it changes is still changing."""
        wanted = {n: p for n, p in plan.operators.items() if not p.same(self.plan.operators[n])}
        for name, part in wanted.items():
            self._check(name, part)
            self._check_numbers(name, part)
        if any(self.busy(name) for name in wanted):
            return
        for name, part in wanted.items():
            if self.pause is Pause.PAIR and self.costs.start > 0 and part.slots > self.plan.operators[name].slots:
                self._waiting.append(shard_moves.Waiting(self.time + self.costs.start, name, part))
            else:
                self._change(name, part)

    def _check(self, name: str, plan: OperatorPlan) -> None:
        plan.check(self.job.operators[self._places[name]].shards, self.cluster.nodes)
        if len(plan.nodes) > self.room:
            raise ConfigurationError(f"operator {name!r}: a plan numbers {len(plan.nodes)} slots, room={self.room}")

    def _check_numbers(self, name: str, plan: OperatorPlan) -> None:
        """Refuse a plan in which a slot changes its node: that would be another slot, with another number."""
        old = self.plan.operators[name].nodes[: len(plan.nodes)]
        new = plan.nodes[: len(old)]
        if ((old >= 0) & (new >= 0) & (old != new)).any():
            slot = int(np.flatnonzero((old >= 0) & (new >= 0) & (old != new))[0])
            raise ConfigurationError(
                f"operator {name!r}: slot {slot} cannot go to another node; give it another number"
            )

    def busy(self, operator: str) -> bool:
        """True if an operator is in the middle of a change."""
        waits = operator in self._standing or any(w.operator == operator for w in self._waiting)
        return waits or not self._settled[self._places[operator]]

    def state_of(self, operator: str, sizes: npt.ArrayLike) -> None:
        """Set the state of every shard of an operator, in bytes."""
        self._shards["state"][self._span(self._places[operator])] = sizes

    def speeds_of(self, operator: str, speeds: npt.ArrayLike) -> None:
        """Set how fast the slots of an operator are; 1 is the usual speed."""
        first = self._places[operator] * self.room
        self._slots["speed"][first : first + self.room] = 1.0 / np.asarray(speeds, dtype=np.float64)

    def moved(self) -> dict[str, float]:
        """Shards that ever moved, inside a node and (``far``) between nodes; their seconds, summed.

        ``sync`` are those until a shard's pending rows were done and everybody knew; the rest went into sending state.
        """
        names = ("moves", "sync_seconds", "move_seconds", "far_moves", "far_sync_seconds", "far_seconds")
        return {name: float(self._totals[0][name]) for name in names}

    def _change(self, name: str, wanted: OperatorPlan) -> None:
        place = self._places[name]
        first_shard, first_slot = int(self._operators[place]["first_shard"]), place * self.room
        old = self.plan.operators[name]
        self._start_slots(place, old, wanted)
        self.plan = Plan({**self.plan.operators, name: wanted}, self.plan.nodes)
        shards = np.flatnonzero(old.routing != wanted.routing)
        pause = Pause.OPERATOR if self.pause is Pause.SHARD and shard_moves.repartitioned(old, wanted) else self.pause
        if not len(shards) and pause is not Pause.OPERATOR:
            return
        self._make_room(len(shards))
        targets = (first_slot + wanted.routing[shards]).astype(np.int64)
        world, leaving = self._world(), shards + first_shard
        self._totals[0]["tick"] = self.time
        if pause is Pause.PAIR:
            took = shard_moves.together(world, leaving, targets, self.time)
            self.switches.append(took)
            self._leaving[name], self._standing[name] = old, self.time + took
            return
        self._moving_count = shard_moves.begin(world, leaving, targets, self.time, self._moving, self._moving_count)
        self._settled[place] = False
        if pause is Pause.OPERATOR:
            self._operators[place]["phase"] = 1
            self._leaving[name] = old
        else:
            shard_moves.label(world, leaving, self.time)

    def _start_slots(self, place: int, old: OperatorPlan, wanted: OperatorPlan) -> None:
        """Slots that are new begin when the core is free: when a slot that goes from the same node is done."""
        first = place * self.room
        before = np.r_[old.nodes, np.full(self.room - len(old.nodes), -1)]
        after = np.r_[wanted.nodes, np.full(self.room - len(wanted.nodes), -1)]
        gone, fresh = np.flatnonzero((before >= 0) & (after < 0)), np.flatnonzero((before < 0) & (after >= 0))
        cost = self.job.operators[place].cost
        ends = self._free[first + gone].max(axis=1) + self._slots["length"][first + gone] * cost
        left = {int(n): sorted(ends[before[gone] == n]) for n in np.unique(before[gone])}
        self._place(place, wanted)
        for slot in fresh.tolist():
            waits = left.get(int(after[slot]))
            self._free[first + slot] = max(self.time, waits.pop(0)) if waits else self.time

    def _place(self, place: int, plan: OperatorPlan) -> None:
        """Slots on their nodes; a slot that goes stays where it is until it is empty."""
        first, used = place * self.room, plan.used
        self._slots["node"][first + used] = plan.nodes[used]
        homes = plan.nodes[used] if plan.subspaces is None else plan.subspaces.homes[plan.subspaces.owners[used]]
        self._slots["home"][first + used] = homes
        if self.cluster.speeds:
            self._slots["speed"][first + used] = 1.0 / self._speeds[plan.nodes[used]]

    def _begin_waiting(self) -> None:
        due = [w for w in self._waiting if w.time <= self.time + 1e-9]
        self._waiting = [w for w in self._waiting if w not in due]
        for waiting in due:
            self._change(waiting.operator, waiting.plan)

    def _settle(self) -> None:
        """Take note of changes that are done."""
        for name in [n for n, end in self._standing.items() if end <= self.time + 1e-9]:
            del self._standing[name], self._leaving[name]
        if not self._settled.all():
            moving = np.unique(self._shards["operator"][self._moving[: self._moving_count]])
            self._settled[:] = True
            self._settled[moving] = False
            self._settled[self._operators["phase"] != 0] = False
            for name in [n for n in self._leaving if n not in self._standing and self._settled[self._places[n]]]:
                del self._leaving[name]

    def _world(self) -> World:
        finite = np.isfinite(self.cluster.bandwidth)
        return World(
            self._free,
            self._late,
            self._slots,
            self._shards,
            self._rows,
            self._operators,
            self._nodes,
            self._totals,
            self._edges,
            self._cumulated,
            self._random,
            self._bins,
            self.patience,
            1.0 / self.cluster.bandwidth if finite else 0.0,
            self.costs.queue,
            self.costs.hold,
            self.costs.buffer,
            self.costs.shard_sync,
            self.costs.operator_sync * self.costs.upstream,
            self.costs.pair_sync,
        )

    def _make_room(self, rows: int) -> None:
        """Enough free rows for those that come, and for all that they and those already here cause downstream."""
        served = int(np.count_nonzero(self._late["shard"] != NOBODY))  # in no queue, but they may still send
        free = int(self._totals[0]["free_rows"])
        here = len(self._rows) - free
        wanted = (rows + here + served) * self._fan_out - here + 2 * len(self._slots)
        if free >= wanted:
            return
        old = len(self._rows)
        size = max(2 * old, old + wanted, _LEAST_ROWS)
        grown: Any = np.zeros(size, dtype=ROW)
        grown[:old] = self._rows
        grown["next"][old:] = np.arange(old + 1, size + 1)
        grown["next"][-1] = self._totals[0]["free_row"]
        self._totals[0]["free_row"] = old
        self._totals[0]["free_rows"] += size - old
        self._rows = grown

    def _span(self, place: int) -> slice:
        first = int(self._operators[place]["first_shard"])
        return slice(first, first + int(self._operators[place]["shards"]))

    def _interval(self, before: Any, offered: int) -> Interval:
        after = self._totals[0]
        seconds = self.timing.interval
        observed, done, waited = {}, {}, {}
        current = self.observed
        for name, place in self._places.items():
            shards = self._shards[self._span(place)]
            done[name], waited[name] = shards["done"].copy(), shards["waited"].copy()
            with np.errstate(invalid="ignore", divide="ignore"):
                latency = waited[name] / done[name]
            operator, plan = self.job.operators[place], current.operators[name]
            size = operator.row_bytes + operator.out_bytes * operator.selectivity * (
                self._operators[place]["edges"] > 0
            )
            first = place * self.room
            observed[name] = OperatorObservation(
                plan=plan,
                arrived=shards["arrived"].astype(np.float64),
                completed=shards["completed"].astype(np.float64),
                useful=self._slots["useful"][first : first + len(plan.nodes)].copy(),
                latency=latency,
                traffic=done[name] * (size / seconds),
                state=shards["state"].copy(),
            )
        admitted = int(after["admitted"] - before["admitted"])
        wanted = offered / seconds + len(self._left[0]) / _CATCH_UP
        observation = Observation(
            time=self.time,
            seconds=seconds,
            operators=observed,
            cores=self._cores,
            external=admitted / seconds,
            wanted=wanted,
            epoch=self.epoch,
        )
        return Interval(
            observation,
            offered,
            admitted,
            done,
            waited,
            self._bins.copy(),
            int(after["end_rows"] - before["end_rows"]),
            float(after["end_waited"] - before["end_waited"]),
            float(after["remote"] - before["remote"]),
            float(after["migrated"] - before["migrated"]),
            float(after["switching"] - before["switching"]),
        )
