"""The continuous engine: simulates the kind of engine that the papers used, row by row.

It has bounded queues, a network, state that moves, and the pauses that moves cause. Tests compare it with M/M/1, M/M/k
and M/D/1. It leaves out memory, failures, and rows that overtake each other on the network within a tick.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.errors import ConfigurationError, RheostatError
from rheostat.simulate.continuous import shard_moves
from rheostat.simulate.continuous.job_records import fan_out, operators_of
from rheostat.simulate.continuous.kernel import advance
from rheostat.simulate.continuous.records import (
    DRAINING,
    NOBODY,
    NODE,
    ROW,
    RUNNING,
    SHARD,
    SLOT,
    TOTALS,
    UNFINISHED,
    World,
)
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import ROUNDING, Cluster, Costs, Job, Timing, check_inputs
from rheostat.simulate.latency_bins import BINS
from rheostat.workloads.arrivals import Workload

_LEAST_ROWS = 1 << 14  # of the pool

_CATCH_UP = 5.0
"""Seconds in which a source wants to send the rows that wait in front of the job; part of the observed ``wanted``."""


@dataclass
class Continuous:
    """A running simulation: ``step`` simulates one interval, ``apply`` changes the plan.

    Attributes:
        job: the operators.
        cluster: nodes and their network.
        workload: the rows that arrive.
        plan: where operators run; at first the initial plan, then the last one whose change began.
        seed: seed of all random numbers.
        timing: length of intervals and ticks.
        costs: costs of changes, and limits of queues.
        pause: what stops while shards move.
        patience: seconds that rows wait in front of the job when full queues stop the source; their latency counts from
            when they were due. Rows that would wait longer are dropped. With 0, rows never wait: the source sends at
            most at the workload's rate, and less while it is stopped.
        room: number of slots that each operator may have.
        servers: cores that share the queue of each slot; 1 in the papers' executors.
        time: seconds simulated so far.
        epoch: intervals simulated so far.
        switches: for each change that stopped two slots (``Pause.PAIR``), the seconds that it stopped them.

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
        check_inputs(self.job, self.cluster, self.workload, self.plan)
        self._allocate_records()
        self._backlog = np.zeros(0), np.zeros(0, dtype=np.int32)  # times and shards of rows in front of the job
        self._waiting: list[shard_moves.Waiting] = []
        self._old_plans: dict[str, OperatorPlan] = {}  # of operators in a change that stops slots
        self._stopped_until: dict[str, float] = {}  # operators whose slots are stopped by Pause.PAIR
        self._settled = np.ones(len(self.job.operators), dtype=bool)  # False while shards of an operator move
        self._cores = np.full(self.cluster.nodes, self.cluster.cores, dtype=np.int64)
        self._speeds = self.cluster.node_speeds()
        self._places = {o.name: place for place, o in enumerate(self.job.operators)}  # index of each operator
        for name, plan in self.plan.operators.items():
            place = self._places[name]
            self._check_room(name, plan)
            self._place_slots(place, plan)
            self._shards["slot"][self._shards_of(place)] = place * self.room + plan.routing
        self._last_totals = self._totals[0].copy()
        # A tick must be short compared with the time in which a full queue drains: a sender that was stopped goes on
        # only in the next tick, and the queue must not run empty until then.
        drain = self.costs.queue * min(o.cost for o in self.job.operators) / 4
        self._ticks = max(self.timing.ticks, int(np.ceil(self.timing.interval / drain)))
        self._fan_out = fan_out(self.job)

    def _allocate_records(self) -> None:
        """Create the records that compiled loops work on; see ``World``."""
        self._operators, self._edges, self._cumulative_weights = operators_of(self.job, self.room)
        count = len(self.job.operators)
        self._slots: Any = np.zeros(self.room * count, dtype=SLOT)
        self._slots["operator"] = np.repeat(np.arange(count), self.room)
        for name in ("head", "tail", "transit_head", "transit_tail", "blocked"):
            self._slots[name] = NOBODY
        self._slots["speed"], self._slots["servers"] = 1.0, self.servers
        self._free = np.zeros((len(self._slots), self.servers))
        self._unfinished: Any = np.zeros((len(self._slots), self.servers), dtype=UNFINISHED)
        self._unfinished["shard"] = NOBODY
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

    @property
    def observed(self) -> Plan:
        """Where operators run; an operator in a change that stops slots still has its old plan."""
        return Plan({**self.plan.operators, **self._old_plans}, self.plan.nodes) if self._old_plans else self.plan

    def step(self) -> Interval:
        """Simulate one interval."""
        self._begin_waiting()
        self._shards["done"], self._shards["waited"], self._slots["useful"] = 0, 0.0, 0.0
        self._bins[:] = 0
        end = self.time + self.timing.interval
        new = self.workload.between(self.time, end)
        times, row_shards = new.times, new.shards
        if len(self._backlog[0]):
            times = np.concatenate([self._backlog[0], times])
            row_shards = np.concatenate([self._backlog[1], row_shards])
        self._make_room(len(times))
        entered, self._moving_count = advance(
            self._world(),
            times,
            row_shards,
            self.time,
            self.timing.interval / self._ticks,
            self._ticks,
            self._moving,
            self._moving_count,
        )
        if self._totals[0]["lost"]:
            raise RheostatError(
                f"the simulator lost {self._totals[0]['lost']} rows because its pool of rows was full: please report "
                "this bug with the scenario"
            )
        waiting = max(entered, int(np.searchsorted(times, end - self.patience)))  # the first row that still waits
        self._backlog = times[waiting:], row_shards[waiting:]
        self.time, self.epoch = end, self.epoch + 1
        self._settle()
        before, self._last_totals = self._last_totals, self._totals[0].copy()
        return self._interval(before, len(new.times))

    def apply(self, plan: Plan) -> None:
        """Start to change to a plan. If an operator that it changes is still in an earlier change, do nothing."""
        changes = {n: p for n, p in plan.operators.items() if not p.same(self.plan.operators[n])}
        for name, wanted in changes.items():
            wanted.check(self.job.operators[self._places[name]].shards, self.cluster.nodes)
            self._check_room(name, wanted)
            self._check_nodes(name, wanted)
        if any(self.busy(name) for name in changes):
            return
        for name, wanted in changes.items():
            if self.pause is Pause.PAIR and self.costs.start > 0 and wanted.slots > self.plan.operators[name].slots:
                self._waiting.append(shard_moves.Waiting(self.time + self.costs.start, name, wanted))
            else:
                self._change(name, wanted)

    def _check_room(self, name: str, plan: OperatorPlan) -> None:
        """Raise an error if a plan numbers more slots than an operator may have."""
        if len(plan.nodes) > self.room:
            raise ConfigurationError(
                f"operator {name!r}: the plan numbers {len(plan.nodes)} slots, but room={self.room}; use a larger room"
            )

    def _check_nodes(self, name: str, plan: OperatorPlan) -> None:
        """Raise an error if a slot changes its node: a slot on another node is a new slot and needs a new number."""
        old = self.plan.operators[name].nodes[: len(plan.nodes)]
        new = plan.nodes[: len(old)]
        changed = np.flatnonzero((old >= 0) & (new >= 0) & (old != new))
        if len(changed):
            raise ConfigurationError(
                f"operator {name!r}: slot {changed[0]} cannot move to another node; use a new slot number there"
            )

    def busy(self, operator: str) -> bool:
        """True if an operator is in the middle of a change, or waits for one to begin."""
        if operator in self._stopped_until or any(w.operator == operator for w in self._waiting):
            return True
        return not self._settled[self._places[operator]]

    def state_of(self, operator: str, sizes: npt.ArrayLike) -> None:
        """Set the size of the state of each shard of an operator, in bytes."""
        self._shards["state"][self._shards_of(self._places[operator])] = sizes

    def speeds_of(self, operator: str, speeds: npt.ArrayLike) -> None:
        """Set the speed of each slot of an operator; 1 is the usual speed, 2 is twice as fast."""
        first = self._places[operator] * self.room
        self._slots["speed"][first : first + self.room] = 1.0 / np.asarray(speeds, dtype=np.float64)

    def moved(self) -> dict[str, float]:
        """Return how many shards have moved so far, and how long that took.

        Returns:
            ``moves``: shards moved inside a node.
            ``move_seconds``: from the request to the arrival, summed over these shards.
            ``sync_seconds``: the part of it before state was sent: pending rows, then synchronisation.
            ``far_moves``, ``far_seconds``, ``far_sync_seconds``: the same for shards moved between nodes.
        """
        names = ("moves", "sync_seconds", "move_seconds", "far_moves", "far_sync_seconds", "far_seconds")
        return {name: float(self._totals[0][name]) for name in names}

    def _change(self, name: str, wanted: OperatorPlan) -> None:
        """Begin to change an operator to another plan."""
        place = self._places[name]
        first_shard, first_slot = int(self._operators[place]["first_shard"]), place * self.room
        old = self.plan.operators[name]
        self._start_slots(place, old, wanted)
        self.plan = Plan({**self.plan.operators, name: wanted}, self.plan.nodes)
        shards = np.flatnonzero(old.routing != wanted.routing)
        pause = self.pause
        if pause is Pause.SHARD and shard_moves.changes_executors(old, wanted):
            pause = Pause.OPERATOR
        if not len(shards) and pause is not Pause.OPERATOR:
            return
        self._make_room(len(shards))
        targets = (first_slot + wanted.routing[shards]).astype(np.int64)
        world, leaving = self._world(), shards + first_shard
        self._totals[0]["tick"] = self.time
        if pause is Pause.PAIR:
            stopped = shard_moves.move_between_stopped_slots(world, leaving, targets, self.time)
            self.switches.append(stopped)
            self._old_plans[name], self._stopped_until[name] = old, self.time + stopped
            return
        self._moving_count = shard_moves.begin_moves(
            world, leaving, targets, self.time, self._moving, self._moving_count
        )
        self._settled[place] = False
        if pause is Pause.OPERATOR:
            self._operators[place]["phase"] = DRAINING
            self._old_plans[name] = old
        else:
            shard_moves.push_labels(world, leaving, self.time)

    def _start_slots(self, place: int, old: OperatorPlan, wanted: OperatorPlan) -> None:
        """Start new slots when a core is free: when a slot that leaves the same node has served its queue, or now."""
        first = place * self.room
        before = np.r_[old.nodes, np.full(self.room - len(old.nodes), -1)]
        after = np.r_[wanted.nodes, np.full(self.room - len(wanted.nodes), -1)]
        removed, added = np.flatnonzero((before >= 0) & (after < 0)), np.flatnonzero((before < 0) & (after >= 0))
        cost = self.job.operators[place].cost
        ends = self._free[first + removed].max(axis=1) + self._slots["length"][first + removed] * cost
        ends_by_node = {int(n): sorted(ends[before[removed] == n]) for n in np.unique(before[removed])}
        self._place_slots(place, wanted)
        for slot in added.tolist():
            ends_here = ends_by_node.get(int(after[slot]))
            self._free[first + slot] = max(self.time, ends_here.pop(0)) if ends_here else self.time

    def _place_slots(self, place: int, plan: OperatorPlan) -> None:
        """Record the nodes of the slots in use; slots that the plan no longer has keep theirs until they are empty."""
        first, used = place * self.room, plan.used
        self._slots["node"][first + used] = plan.nodes[used]
        homes = plan.nodes[used] if plan.subspaces is None else plan.subspaces.homes[plan.subspaces.owners[used]]
        self._slots["home"][first + used] = homes
        if self.cluster.speeds:
            self._slots["speed"][first + used] = 1.0 / self._speeds[plan.nodes[used]]

    def _begin_waiting(self) -> None:
        """Begin the changes that are due."""
        due = [w for w in self._waiting if w.time <= self.time + ROUNDING]
        self._waiting = [w for w in self._waiting if w not in due]
        for waiting in due:
            self._change(waiting.operator, waiting.plan)

    def _settle(self) -> None:
        """Forget the changes that are done."""
        for name in [n for n, end in self._stopped_until.items() if end <= self.time + ROUNDING]:
            del self._stopped_until[name], self._old_plans[name]
        if not self._settled.all():
            moving = np.unique(self._shards["operator"][self._moving[: self._moving_count]])
            self._settled[:] = True
            self._settled[moving] = False
            self._settled[self._operators["phase"] != RUNNING] = False
            moved = [n for n in self._old_plans if n not in self._stopped_until and self._settled[self._places[n]]]
            for name in moved:
                del self._old_plans[name]

    def _world(self) -> World:
        finite = np.isfinite(self.cluster.bandwidth)
        return World(
            free=self._free,
            unfinished=self._unfinished,
            slots=self._slots,
            shards=self._shards,
            rows=self._rows,
            operators=self._operators,
            nodes=self._nodes,
            totals=self._totals,
            edges=self._edges,
            cumulative_weights=self._cumulative_weights,
            random=self._random,
            bins=self._bins,
            patience=self.patience,
            seconds_per_byte=1.0 / self.cluster.bandwidth if finite else 0.0,
            queue=self.costs.queue,
            hold=self.costs.hold,
            buffer=self.costs.buffer,
            shard_sync=self.costs.shard_sync,
            operator_sync=self.costs.operator_sync * self.costs.upstream,
            pair_sync=self.costs.pair_sync,
        )

    def _make_room(self, rows: int) -> None:
        """Grow the pool of rows for new rows, and for all rows that these and those in use may cause downstream."""
        unfinished = int(np.count_nonzero(self._unfinished["shard"] != NOBODY))  # in no queue, but they may still send
        free = int(self._totals[0]["free_rows"])
        used = len(self._rows) - free
        needed = (rows + used + unfinished) * self._fan_out - used + 2 * len(self._slots)
        if free >= needed:
            return
        old = len(self._rows)
        size = max(2 * old, old + needed, _LEAST_ROWS)
        grown: Any = np.zeros(size, dtype=ROW)
        grown[:old] = self._rows
        grown["next"][old:] = np.arange(old + 1, size + 1)
        grown["next"][-1] = self._totals[0]["free_row"]
        self._totals[0]["free_row"] = old
        self._totals[0]["free_rows"] += size - old
        self._rows = grown

    def _shards_of(self, place: int) -> slice:
        """Return where the shards of an operator are among all shards."""
        first = int(self._operators[place]["first_shard"])
        return slice(first, first + int(self._operators[place]["shards"]))

    def _interval(self, before: Any, offered: int) -> Interval:
        """Return what happened in the interval that has just ended.

        Args:
            before: the totals at the end of the interval before it.
            offered: rows of the workload that were due.
        """
        after = self._totals[0]
        seconds = self.timing.interval
        observed, done, waited = {}, {}, {}
        current = self.observed
        for name, place in self._places.items():
            shards = self._shards[self._shards_of(place)]
            done[name], waited[name] = shards["done"].copy(), shards["waited"].copy()
            with np.errstate(invalid="ignore", divide="ignore"):
                latency = waited[name] / done[name]
            operator, plan = self.job.operators[place], current.operators[name]
            sends = self._operators[place]["edges"] > 0
            row_traffic = operator.row_bytes + operator.out_bytes * operator.selectivity * sends
            first = place * self.room
            observed[name] = OperatorObservation(
                plan=plan,
                arrived=shards["arrived"].astype(np.float64),
                completed=shards["completed"].astype(np.float64),
                useful=self._slots["useful"][first : first + len(plan.nodes)].copy(),
                latency=latency,
                traffic=done[name] * (row_traffic / seconds),
                state=shards["state"].copy(),
            )
        admitted = int(after["admitted"] - before["admitted"])
        wanted = offered / seconds + len(self._backlog[0]) / _CATCH_UP
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
            observation=observation,
            offered=offered,
            admitted=admitted,
            done=done,
            waited=waited,
            bins=self._bins.copy(),
            end_rows=int(after["end_rows"] - before["end_rows"]),
            end_waited=float(after["end_waited"] - before["end_waited"]),
            remote=float(after["remote"] - before["remote"]),
            migrated=float(after["migrated"] - before["migrated"]),
            switching=float(after["switching"] - before["switching"]),
        )
