"""Elasticutor as a policy: cores by a queueing network, placed by Algorithm 1, shards balanced inside executors.

Every interval it decides how many cores each executor of every operator gets (section 4.1), where they are (section
4.2), and which of an executor's slots has which of its shards (section 3.1). Shards never leave their executor, except
in the coarse rounds that the paper leaves for later: executors that outgrew their node are split, idle ones merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.allocation import Allocation, allocate
from rheostat.elastic.elasticutor.balance_executors import balance_executors
from rheostat.elastic.elasticutor.cores import Cores, fill
from rheostat.elastic.elasticutor.epoch_allocation import allocate_epochs, usual_wait
from rheostat.elastic.elasticutor.placement import (
    HORIZON,
    LOCALITY,
    CorePlacement,
    Executors,
    place,
    place_as_printed,
    place_naively,
)
from rheostat.elastic.elasticutor.rates import Rates, usual
from rheostat.elastic.elasticutor.shard_rates import ShardRates
from rheostat.elastic.elasticutor.split_merge import EVERY, reshape
from rheostat.elastic.elasticutor.subspaces import fitted, living, subspaces_of
from rheostat.elastic.loop.hysteresis import BUSY, idle, stays
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision, Subspaces
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.model.queueing import largest_rho, offered_load
from rheostat.elastic.routing.balance import EVEN, THRESHOLD

__all__ = ["Elasticutor", "Rates", "subspaces_of"]


@dataclass(frozen=True)
class Elasticutor:
    """Elastic executors (Elasticutor sections 3 and 4).

    Runs in the simulator; it is not connected to Spark yet.

    Attributes:
        bound: seconds that E[T] may reach: T_max.
        locality: bytes per second and core above which an executor stays on its node.
        threshold: imbalance of an executor's slots above which shards move.
        even: how even slots are then made. In the paper that is the threshold, where the next change is never far.
        steady: cores stay as they are while the busiest executor is within this factor of what it could be. The paper
            has no such rule: 1 decides anew in every interval.
        uneven: how much busier than the mean the busiest slot of an executor may be and still keep up. In the paper's
            model, M/M/k, an executor's cores share one queue, which is 1; in fact each has a queue of its own.
        nearby: a shard stays on its node if its slots are then at most so many times as busy; 1 in the paper.
        release: executors give back cores that they do not need. In the paper they keep them until others do.
        horizon: seconds for which a plan is expected to last: executors with much data come home if that moves less
            state than they would send meanwhile.
        informed: cores are placed by Algorithm 1; otherwise wherever there are any, as in the paper's naive-EC.
        printed: by Algorithm 1 as the paper prints it. Otherwise remote cores are given up first, executors come home,
            and one that finds no core at home goes elsewhere without a higher locality threshold for all.
        overhead: seconds that an epoch costs without rows, where rows come in epochs: cores then follow the micro-batch
            law. None for an engine without epochs, the paper's.
        reshaping: seconds between two rounds of splitting and merging executors; 0 leaves executors as they are.

    >>> from rheostat.elastic.model.observation import OperatorObservation
    >>> plan = Plan({"count": OperatorPlan.elastic(shards=4, executors=2, nodes=1)}, nodes=1)
    >>> rows, busy = np.array([45.0, 45.0, 5.0, 5.0]), np.array([0.9, 0.1])  # a row takes 10 ms
    >>> count = OperatorObservation(plan=plan.operators["count"], arrived=rows, completed=rows, useful=busy)
    >>> seen = Observation(time=1.0, seconds=1.0, operators={"count": count}, cores=np.array([8]), external=100.0)
    >>> policy = Elasticutor(bound=0.02)
    >>> found = policy.decide(policy.learn(policy.begin(plan), seen), plan)
    >>> found.reasons[0], found.revisions[0].action.value
    ('E[T] 0.0166 s with 3 of 8 cores, bound 0.02 s', 'scale out')
    >>> found.revisions[0].plan.routing.tolist()  # the first executor now has slots 0 and 2
    [2, 0, 1, 1]
    """

    bound: float = 0.02
    locality: float = LOCALITY
    threshold: float = THRESHOLD
    even: float = EVEN
    steady: float = 1.05
    uneven: float = THRESHOLD
    nearby: float = 1.05
    release: bool = True
    horizon: float = HORIZON
    informed: bool = True
    printed: bool = False
    overhead: float | None = None
    reshaping: float = 0.0
    name: str = "elasticutor"
    pause: Pause = Pause.SHARD
    waits: Waits = Waits(rest=0.0, calm=0.0)

    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    @classmethod
    def published(cls, bound: float = 0.02) -> Elasticutor:
        """As published: without the rules above that the paper does not have.

        What it leaves open is filled in as in the others. Rates are means of the last intervals, of the newest alone
        once keys have shifted, and what a source that is held back would have sent counts; what waits is to be worked
        off within five seconds; cores that nobody has are taken before those of others; a shard whose slot goes stays
        on its node if a slot there has room; with too few cores all get a share.
        """
        return cls(
            bound=bound,
            even=THRESHOLD,
            steady=1.0,
            uneven=1.0,
            nearby=1.0,
            release=False,
            horizon=0.0,
            printed=True,
            name="elasticutor-published",
        )

    @classmethod
    def naive(cls, bound: float = 0.02) -> Elasticutor:
        """The paper's naive-EC: the same without regard to state that moves and data that travels (section 5.4)."""
        return cls(bound=bound, informed=False, name="naive-ec")

    @classmethod
    def hybrid(cls, bound: float = 0.02, every: float = EVERY) -> Elasticutor:
        """With the paper's future work: executors are split and merged every ten minutes (section 4.2)."""
        return cls(bound=bound, reshaping=every, name="elasticutor-hybrid")

    def begin(self, plan: Plan) -> Rates:
        """Nothing measured yet."""
        return Rates.nothing(plan)

    def learn(self, history: Rates, observation: Observation) -> Rates:
        """Rates after one more interval."""
        return history.after(observation, self.reshaping)

    def decide(self, history: Rates, plan: Plan) -> Proposal:
        """Cores for every executor, their places, and balanced slots."""
        total, problem = int(history.cores.sum()), history.problem(plan)
        if problem:
            return Proposal(reasons=(problem,))
        if len(plan.operators) > total:
            return Proposal(reasons=(f"{len(plan.operators)} operators cannot share {total} cores",))
        subspaces = {name: living(subspaces_of(part)) for name, part in plan.operators.items()}
        reasons: list[str] = []
        if history.due:
            subspaces = {name: self._reshaped(name, s, history, reasons) for name, s in subspaces.items()}
        if sum(len(owned.homes) for owned in subspaces.values()) > total:
            subspaces, merged = fitted(
                subspaces, {n: history.operators[n].work(self._waiting) for n in subspaces}, total
            )
            reasons += merged
        allocation, placement = self.schedule(history, plan, subspaces)
        reasons += [allocation.reason, placement.reason]
        revisions = []
        first = 0
        for name, part in plan.operators.items():
            count = len(subspaces[name].homes)
            cores = placement.cores.part(
                (placement.cores.executor >= first) & (placement.cores.executor < first + count)
            )
            mine = Cores(cores.executor - first, cores.node, cores.cores)
            wanted = _slotted(part, subspaces[name], mine, placement.homes[first : first + count])
            wanted = self._levelled(wanted, part, history.operators[name].work(self._waiting))
            first += count
            if not wanted.same(part):
                action = Action.between(part.slots, wanted.slots)
                moved = int((wanted.routing != part.routing).sum())
                text = f"{name}: {part.slots} to {wanted.slots} cores, {moved} shards change their slot"
                revisions.append(Revision(name, wanted, action, (text,), allocation.met))
        return (
            Proposal(tuple(revisions), None, tuple(reasons), together=True)
            if revisions
            else replace(STAY, reasons=tuple(reasons))
        )

    def schedule(
        self, history: Rates, plan: Plan, subspaces: Mapping[str, Subspaces]
    ) -> tuple[Allocation, CorePlacement]:
        """How many cores every executor gets, and on which nodes (section 4): what the paper times in table 3."""
        known, current = _executors(subspaces, history.operators, self._waiting), _current(plan, subspaces)
        allocation = self._allocate(known, current, history)
        return allocation, self._place(allocation.cores, known, current, history.cores)

    def _allocate(self, known: Executors, current: Cores, history: Rates) -> Allocation:
        """Cores for every executor; those it has, if they are nearly as good."""
        total = int(history.cores.sum())
        services = self._services(known)
        if self.overhead is not None:
            found = allocate_epochs(known.arrivals, services, total, self.bound, self.overhead)
        else:
            found = allocate(known.arrivals, services, total, self.bound, history.external)
        have, load = current.by_executor(len(known.arrivals)), offered_load(known.arrivals, services)
        kept = stays(found.cores, found.met, have, load, total, self._busy(), self.steady)
        return replace(found, cores=have) if kept else found

    def _services(self, known: Executors) -> Floats:
        """Rows per second of one core; less if what an executor has is not spread evenly over its slots."""
        return usual(known.services) / max(self.uneven, 1.0)

    def _busy(self) -> float:
        """How busy the busiest executor may be without getting more cores."""
        if self.overhead is None:
            return BUSY
        return largest_rho(self.overhead, self.bound) or BUSY

    @property
    def _waiting(self) -> float:
        """Seconds for which rows usually wait for the next epoch; more than that is a backlog."""
        return 0.0 if self.overhead is None else usual_wait(self.overhead, self.bound)

    def _place(self, wanted: Ints, known: Executors, current: Cores, cores: Ints) -> CorePlacement:
        load = offered_load(known.arrivals, self._services(known))
        kept = _released(current, wanted, known.homes, load) if self.release else current
        given = cores, known.homes, kept, known.state, known.traffic
        if not self.informed:
            return place_naively(wanted, *given)
        if self.printed:
            return place_as_printed(wanted, *given, self.locality)
        return place(wanted, *given, self.locality, self.horizon)

    def _levelled(self, plan: OperatorPlan, old: OperatorPlan, work: Floats) -> OperatorPlan:
        """Shards over the slots of each executor."""
        assert plan.subspaces is not None
        owned = plan.subspaces
        nodes = plan.nodes.copy()
        gone = np.flatnonzero((nodes[: len(old.nodes)] < 0) & (old.nodes >= 0))
        nodes[gone] = old.nodes[gone]
        nearby = self.nearby if self.informed else 1.0
        shards = plan.routing, work, owned.executors, owned.owners
        routing = balance_executors(*shards, self.threshold, min(self.even, self.threshold), nodes, nearby)
        return OperatorPlan(routing, plan.nodes, owned)

    def _reshaped(self, name: str, subspaces: Subspaces, history: Rates, reasons: list[str]) -> Subspaces:
        """Executors split and merged; a new one begins on the node with most room, which placement finds."""
        if not history.operators[name].service > 0:
            return subspaces
        room = history.cores[np.clip(subspaces.homes, 0, len(history.cores) - 1)]
        found = reshape(subspaces.executors.tolist(), history.operators[name].work(self._waiting), room)
        reasons += [f"{name}: {split.reason}" for split in found.splits]
        reasons += [f"{name}: {merge.reason}" for merge in found.merges]
        executors = np.array(found.routing, dtype=np.int64)
        size = max(int(executors.max()) + 1, len(subspaces.homes))
        homes = np.r_[subspaces.homes, np.full(size - len(subspaces.homes), -1)]
        return living(Subspaces(executors, subspaces.owners, homes))


