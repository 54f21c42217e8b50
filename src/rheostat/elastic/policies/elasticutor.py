"""Elasticutor as a policy: cores by a queueing network, placed by Algorithm 1, shards balanced inside executors.

Every interval it decides how many cores each executor of every operator gets (section 4.1), where they are (section
4.2), and which of an executor's slots has which of its shards (section 3.1). Shards never leave their executor, except
in the coarse rounds that the paper leaves for later: executors that outgrew their node are split, idle ones merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rheostat.elastic.allocation import Allocation, allocate
from rheostat.elastic.cores import Cores, fill
from rheostat.elastic.epoch_allocation import allocate_epochs
from rheostat.elastic.executors import EVERY, reshape
from rheostat.elastic.levelling import THRESHOLD, level
from rheostat.elastic.measured import Measured
from rheostat.elastic.observation import Observation
from rheostat.elastic.placement import THRESHOLD as LOCALITY
from rheostat.elastic.placement import Executors, Placement, place, place_naively
from rheostat.elastic.plan import STAY, Action, Ints, OperatorPlan, Plan, Proposal, Revision, Subspaces
from rheostat.elastic.policy import Pause
from rheostat.elastic.queueing import largest_rho, offered_load
from rheostat.elastic.treat import Waits

Values = npt.NDArray[np.float64]

_BUSY = 0.9
"""Load of the busiest executor's cores from which on more cores are worth a change."""

_SPARE = 1.25
"""An executor with more than this times the cores it needs gives back what it does not."""


@dataclass(frozen=True, eq=False)
class Rates:
    """What was measured of every operator, the cores there are, and when executors were last split or merged."""

    operators: Mapping[str, Measured]
    cores: Ints
    external: float = 0.0
    time: float = 0.0
    reshaped: float = 0.0


