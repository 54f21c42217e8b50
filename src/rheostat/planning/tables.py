"""What runs: the values of a physical plan.

A *table* is the state of one or several compute operators with the same stream, keys and windows (``WindowTable``), or
of one process operator (``KeyedTable``). A *component* is the tables that are routed by the same attributes; each of
its slots is one task. A *level* is everything that runs in the same stage: its components have slots of their own, but
share one exchange. A topology has more than one level only if an operator with state reads the results of another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.keyed.keyed_layout import KeyedLayout
from rheostat.topology.aggregates import BoundAggregate
from rheostat.topology.nodes import Process
from rheostat.windows.consolidation import ConsolidationPlan
from rheostat.windows.partials import Column
from rheostat.windows.window import Window
from rheostat.windows.window_layout import WindowLayout


@dataclass(frozen=True, kw_only=True)
class WindowOutput:
    """The results of one consolidate operator, made from its table.

    Attributes:
        operator: the consolidate operator.
        emit: ``append`` or ``update``.
        windows: the windows it gives, by the number of their granule in the table's plan.
        keys: its key attributes.
        aggregates: how results are finished.
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
    """The state of compute operators that share a stream, keys and windows.

    Attributes:
        name: its folder in the checkpoint.
        operators: the compute operators.
        upstream: the stream they read.
        clock: the source whose watermark closes its windows, or several, joined as ``Graph.clock_of`` names them.
        level: 0 for tables over a source, 1 for windows over windows, and so on.
        keys: key attributes.
        route_by: the attributes whose hash decides the shard; those of the component.
        layout: the columns of its rows.
        plan: how its windows are derived.
        time_sql: Spark SQL for a row's event time in microseconds.
        outputs: the results that are made from it.
        finer: the table whose partials this one's are rolled up from, in the JVM; None if they are made from rows.
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

    @property
    def refreshes(self) -> bool:
        """True if some output emits current values of open windows, which needs the partials of earlier epochs."""
        return any(o.emit == "update" for o in self.outputs)


@dataclass(frozen=True, kw_only=True)
class KeyedTable:
    """The state of a process operator.

    Attributes:
        name: the operator, and its folder in the checkpoint.
        process: the operator as it was written.
        clock: the source whose watermark makes timers due, or several, joined as ``Graph.clock_of`` names them.
        level: 0 for operators over a source, 1 for operators over results, and so on.
        route_by: the attributes whose hash decides the shard: its keys.
        layout: the columns of its rows.
    """

    name: str
    process: Process
    clock: str
    level: int
    route_by: tuple[str, ...]
    layout: KeyedLayout


@dataclass(frozen=True)
class Component:
    """Tables that are routed together.

    Attributes:
        name: a name that stays the same for as long as its shards hold the same keys.
        level: the level it runs in.
        attributes: the attributes its tables are routed by; empty if everything goes to one slot.
        tables: names of its tables.
    """

    name: str
    level: int
    attributes: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Pin:
    """What a checkpoint already holds for a compute operator, which planning must not change.

    Attributes:
        table: the table that has its state.
        route_by: the attributes that decide the shards of that table.
        plan: how the table's windows are derived.
    """

    table: str
    route_by: tuple[str, ...]
    plan: ConsolidationPlan


@dataclass(frozen=True)
class PhysicalPlan:
    """Everything the runtime needs to know about a topology.

    Attributes:
        tables: the window tables, by name.
        components: all components, by level.
        keyed: the keyed tables, by name.
    """

    tables: Mapping[str, WindowTable]
    components: tuple[Component, ...]
    keyed: Mapping[str, KeyedTable] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        """How many stages with state run one after the other in an epoch."""
        return 1 + max((c.level for c in self.components), default=-1)

    @property
    def clocks(self) -> set[str]:
        """The clocks that tables follow."""
        return {t.clock for t in self.tables.values()} | {t.clock for t in self.keyed.values()}

    def tables_at(self, level: int) -> list[WindowTable]:
        """The window tables of a level."""
        return [t for t in self.tables.values() if t.level == level]

    def keyed_at(self, level: int) -> list[KeyedTable]:
        """The keyed tables of a level."""
        return [t for t in self.keyed.values() if t.level == level]

    def components_at(self, level: int) -> list[Component]:
        """The components of a level."""
        return [c for c in self.components if c.level == level]

    def streams_at(self, level: int) -> list[str]:
        """The streams that the tables of a level read, each once."""
        windows = [t.upstream for t in self.tables_at(level)]
        keyed = [upstream for t in self.keyed_at(level) for upstream in t.process.upstreams]
        return list(dict.fromkeys([*windows, *keyed]))

    def windows_over(self, source: str) -> list[Window]:
        """The requested windows over the rows of a source, each once."""
        tables = [t for t in self.tables_at(0) if t.clock == source]
        return sorted({w for t in tables for w in t.plan.requested})

    def result_schema(self, operator: str) -> tuple[Column, ...]:
        """The columns of the results of a consolidate or process operator, in order."""
        if operator in self.keyed:
            return self.keyed[operator].process.schema
        outputs = (o for t in self.tables.values() for o in t.outputs)
        return next(o.schema for o in outputs if o.operator == operator)
