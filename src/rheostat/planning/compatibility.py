"""Checks whether a topology can continue from a checkpoint that an earlier version of it wrote.

It may have new operators, which start without state; different maps, sinks, slack and numbers of slots; fewer
aggregates; and state fields that were added, removed or given a wider type. A change that would make open windows or
stored state wrong is an error that names the operator and the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rheostat.errors import CheckpointError
from rheostat.planning.tables import KeyedTable, PhysicalPlan, Pin, WindowTable
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Compute, Process
from rheostat.windows.consolidation import from_json, to_json
from rheostat.windows.partials import ROWS

_WIDER = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint", "double"),
    "float": ("double",),
}
"""From the type of a state field to the wider types that it may be changed to."""


def pins(recorded: Mapping[str, Mapping[str, Any]], graph: Graph) -> dict[str, Pin]:
    """What the checkpoint fixes for every compute operator, by name."""
    return {
        name: Pin(table=entry["table"], route_by=tuple(entry["route_by"]), plan=from_json(entry["plan"]))
        for name, entry in recorded.items()
        if isinstance(graph.nodes.get(name), Compute) and "plan" in entry
    }


def record(
    graph: Graph, plan: PhysicalPlan, recorded: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """The description of every stateful operator that is stored in the checkpoint.

    Args:
        graph: the topology.
        plan: its plan.
        recorded: the descriptions in the checkpoint so far.
    """
    computes = {o: _describe_compute(graph, o, table) for table in plan.tables.values() for o in table.operators}
    return computes | {t.name: _describe_process(t, (recorded or {}).get(t.name, {})) for t in plan.keyed.values()}


def kept_tables(recorded: Mapping[str, Mapping[str, Any]], graph: Graph) -> set[str]:
    """The state tables of the checkpoint whose operators are still in the topology."""
    return {entry["table"] for name, entry in recorded.items() if isinstance(graph.nodes.get(name), (Compute, Process))}


def check(
    recorded: Mapping[str, Mapping[str, Any]], graph: Graph, plan: PhysicalPlan, drop: Collection[str] = ()
) -> None:
    """Raise ``CheckpointError`` if state in the checkpoint would be wrong for the topology, or lost.

    Args:
        recorded: the descriptions in the checkpoint.
        graph: the topology.
        plan: its plan.
        drop: operators whose state may be discarded.

    Raises:
        CheckpointError: an operator with state is missing or has changed; the message says which and how.
    """
    _check_apart(recorded, graph)
    current = record(graph, plan)
    for name, old in recorded.items():
        if name in drop:
            continue
        if name not in current:
            raise CheckpointError(
                f"operator {name!r} is in the checkpoint but not in the topology, and its state would be lost: "
                f"put it back, or start with drop=[{name!r}]"
            )
        new = current[name]
        if ("plan" in old) != ("plan" in new):
            kinds = [("compute" if "plan" in entry else "process") for entry in (old, new)]
            raise _incompatible(name, "kind", *kinds)
        for what in ("source", "keys", *(("windows",) if "plan" in new else ())):
            if old[what] != new[what]:
                raise _incompatible(name, what, old[what], new[what])
        if "plan" not in new:
            _check_fields(name, old["state"], new["state"], old.get("dropped", ()))
        else:
            _check_partials(name, plan.tables[new["table"]], old["partials"], new["partials"])


def _check_apart(recorded: Mapping[str, Mapping[str, Any]], graph: Graph) -> None:
    """An operator that shares a table in the checkpoint cannot be kept apart: the table has the partials of all."""
    for name, old in recorded.items():
        node = graph.nodes.get(name)
        others = [n for n, o in recorded.items() if n != name and o["table"] == old["table"] and n in graph.nodes]
        if isinstance(node, Compute) and node.fuse is False and others:
            raise CheckpointError(
                f"operator {name!r}: fuse=False, but its state in the checkpoint is shared with {', '.join(others)}: "
                "leave fuse= out, or use a new checkpoint"
            )


def _check_partials(name: str, table: WindowTable, old: Mapping[str, str], new: Mapping[str, str]) -> None:
    """A compute operator needs only panes and partials that its open windows have, with the same types."""
    if table.refreshes and not table.plan.panes_only:
        raise CheckpointError(
            f"operator {name!r}: emit='update' needs panes that the checkpoint does not have: "
            "use emit='append' as before, or a new checkpoint"
        )
    for column, type_ in new.items():
        if column == ROWS:
            continue  # every table has it
        if column not in old:
            raise CheckpointError(
                f"operator {name!r} now needs {column}, which its open windows do not have: "
                "add a new operator for the new aggregate, or start with a new checkpoint"
            )
        if old[column] != type_:
            raise _incompatible(name, f"type of {column}", old[column], type_)


def _check_fields(name: str, old: Mapping[str, str], new: Mapping[str, str], dropped: Collection[str]) -> None:
    """State fields may be added and removed. A field that stays must keep its type or get a wider one."""
    for field, type_ in new.items():
        if field in dropped:
            raise CheckpointError(
                f"operator {name!r}: state field {field!r} was removed by an earlier version, and keys that have not "
                "changed since still have its old values: give the field another name"
            )
        before = old.get(field, type_)
        if before != type_ and type_ not in _WIDER.get(before, ()):
            raise _incompatible(name, f"state field {field!r} of type", before, type_)


def _describe_process(table: KeyedTable, before: Mapping[str, Any]) -> dict[str, Any]:
    """Also lists the fields that were removed: their names must not be used again, since old rows still have values."""
    process = table.process
    current = {c.name for c in process.state}
    dropped = {*before.get("dropped", ()), *before.get("state", ())} - current
    return {
        "table": table.name,
        "route_by": list(table.route_by),
        "source": table.clock,
        "keys": [[c.name, c.type] for c in process.key_columns],
        "state": {c.name: c.type for c in process.state},
        **({"dropped": sorted(dropped)} if dropped else {}),
    }


def _describe_compute(graph: Graph, name: str, table: WindowTable) -> dict[str, Any]:
    compute = graph.nodes[name]
    assert isinstance(compute, Compute)
    windows = {(w.size, w.slide, w.offset) for c in graph.consolidates_of(name) for w in c.windows}
    partials = {c.name: c.type for a in compute.aggregates for p in a.partials for c in p.columns}
    return {
        "table": table.name,
        "route_by": list(table.route_by),
        "source": table.clock,
        "keys": [[c.name, c.type] for c in compute.key_columns],
        "windows": [list(window) for window in sorted(windows)],
        "plan": to_json(table.plan),
        "partials": partials,
    }


def _incompatible(operator: str, what: str, old: object, new: object) -> CheckpointError:
    return CheckpointError(
        f"operator {operator!r}: the checkpoint was written with {what} {old}, the topology has {new}. "
        "Change it back, rename the operator and start with drop=[...], or use a new checkpoint"
    )
