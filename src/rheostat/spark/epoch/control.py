"""The routing of a running query: who asks for a change, when it takes effect, what it is based on."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rheostat.arrays import Floats
from rheostat.elastic.routing.balance import imbalance, slot_loads
from rheostat.elastic.routing.requests import Change, Reassign, Rebalance, Request, Rescale, apply
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.table import check_slots
from rheostat.errors import TopologyError
from rheostat.planning.tables import Component
from rheostat.spark.stage.task_reports import PartReport

Routing = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Turn:
    """The routing of one epoch, and what changed for it.

    Attributes:
        moved: per component, the shards that belong to another slot than before.
        hot: per component, the key or shard that is too busy for any placement, in words.
        expected: per component and slot, the useful seconds it will probably take.
    """

    routing: Mapping[str, tuple[int, ...]]
    changes: tuple[Change, ...] = ()
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    hot: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[tuple[str, int], float] = field(default_factory=dict)


class Control:
    """Holds requests until the next epoch begins. Requests come from any thread, turns from the epoch's.

    Args:
        balance: keep the busiest slot within this multiple of the mean.
        ahead: balance each epoch by the rows it has, not by those of the epochs before.

    Attributes:
        loads: per component, how much work each shard caused lately.
        hottest: per component, the busiest key seen in the last epoch and its share of the component's work.
    """

    def __init__(
        self,
        components: Iterable[Component],
        routing: Mapping[str, tuple[int, ...]],
        loads: Mapping[str, ShardLoads],
        balance: float | None = None,
        ahead: bool = False,
    ) -> None:
        self._components = {c.name: c for c in components}
        self._routing = dict(routing)
        self._requests: dict[str, Request] = {}
        self._balance = balance
        self.ahead = ahead and balance is not None
        self._lock = threading.Lock()
        self.loads = dict(loads)
        self.hottest: dict[str, tuple[str, float]] = {}

    @property
    def routing(self) -> Routing:
        """The routing of the newest epoch."""
        with self._lock:
            return dict(self._routing)

    def rescale(self, slots: int, component: str | None = None) -> None:
        """Ask for another number of slots, in every keyed component or in one."""
        for name in self._chosen(component):
            check_slots(slots, len(self._routing[name]))
            self._ask(name, Rescale(slots))

    def rebalance(self, threshold: float, component: str | None = None) -> None:
        """Ask for evenly loaded slots, in every keyed component or in one."""
        if threshold < 1:
            raise TopologyError(f"threshold={threshold}: the most loaded slot never has less than the mean, which is 1")
        for name in self._chosen(component):
            self._ask(name, Rebalance(threshold))

    def reassign(self, component: str, routing: tuple[int, ...]) -> None:
        """Ask for a routing table that was decided on elsewhere."""
        (name,) = self._chosen(component)
        shards = len(self._routing[name])
        if len(routing) != shards or sorted(set(routing)) != list(range(max(routing, default=-1) + 1)):
            raise TopologyError(
                f"the routing of {name!r} needs a slot for each of its {shards} shards, and slots without gaps"
            )
        self._ask(name, Reassign(tuple(routing)))

    def turn(self, epoch: int, counted: Mapping[str, Mapping[int, int]] | None = None) -> Turn:
        """Make what was asked for the routing of an epoch that begins now.

        Args:
            counted: per component, how many rows each shard has in this epoch, if they have been counted.
        """
        with self._lock:
            loads = {name: known.seconds for name, known in self.loads.items()}
            for name, rows in (counted or {}).items():
                loads[name] = self.loads[name].expected(rows)
            if self.ahead and self._balance is not None:
                self._keep_balanced(self._balance, {n: loads[n] for n in counted or ()}, "will have")
            requests, self._requests = self._requests, {}
            changes, moved, hot = [], {}, {}
            for name, request in requests.items():
                before = self._routing[name]
                key = self.hottest.get(name, ("", 0.0))[0]
                after, change = apply(request, name, before, loads[name], epoch, key)
                if after != before:
                    self._routing[name] = after
                    moved[name] = tuple(s for s, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)
                if change.hot:
                    hot[name] = change.hot
                if change.moved or not isinstance(request, Rebalance) or request.reason == Rebalance.reason:
                    changes.append(change)
            expected = {
                (name, slot): float(seconds)
                for name, routing in self._routing.items()
                for slot, seconds in enumerate(slot_loads(routing, loads[name], max(routing) + 1))
            }
            return Turn(dict(self._routing), tuple(changes), moved, hot, expected)

    def observe(self, reports: Iterable[PartReport], counted: Mapping[str, Mapping[int, int]] | None = None) -> None:
        """Take an epoch's measurements in; if it is wanted, ask for balance by them."""
        shards: dict[str, dict[int, float]] = {}
        hottest: dict[str, tuple[str, float]] = {}
        for report in reports:
            spent = shards.setdefault(report.component, {})
            for shard, seconds in report.shards.items():
                spent[shard] = spent.get(shard, 0.0) + seconds
            if report.hottest is not None:
                work = report.hottest[2] * sum(report.shards.values())
                if work > hottest.get(report.component, ("", 0.0))[1]:
                    hottest[report.component] = (report.hottest[1], work)
        with self._lock:
            for name, spent in shards.items():
                self.loads[name] = self.loads[name].with_epoch(spent, (counted or {}).get(name))
            self.hottest = {n: (key, work / max(sum(shards[n].values()), 1e-12)) for n, (key, work) in hottest.items()}
            if self._balance is not None and not self.ahead:
                self._keep_balanced(self._balance, {n: known.seconds for n, known in self.loads.items()}, "had")

    def _keep_balanced(self, threshold: float, loads: Mapping[str, Floats], when: str) -> None:
        for name, seconds in loads.items():
            slots = max(self._routing[name]) + 1
            uneven = imbalance(slot_loads(self._routing[name], seconds, slots))
            keyed = bool(self._components[name].attributes)
            if keyed and slots > 1 and uneven > threshold and name not in self._requests:
                reason = f"the busiest slot {when} {uneven:.2f} times the mean"
                self._requests[name] = Rebalance(threshold, reason)

    def _chosen(self, component: str | None) -> list[str]:
        known = [c.name for c in self._components.values() if c.attributes]
        if component is None:
            return known
        if component not in known:
            raise TopologyError(
                f"no component {component!r} can be routed anew; there are {', '.join(known) or 'none'}"
            )
        return [component]

    def _ask(self, name: str, request: Request) -> None:
        with self._lock:
            before = self._requests.get(name)
            # A number of slots that was asked for is balanced anyway: do not let a wish for balance replace it.
            if before is None or isinstance(before, Rebalance) or not isinstance(request, Rebalance):
                self._requests[name] = request