@dataclass(frozen=True)
class Elasticutor:
    """Elastic executors (Elasticutor sections 3 and 4).

    Attributes:
        bound: seconds that E[T] may reach: T_max.
        locality: bytes per second and core above which an executor stays on its node.
        threshold: imbalance of an executor's slots above which shards move.
        steady: cores stay as they are while the busiest executor is within this factor of what it could be. The paper
            has no such rule: 1 decides anew in every interval.
        uneven: how much busier than the mean the busiest slot of an executor may be and still keep up. In the paper's
            model, M/M/k, an executor's cores share one queue, which is 1; in fact each has a queue of its own.
        nearby: a shard stays on its node if its slots are then at most so many times as busy; 1 in the paper.
        release: executors give back cores that they do not need. In the paper they keep them until others do.
        informed: cores are placed by Algorithm 1; otherwise wherever there are any, as in the paper's naive-EC.
        overhead: seconds that an epoch costs without rows, where rows come in epochs: cores then follow the micro-batch
            law. None for an engine without epochs, the paper's.
        reshaping: seconds between two rounds of splitting and merging executors; 0 leaves executors as they are.
    """

    bound: float = 0.02
    locality: float = LOCALITY
    threshold: float = THRESHOLD
    steady: float = 1.05
    uneven: float = THRESHOLD
    nearby: float = 1.05
    release: bool = True
    informed: bool = True
    overhead: float | None = None
    reshaping: float = 0.0
    name: str = "elasticutor"
    pause: Pause = Pause.SHARD
    waits: Waits = Waits(rest=0.0, calm=0.0)

    @classmethod
    def published(cls, bound: float = 0.02) -> Elasticutor:
        """As the paper has it: no rule that it does not print."""
        return cls(bound=bound, steady=1.0, uneven=1.0, nearby=1.0, release=False, name="elasticutor-published")

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
        operators = {name: Measured.nothing(len(p.routing)) for name, p in plan.operators.items()}
        return Rates(operators, np.zeros(0, dtype=np.int64))

    def learn(self, history: Rates, observation: Observation) -> Rates:
        """Rates after one more interval."""
        operators = dict(history.operators)
        for name, seen in observation.operators.items():
            if name in operators:
                operators[name] = operators[name].after(seen, observation.seconds, observation.stretch)
        external = observation.external * observation.stretch
        external = external if 0 <= external < np.inf else history.external
        time = observation.time if observation.time > history.time else history.time
        return replace(history, operators=operators, cores=observation.cores, external=external, time=time)

    def decide(self, history: Rates, plan: Plan) -> Proposal:
        """Cores for every executor, their places, and balanced slots."""
        if not history.cores.sum() > 0 or not all(history.operators[n].known(p) for n, p in plan.operators.items()):
            return Proposal(reasons=("nothing was measured yet",))
        subspaces = {name: subspaces_of(part) for name, part in plan.operators.items()}
        reasons: list[str] = []
        if self.reshaping and int(history.time // self.reshaping) > int((history.time - 1e-9) // self.reshaping):
            subspaces = {name: self._reshaped(name, s, history, reasons) for name, s in subspaces.items()}
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
            wanted = self._levelled(wanted, part, history.operators[name].work())
            first += count
            if not wanted.same(part):
                action = _action(part.slots, wanted.slots)
                moved = int((wanted.routing != part.routing).sum())
                text = f"{name}: {part.slots} to {wanted.slots} cores, {moved} shards change their slot"
                revisions.append(Revision(name, wanted, action, (text,), allocation.met))
        return (
            Proposal(tuple(revisions), None, tuple(reasons), together=True)
            if revisions
            else replace(STAY, reasons=tuple(reasons))
        )

    def schedule(self, history: Rates, plan: Plan, subspaces: Mapping[str, Subspaces]) -> tuple[Allocation, Placement]:
        """How many cores every executor gets, and on which nodes (section 4): what the paper times in table 3."""
        known, current = _executors(subspaces, history.operators), _current(plan, subspaces)
        allocation = self._allocate(known, current, history)
        return allocation, self._place(allocation.cores, known, current, history.cores)

    def _allocate(self, known: Executors, current: Cores, history: Rates) -> Allocation:
        """Cores for every executor; those it has, if they are nearly as good."""
        total = int(history.cores.sum())
        services = known.services / max(self.uneven, 1.0)
        if self.overhead is not None:
            found = allocate_epochs(known.arrivals, services, total, self.bound, self.overhead)
        else:
            found = allocate(known.arrivals, services, total, self.bound, history.external)
        have = current.by_executor(len(known.arrivals))
        if self.steady > 1 and have.sum() <= total and (have > 0).all():
            load = offered_load(known.arrivals, services)
            now, then = (load / have).max(initial=0.0), (load / np.maximum(found.cores, 1)).max(initial=0.0)
            # Under the bound a core more does little; above it the busiest executor decides what gets through.
            enough = now <= self._busy() if found.met else now <= self.steady * then
            if enough and not (found.met and _idle(have, found.cores).any()):
                return replace(found, cores=have)
        return found

    def _busy(self) -> float:
        """How busy the busiest executor may be without getting more cores."""
        if self.overhead is None:
            return _BUSY
        return largest_rho(self.overhead, self.bound) or _BUSY

    def _place(self, wanted: Ints, known: Executors, current: Cores, cores: Ints) -> Placement:
        kept = _released(current, wanted, known.homes) if self.release else current
        given = cores, known.homes, kept, known.state, known.traffic
        return place(wanted, *given, self.locality) if self.informed else place_naively(wanted, *given)

    def _levelled(self, plan: OperatorPlan, old: OperatorPlan, work: Values) -> OperatorPlan:
        """Shards over the slots of each executor."""
        assert plan.subspaces is not None
        owned = plan.subspaces
        nodes = plan.nodes.copy()
        gone = np.flatnonzero((nodes[: len(old.nodes)] < 0) & (old.nodes >= 0))
        nodes[gone] = old.nodes[gone]
        nearby = self.nearby if self.informed else 1.0
        routing = level(plan.routing, work, owned.executors, owned.owners, self.threshold, nodes=nodes, nearby=nearby)
        return OperatorPlan(routing, plan.nodes, owned)

    def _reshaped(self, name: str, subspaces: Subspaces, history: Rates, reasons: list[str]) -> Subspaces:
        """Executors split and merged; a new one begins on the node with most room, which placement finds."""
        room = history.cores[np.clip(subspaces.homes, 0, len(history.cores) - 1)]
        found = reshape(subspaces.executors.tolist(), history.operators[name].work(), room)
        reasons += [f"{name}: {split.reason}" for split in found.splits]
        reasons += [f"{name}: {merge.reason}" for merge in found.merges]
        executors = np.array(found.routing, dtype=np.int64)
        size = max(int(executors.max()) + 1, len(subspaces.homes))
        homes = np.r_[subspaces.homes, np.full(size - len(subspaces.homes), -1)]
        return Subspaces(executors, subspaces.owners, homes)


def _idle(have: Ints, wanted: Ints) -> npt.NDArray[np.bool_]:
    """Who has so many cores too many that it is worth a change to be rid of them."""
    idle: npt.NDArray[np.bool_] = have > np.ceil(_SPARE * wanted)
    return idle


def _released(current: Cores, wanted: Ints, homes: Ints) -> Cores:
    """Without the cores that executors have far too many of, remote ones first.

    Algorithm 1 takes cores from those who have too many only when others want them. Whoever pays for cores wants them
    back as well.
    """
    have = current.by_executor(len(wanted))
    idle = _idle(have, wanted)
    if not idle.any():
        return current
    order = np.lexsort((current.cores, current.node == homes[current.executor]))
    executor, node, cores = current.executor[order], current.node[order], current.cores[order]
    gives = fill(executor, cores, np.where(idle, have - wanted, 0))
    return Cores.summed(executor, node, cores - gives)


def subspaces_of(plan: OperatorPlan) -> Subspaces:
    """Who owns which keys; every slot by itself if nothing is said."""
    if plan.subspaces is not None:
        return plan.subspaces
    owners = np.where(plan.nodes >= 0, np.arange(len(plan.nodes)), -1)
    return Subspaces(plan.routing, owners, np.where(plan.nodes >= 0, plan.nodes, -1))


def _executors(subspaces: Mapping[str, Subspaces], measured: Mapping[str, Measured]) -> Executors:
    """What is known of the executors of all operators, one after the other."""
    parts: list[tuple[Values, ...]] = []
    for name, owned in subspaces.items():
        seen, count = measured[name], len(owned.homes)
        demand, state, traffic = (
            np.bincount(owned.executors, weights=v, minlength=count).astype(np.float64)
            for v in (seen.demand(), seen.state, seen.traffic)
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
    free = np.flatnonzero(nodes < 0)
    if len(free) < len(new):
        grown = np.full(len(new) - len(free), -1)
        free = np.r_[free, len(nodes) + np.arange(len(grown))]
        nodes, owners = np.r_[nodes, grown], np.r_[owners, grown]
    slots = free[: len(new)]
    nodes[slots], owners[slots] = new % size, new // size
    return OperatorPlan(plan.routing, nodes, Subspaces(owned.executors, owners, homes))


def _missing(wanted: Mapping[int, int], have: Mapping[int, int]) -> list[tuple[int, int]]:
    return [(count, have.get(key, 0)) for key, count in wanted.items()]


def _action(before: int, after: int) -> Action:
    return Action.BALANCE if before == after else Action.SCALE_OUT if after > before else Action.SCALE_IN
