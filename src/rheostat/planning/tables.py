"""The values of a physical plan.

A *table* is the state of one or more compute operators with the same stream, keys and panes (``WindowTable``), or of
one process operator (``KeyedTable``). A *component* consists of the tables that are routed by the same attributes; each
of its slots is one task. A *level* is everything that runs in the same stage: its components have their own slots but
share one exchange. A topology has more than one level only if an operator reads the results of another one. Apply
operators have no table, but results; each is a stage of its own on its level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.keyed.keyed_layout import KeyedLayout
from rheostat.topology.aggregates import BoundAggregate
from rheostat.topology.nodes import Apply, Process
from rheostat.windows.consolidation import ConsolidationPlan
from rheostat.windows.partials import Column
from rheostat.windows.window import Window
from rheostat.windows.window_layout import WindowLayout


@dataclass(frozen=True, kw_only=True)
class WindowOutput:
    """The results of one consolidate operator.

    Attributes:
        operator: the consolidate operator.
        emit: ``append`` or ``update``.
        windows: its windows, by the number of their granule in the table's plan.
        keys: its key attributes.
        aggregates: the aggregates that compute the result columns.
        schema: the columns of its results, in order.
    """

    operator: str
    emit: str
    windows: Mapping[int, Window]
    keys: tuple[str, ...]
    aggregates: tuple[BoundAggregate, ...]
    schema: tuple[Column, ...]


@dataclass(frozen=True, kw_only=True)
class WindowTable:
    """The state of compute operators that share a stream, keys and panes.

    Attributes:
        name: its folder in the checkpoint.
        operators: the compute operators.
        upstream: the stream they read.
        clock: the clock whose watermark closes its windows, as ``Graph.clock_of`` names it.
        level: 0 for tables over a source, 1 for windows over windows, and so on.
        keys: key attributes.
        route_by: the attributes whose hash determines the shard; those of its component.
        layout: the columns of its rows.
        plan: which parts its windows are merged from.
        time_sql: Spark SQL for a row's event time in microseconds.
        outputs: the consolidate operators whose results are computed from it.
        finer: the table whose partials Spark rolls up into this one's; None if it aggregates rows.
        apart: its operator if that has a component to itself, because the user keeps it apart; empty otherwise.
    """

    name: str
    operators: tuple[str, ...]
    upstream: str
    clock: str
    level: int
    keys: tuple[str, ...]
    route_by: tuple[str, ...]
    layout: WindowLayout
    plan: ConsolidationPlan
    time_sql: str
    outputs: tuple[WindowOutput, ...]
    finer: str | None = None
    apart: str = ""

    @property
    def refreshes(self) -> bool:
        """True if some output has ``emit="update"``, which reads the partials of earlier epochs."""
        return any(o.emit == "update" for o in self.outputs)


@dataclass(frozen=True, kw_only=True)
class KeyedTable:
    """The state of a process operator.

    Attributes:
        name: the operator, and its folder in the checkpoint.
        process: the operator.
        clock: the clock whose watermark makes timers due, as ``Graph.clock_of`` names it.
        level: 0 for operators over a source, 1 for operators over results, and so on.
        route_by: the attributes whose hash determines the shard: its keys, sorted.
        layout: the columns of its rows.
    """

    name: str
    process: Process
    clock: str
    level: int
    route_by: tuple[str, ...]
    layout: KeyedLayout


@dataclass(frozen=True)
class Applied:
    """An apply operator as the runtime executes it.

    Attributes:
        apply: the operator.
        level: 0 for operators over a source, 1 for operators over results, and so on.
    """

    apply: Apply
    level: int


@dataclass(frozen=True)
class Component:
    """Tables that are routed together.

    Attributes:
        name: its name, which stays the same as long as its shards hold the same keys.
        level: the level it runs in.
        attributes: the attributes that its tables are routed by; empty if all rows go to one slot.
        tables: names of its tables.
    """

    name: str
    level: int
    attributes: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Pin:
    """The part of the plan that a checkpoint fixes for a compute operator.

    Attributes:
        table: the table with its state.
        route_by: the attributes whose hash determines the shards of that table; None if the planner may choose others.
        plan: which parts the table's windows are merged from.
    """

    table: str
    route_by: tuple[str, ...] | None
    plan: ConsolidationPlan


@dataclass(frozen=True)
class PhysicalPlan:
    """A topology as the runtime executes it.

    Attributes:
        tables: the window tables, by name.
        components: all components, by level.
        keyed: the keyed tables, by name.
        applied: the apply operators, by name.
        notes: which operators were fused, which not and why.
    """

    tables: Mapping[str, WindowTable]
    components: tuple[Component, ...]
    keyed: Mapping[str, KeyedTable] = field(default_factory=dict)
    applied: Mapping[str, Applied] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def levels(self) -> int:
        """The number of stages with results that run one after the other in an epoch."""
        stages = [*(c.level for c in self.components), *(a.level for a in self.applied.values())]
        return 1 + max(stages, default=-1)

    @property
    def clocks(self) -> set[str]:
        """The clocks that the tables follow."""
        return {t.clock for t in self.tables.values()} | {t.clock for t in self.keyed.values()}

    def tables_at(self, level: int) -> list[WindowTable]:
        """The window tables of a level."""
        return [t for t in self.tables.values() if t.level == level]

    def keyed_at(self, level: int) -> list[KeyedTable]:
        """The keyed tables of a level."""
        return [t for t in self.keyed.values() if t.level == level]

    def applied_at(self, level: int) -> list[Apply]:
        """The apply operators of a level."""
        return [a.apply for a in self.applied.values() if a.level == level]

    def components_at(self, level: int) -> list[Component]:
        """The components of a level."""
        return [c for c in self.components if c.level == level]

    def streams_at(self, level: int) -> list[str]:
        """The streams that the tables of a level read, without duplicates."""
        windows = [t.upstream for t in self.tables_at(level)]
        keyed = [upstream for t in self.keyed_at(level) for upstream in t.process.upstreams]
        return list(dict.fromkeys([*windows, *keyed]))

    @property
    def streams_read(self) -> list[str]:
        """The streams that tables and apply operators of any level read, without duplicates."""
        tables = [stream for level in range(self.levels) for stream in self.streams_at(level)]
        return list(dict.fromkeys([*tables, *(a.apply.upstream for a in self.applied.values())]))

    def windows_over(self, source: str) -> list[Window]:
        """The requested windows over the rows of a source, without duplicates."""
        tables = [t for t in self.tables_at(0) if t.clock == source]
        return sorted({w for t in tables for w in t.plan.requested})

    def result_schema(self, operator: str) -> tuple[Column, ...]:
        """The columns of the results of an apply, consolidate or process operator, in order."""
        if operator in self.keyed:
            return self.keyed[operator].process.schema
        if operator in self.applied:
            return self.applied[operator].apply.schema
        outputs = (o for t in self.tables.values() for o in t.outputs)
        return next(o.schema for o in outputs if o.operator == operator)
