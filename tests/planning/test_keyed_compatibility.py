"""Continuing from a checkpoint with keyed state: fields may be added, removed and given wider types."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rheostat.errors import CheckpointError
from rheostat.planning import compatibility
from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import PhysicalPlan
from rheostat.topology.graph import Graph
from rheostat.topology.keyed_state import keyed_state
from rheostat.topology.stream import Stream
from tests.planning.builders import add
from tests.topology.builders import Frame

COLUMNS = {"ts": "timestamp", "area": "string", "grade": "int"}


@dataclass(frozen=True)
class Job:
    """A topology with a process operator ``p``, and its neighbour ``windows``."""

    state: str | None = "n int, top float, names array<int>"
    by: tuple[str, ...] = ("area",)
    area: str = "string"
    source: str = "source"
    schema: str = "area string"
    kind: str = "process"
    joined: bool = False
    ttl: str | None = None

    @property
    def graph(self) -> Graph:
        graph = Graph("job")
        stream = self._source(graph, self.source)
        if self.kind == "process":
            join = [self._source(graph, "more")] if self.joined else []
            kept = keyed_state(self.state, ttl=self.ttl)
            stream.process("p", lambda rows, state: (None, None), by=self.by, schema=self.schema, state=kept, join=join)
        elif self.kind == "compute":
            add(stream, "p", self.by)
        add(self._source(graph, "fixed"), "windows", "grade")
        return graph

    def _source(self, graph: Graph, name: str) -> Stream:
        return graph.source(Frame({**COLUMNS, "area": self.area}), event_time="ts", name=name)


JOB = Job()


def recorded(job: Job) -> dict[str, dict[str, Any]]:
    """The records in the checkpoint of a topology, through JSON as on disk."""
    graph = job.graph
    value: dict[str, dict[str, Any]] = json.loads(json.dumps(compatibility.record(graph, plan_physical(graph))))
    return value


def restarted(old: Job, new: Job, drop: Iterable[str] = ()) -> PhysicalPlan:
    """Plan a topology over the checkpoint of another and check that it fits."""
    before, graph = recorded(old), new.graph
    plan = plan_physical(graph, compatibility.pins(before, graph))
    compatibility.check(before, graph, plan, drop=tuple(drop))
    return plan


def with_state(state: str | None) -> Job:
    return replace(JOB, state=state)


def test_what_a_checkpoint_records() -> None:
    assert recorded(JOB)["p"] == {
        "table": "p",
        "route_by": ["area"],
        "source": "source",
        "keys": [["area", "string"]],
        "state": {"n": "int", "top": "float", "names": "array<int>"},
    }


@pytest.mark.parametrize(
    "new",
    [
        JOB,
        with_state("n int, top float, names array<int>, last timestamp"),
        with_state("n int"),
        with_state(None),
        with_state("names array<int>, top float, n int"),
        with_state("n bigint, top double, names array<int>"),
        with_state("n double, last string"),
        replace(JOB, schema="area string, n double"),
        replace(JOB, ttl="1 hour"),
    ],
    ids=["nothing", "added", "removed", "all removed", "order", "wider", "integer to double", "output", "ttl"],
)
def test_harmless_changes_are_allowed(new: Job) -> None:
    assert set(restarted(JOB, new).keyed) == {"p"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tinyint", "smallint"),
        ("tinyint", "int"),
        ("tinyint", "bigint"),
        ("smallint", "int"),
        ("smallint", "bigint"),
        ("int", "bigint"),
        ("int", "double"),
        ("float", "double"),
    ],
)
def test_fields_may_become_wider_and_not_narrower(old: str, new: str) -> None:
    restarted(with_state(f"n {old}"), with_state(f"n {new}"))
    with pytest.raises(
        CheckpointError,
        match=f"operator 'p': the checkpoint was written with state field 'n' of type {new}, the topology has {old}",
    ):
        restarted(with_state(f"n {new}"), with_state(f"n {old}"))


@pytest.mark.parametrize(
    ("new", "field"),
    [
        ("n string", "n"),
        ("n float", "n"),
        ("top decimal(10,2)", "top"),
        ("names array<bigint>", "names"),
        ("names string", "names"),
        ("n int, top string, names array<int>", "top"),
    ],
)
def test_fields_that_change_otherwise_are_refused_by_name(new: str, field: str) -> None:
    with pytest.raises(CheckpointError, match=f"operator 'p': .* with state field '{field}' of type"):
        restarted(JOB, with_state(new))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (
            replace(JOB, area="int"),
            r"operator 'p': .* written with keys \[\['area', 'string'\]\], the topology has \[\['area', 'int'\]\]",
        ),
        (replace(JOB, by=("grade",)), "operator 'p': the checkpoint was written with keys"),
        (replace(JOB, by=("area", "grade")), "operator 'p': the checkpoint was written with keys"),
        (replace(JOB, source="other"), "operator 'p': .* with source source, the topology has other"),
        (replace(JOB, joined=True), r"operator 'p': .* with source source, the topology has more\+source"),
        (
            replace(JOB, kind="compute"),
            "operator 'p': the checkpoint was written with kind process, the topology has compute",
        ),
        (replace(JOB, kind="none"), r"operator 'p' is in the checkpoint but not in the topology.* drop=\['p'\]"),
    ],
    ids=["key type", "keys", "more keys", "source", "join", "kind", "gone"],
)
def test_harmful_changes_are_refused(new: Job, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        restarted(JOB, new)


def test_windows_do_not_become_a_process_operator_either() -> None:
    message = "operator 'p': the checkpoint was written with kind compute, the topology has process"
    with pytest.raises(CheckpointError, match=message):
        restarted(replace(JOB, kind="compute"), JOB)


@pytest.mark.parametrize("new", [replace(JOB, kind="none"), replace(JOB, kind="compute"), replace(JOB, by=("grade",))])
def test_state_may_be_dropped_by_name(new: Job) -> None:
    restarted(JOB, new, drop=["p"])
    with pytest.raises(CheckpointError, match="operator 'p'"):
        restarted(JOB, new, drop=["windows"])


def test_tables_of_operators_that_stay_are_kept() -> None:
    assert compatibility.kept_tables(recorded(JOB), JOB.graph) == {"p", "windows"}
    assert compatibility.kept_tables(recorded(JOB), replace(JOB, kind="none").graph) == {"windows"}


def test_only_windows_are_pinned() -> None:
    assert set(compatibility.pins(recorded(JOB), JOB.graph)) == {"windows"}
    assert set(compatibility.pins(recorded(JOB), replace(JOB, kind="compute").graph)) == {"windows"}


def test_a_field_that_was_left_out_does_not_come_back_with_another_type() -> None:
    between, again = with_state("top float").graph, with_state("n string, top float").graph
    first = recorded(JOB)
    compatibility.check(first, between, plan_physical(between, compatibility.pins(first, between)))
    second = compatibility.record(between, plan_physical(between), first)
    with pytest.raises(CheckpointError, match="state field 'n' was removed by an earlier version"):
        compatibility.check(second, again, plan_physical(again, compatibility.pins(second, again)))
    third = compatibility.record(between, plan_physical(between), second)
    assert third["p"]["dropped"] == second["p"]["dropped"]