def _released(current: Cores, wanted: Ints, homes: Ints, load: Floats) -> Cores:
    """Drop cores of executors that have far too many, remote ones first.

    Algorithm 1 takes cores from those who have too many only when others want them. Whoever pays for cores wants them
    back as well.
    """
    have = current.by_executor(len(wanted))
    gives_back = idle(have, wanted, load)
    if not gives_back.any():
        return current
    order = np.lexsort((current.cores, current.node == homes[current.executor]))
    executor, node, cores = current.executor[order], current.node[order], current.cores[order]
    gives = fill(executor, cores, np.where(gives_back, have - wanted, 0))
    return Cores.summed(executor, node, cores - gives)


def _executors(subspaces: Mapping[str, Subspaces], measured: Mapping[str, ShardRates], waiting: float) -> Executors:
    """What is known of the executors of all operators, one after the other."""
    parts: list[tuple[Floats, ...]] = []
    for name, owned in subspaces.items():
        seen, count = measured[name], len(owned.homes)
        demand, state, traffic = (
            np.bincount(owned.executors, weights=v, minlength=count).astype(np.float64)
            for v in (seen.demand(waiting), seen.state, seen.traffic)
        )
        parts.append((demand, np.full(count, seen.service), state, traffic, owned.homes.astype(np.float64)))
    arrivals, services, state, traffic, homes = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Executors(arrivals, services, state, traffic, homes.astype(np.int64))


