"""Gives every slot a home: the host that its task prefers, because that host has its segments.

Homes matter where hosts keep copies: on a cluster, with a checkpoint that is not on a local filesystem. They matter too
where nodes are not equally fast, so that slots on slow ones can be given less work (``elastic.loop.speed_watch``).
Elsewhere there are none, and nothing is asked or computed. ``elastic.elasticutor.slot_homes`` decides,
``stage.placed_plan`` tells Spark. A home is a preference: after ``spark.locality.wait`` a task runs on any host, with
the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from rheostat.elastic.elasticutor.slot_homes import choose_homes
from rheostat.planning.tables import Component, PhysicalPlan
from rheostat.spark.hosts import Hosts
from rheostat.spark.stage.task_reports import PartReport
from rheostat.state.copies import Copies
from rheostat.state.manifest import Manifest
from rheostat.state.segments import Segment

Segments = Mapping[str, Sequence[Segment]]
"""By table, its live segments."""

Routing = Mapping[str, Sequence[int]]
"""By component, the slot of every shard."""


@dataclass
class SlotHomes:
    """The homes of a query's slots, and what the driver knows of the copies that hosts have.

    Attributes:
        hosts: returns the hosts with executors; None if there are none, in local mode.
        note: called with the epoch and, in words, what changed and why.
        keeps_copies: True if hosts keep copies of segments, so that homes always matter.
        homes: by component, the home of every slot; empty text if a slot has none.
        copies: the segments that hosts have.
    """

    hosts: Callable[[], Hosts] | None = None
    note: Callable[[int, str], None] = lambda _epoch, _what: None
    keeps_copies: bool = True
    homes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies: Copies = field(default_factory=Copies)
    _known: Hosts = field(default_factory=dict)
    _routing: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _speeds: Mapping[str, float] = field(default_factory=dict)

    def resume(self, manifest: Manifest, plan: PhysicalPlan) -> None:
        """Continue with the homes of a manifest. The copies that hosts have are not stored: homes are assumed to have
        what their slots read. A host that has lost its cache fetches again.

        Args:
            manifest: the newest manifest.
            plan: the plan of the topology.
        """
        if self.hosts is None:
            return
        for component in plan.components:
            homes, routing = manifest.homes.get(component.name, ()), manifest.routing.get(component.name, ())
            if homes and len(homes) == max(routing, default=-1) + 1:
                self.homes[component.name] = tuple(homes)
                self.copies.assume(homes, _of(component, manifest.tables), routing)

    def begin(
        self,
        epoch: int,
        plan: PhysicalPlan,
        routing: Routing,
        segments: Segments,
        speeds: Mapping[str, float] | None = None,
    ) -> dict[str, tuple[str, ...]]:
        """Return the homes for an epoch; none if homes do not matter or there is one host only.

        They are chosen anew only if the hosts or the routing have changed.

        Args:
            epoch: number of the epoch.
            plan: the plan of the topology.
            routing: by component, the slot of every shard in the epoch.
            segments: by table, the live segments before the epoch.
            speeds: the speed of every host; None if all are about equally fast.
        """
        if self.hosts is None or not (self.keeps_copies or speeds):
            self.homes = {}
            return {}
        self._speeds = speeds or {}
        hosts = self.hosts()
        if len(hosts) < 2:
            return {}
        wanted = {name: tuple(slots) for name, slots in routing.items()}
        if hosts != self._known or wanted != self._routing:
            before = dict(self.homes)
            self.homes = {}
            for level in range(plan.levels):
                self.homes |= self._choose(plan.components_at(level), wanted, segments, hosts, before)
            self._say(epoch, before, hosts)
            self._known, self._routing = hosts, wanted
        return dict(self.homes)

    def learn(self, reports: Iterable[PartReport], segments: Segments) -> None:
        """Note which hosts have which segments after an epoch.

        Args:
            reports: the reports of its tasks.
            segments: by table, the live segments after it.
        """
        if self.hosts is None or not self.keeps_copies:
            return
        for report in reports:
            written = [t.segment.file for t in report.tables.values() if t.segment is not None]
            self.copies.add(report.usage.host, [*written, *report.copied])
        self.copies.keep({s.file for table in segments.values() for s in table})

    def _choose(
        self,
        components: Sequence[Component],
        routing: Mapping[str, tuple[int, ...]],
        segments: Segments,
        hosts: Hosts,
        before: Mapping[str, tuple[str, ...]],
    ) -> dict[str, tuple[str, ...]]:
        """Return the homes of components of one level, whose tasks run at the same time."""
        if not components:
            return {}
        names = list(hosts)
        number = {host: i for i, host in enumerate(names)}
        lacking, homes, slots = [], [], []
        for component in components:
            table = routing[component.name]
            slots.append(max(table) + 1)
            lacking.append(self.copies.lacking(_of(component, segments), table, names))
            old = before.get(component.name, ())
            homes += [number.get(old[slot], -1) if slot < len(old) else -1 for slot in range(slots[-1])]
        speeds = np.array([self._speeds.get(name, 1.0) for name in names]) if self._speeds else None
        chosen = choose_homes(np.concatenate(lacking), np.array([*hosts.values()]), np.array(homes), speeds)
        parts = np.split(chosen, np.cumsum(slots)[:-1])
        return {c.name: tuple(names[i] for i in part) for c, part in zip(components, parts, strict=True)}

    def _say(self, epoch: int, before: Mapping[str, tuple[str, ...]], hosts: Hosts) -> None:
        """Note the slots that had a home and have another one now."""
        moved = [
            f"{name} slot {slot}: {old} -> {self.homes[name][slot]}"
            for name, homes in before.items()
            for slot, old in enumerate(homes)
            if name in self.homes and slot < len(self.homes[name]) and old not in ("", self.homes[name][slot])
        ]
        if moved:
            gone = sorted({host for homes in before.values() for host in homes if host} - set(hosts))
            new = sorted(set(hosts) - set(self._known)) if self._known else []
            why = [f"{host} is gone" for host in gone] + [f"{host} is new" for host in new] or ["shards have moved"]
            with suppress(OSError):
                self.note(epoch, f"{', '.join(moved)}; {', '.join(why)}")


def tasks_away(homes: Mapping[str, Sequence[str]], reports: Iterable[PartReport]) -> int:
    """Return how many tasks ran on another host than their slot's home.

    Args:
        homes: by component, the home of every slot.
        reports: the reports of the tasks.
    """
    preferred = {(name, slot): host for name, hosts in homes.items() for slot, host in enumerate(hosts)}
    placed = [(preferred.get((r.component, r.slot), ""), r.usage.host) for r in reports]
    return sum(home not in ("", host) for home, host in placed)


def _of(component: Component, segments: Segments) -> list[Segment]:
    """The live segments of a component."""
    return [segment for table in component.tables for segment in segments.get(table, ())]
