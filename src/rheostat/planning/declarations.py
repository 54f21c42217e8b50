"""Fingerprints of what a user declared, by component: whether what was learned of it still holds.

A component is declared differently if its operators have other keys, windows, aggregates, state or output, or if the
code of user logic has changed. Maps and sinks before and after it do not count.
"""

from __future__ import annotations

import hashlib
import json
from types import CodeType
from typing import Any

from rheostat.planning import compatibility
from rheostat.planning.tables import PhysicalPlan
from rheostat.topology.graph import Graph

_VOLATILE = ("dropped", "plan")
"""What a description also has of the checkpoint, and not of the declaration."""


def declarations(graph: Graph, plan: PhysicalPlan) -> dict[str, str]:
    """Return the fingerprint of every component.

    Args:
        graph: the topology.
        plan: its physical plan.
    """
    recorded = compatibility.record(graph, plan)
    found = {}
    for component in plan.components:
        described: list[Any] = []
        for name, entry in sorted(recorded.items()):
            if entry["table"] in component.tables:
                described.append([name, {k: v for k, v in entry.items() if k not in _VOLATILE}])
        for table in sorted(component.tables):
            if table in plan.keyed:
                process = plan.keyed[table].process
                described.append([[c.name, c.type] for c in process.schema])
                described.append(code_of(process.logic))
        text = json.dumps(described, sort_keys=True)
        found[component.name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def code_of(logic: Any) -> str:
    """Return a fingerprint of the code of a function, or of the methods of a class.

    >>> code_of(lambda x: x + 1) == code_of(lambda x: x + 1), code_of(lambda x: x + 1) == code_of(lambda x: x * x)
    (True, False)
    """
    functions = [v for v in vars(logic).values() if callable(v)] if isinstance(logic, type) else [logic]
    digest = hashlib.sha256()
    for function in functions:
        code = getattr(function, "__code__", None)
        if code is not None:
            _add(digest, code)
    return digest.hexdigest()[:16]


def _add(digest: Any, code: CodeType) -> None:
    """Add the instructions, names and plain constants of a function, and of those inside it."""
    digest.update(code.co_code)
    digest.update(repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add(digest, constant)
        elif isinstance(constant, int | float | str | bytes | bool | None):
            digest.update(repr(constant).encode())