def _current(plan: Plan, subspaces: Mapping[str, Subspaces]) -> Cores:
    """Who has how many cores on which nodes."""
    executor, node, first = [], [], 0
    for name, part in plan.operators.items():
        owned = subspaces[name]
        used = part.used[owned.owners[part.used] >= 0]
        executor.append(owned.owners[used] + first)
        node.append(part.nodes[used])
        first += len(owned.homes)
    executors = np.concatenate(executor)
    return Cores.summed(executors, np.concatenate(node), np.ones(len(executors), dtype=np.int64))


def _slotted(plan: OperatorPlan, owned: Subspaces, cores: Cores, homes: Ints) -> OperatorPlan:
    """Slots for the cores of every executor: those it has stay where the cores are, others come and go."""
    nodes, owners = plan.nodes.copy(), np.where(plan.nodes >= 0, owned.owners, -1)
    size = int(max(cores.node.max(initial=0), nodes.max(initial=0))) + 1
    used = np.flatnonzero(nodes >= 0)
    have = owners[used] * size + nodes[used]
    wanted = dict(zip((cores.executor * size + cores.node).tolist(), cores.cores.tolist(), strict=True))
    order = np.argsort(have, kind="stable")
    place = np.arange(len(used)) - np.searchsorted(have[order], have[order])
    limit = np.array([wanted.get(int(key), 0) for key in have[order]], dtype=np.int64)
    gone = used[order][place >= limit]
    nodes[gone], owners[gone] = -1, -1
    keys, counts = np.unique(have, return_counts=True)
    missing = np.array([n - c for n, c in _missing(wanted, dict(zip(keys.tolist(), counts.tolist(), strict=True)))])
    new = (
        np.repeat(np.fromiter(wanted, dtype=np.int64, count=len(wanted)), np.maximum(missing, 0))
        if wanted
        else gone[:0]
    )
    slots = _numbers(new % size, gone, plan.nodes)
    grown = np.full(max(int(slots.max(initial=-1)) + 1 - len(nodes), 0), -1)
    nodes, owners = np.r_[nodes, grown], np.r_[owners, grown]
    nodes[slots], owners[slots] = new % size, new // size
    return OperatorPlan(plan.routing, nodes, Subspaces(owned.executors, owners, homes))


