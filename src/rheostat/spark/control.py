"""The routing of a running query: who asks for a change, when it takes effect, what it is based on."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rheostat.elastic.balancing import imbalance, slot_loads
from rheostat.elastic.changes import Change, Rebalance, Request, Rescale, apply
from rheostat.elastic.loads import ShardLoads
from rheostat.elastic.routing import check_slots
from rheostat.errors import TopologyError
from rheostat.planning.physical import Component
from rheostat.spark.specs import PartReport

Routing = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Turn:
    """The routing of one epoch, and what changed for it."""

    routing: Mapping[str, tuple[int, ...]]
    changes: tuple[Change, ...] = ()
    moved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class Control:
    """Holds requests until the next epoch begins. Requests come from any thread, turns from the epoch's.

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
    ) -> None:
        self._components = {c.name: c for c in components}
        self._routing = dict(routing)
        self._requests: dict[str, Request] = {}
        self._balance = balance
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

    def turn(self, epoch: int) -> Turn:
        """Make what was asked for the routing of an epoch that begins now."""
        with self._lock:
            requests, self._requests = self._requests, {}
            changes, moved = [], {}
            for name, request in requests.items():
                before = self._routing[name]
                key = self.hottest.get(name, ("", 0.0))[0]
                after, change = apply(request, name, before, self.loads[name].seconds, epoch, key)
                if after != before:
                    self._routing[name] = after
                    moved[name] = tuple(s for s, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)
                if change.moved or isinstance(request, Rescale) or request.reason == "asked for":
                    changes.append(change)
            return Turn(dict(self._routing), tuple(changes), moved)

    def observe(self, reports: Iterable[PartReport]) -> None:
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
        for name, spent in shards.items():
            self.loads[name] = self.loads[name].with_epoch(spent)
        self.hottest = {n: (key, work / max(sum(shards[n].values()), 1e-12)) for n, (key, work) in hottest.items()}
        if self._balance is not None:
            self._keep_balanced(self._balance)

    def _keep_balanced(self, threshold: float) -> None:
        for name, component in self._components.items():
            slots = max(self._routing[name]) + 1
            uneven = imbalance(slot_loads(self._routing[name], self.loads[name].seconds, slots))
            if component.attributes and slots > 1 and uneven > threshold and name not in self._requests:
                self._ask(name, Rebalance(threshold, f"the busiest slot had {uneven:.2f} times the mean"))

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
            if not (isinstance(before, Rescale) and isinstance(request, Rebalance)):
                self._requests[name] = request