def _numbers(where: Ints, gone: Ints, nodes: Ints) -> Ints:
    """Numbers for new slots: those of slots that go on the same node, or else unused ones.

    A number must not change its node from one plan to the next: state is looked for where the slot was.

    Args:
        where: the node of every new slot.
        gone: slots that go.
        nodes: of all slots before.

    >>> _numbers(np.array([0, 1, 1, 1]), np.array([2, 0]), np.array([1, 0, 1, -1])).tolist()
    [3, 2, 0, 4]
    """
    order, left = np.argsort(where, kind="stable"), gone[np.argsort(nodes[gone], kind="stable")]
    sought, offered = where[order], nodes[left]
    place = np.searchsorted(offered, sought) + np.arange(len(order)) - np.searchsorted(sought, sought)
    same = place < len(left)
    same[same] = offered[place[same]] == sought[same]
    found = np.full(len(where), -1)
    found[order[same]] = left[place[same]]
    others = np.flatnonzero(found < 0)
    free = np.flatnonzero(nodes < 0)
    found[others] = np.r_[free, len(nodes) + np.arange(max(len(others) - len(free), 0))][: len(others)]
    return found


def _missing(wanted: Mapping[int, int], have: Mapping[int, int]) -> list[tuple[int, int]]:
    return [(count, have.get(key, 0)) for key, count in wanted.items()]
