"""Continuing from a checkpoint with a changed topology: which changes are allowed, and which are errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rheostat.choices import Emit
from rheostat.errors import CheckpointError
from rheostat.planning import compatibility
from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import PhysicalPlan
from rheostat.topology import aggregates as rh
from rheostat.topology.aggregates import Aggregate
from rheostat.topology.graph import Graph
from rheostat.topology.stream import Stream
from rheostat.windows.consolidation import to_json
from rheostat.windows.window import Window, sliding, tumbling
from tests.planning.builders import add, components
from tests.topology.builders import loans, with_column

Recorded = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Job:
    """A topology with one operator of interest, ``a``, and its neighbour ``b``."""

    source: str = "source"
    slack: str = "10 seconds"
    types: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ("area",)
    windows: tuple[Window, ...] = sliding("10 minutes", every="1 minute")
    aggregates: Mapping[str, Aggregate] = field(
        default_factory=lambda: {"n": rh.count(), "x": rh.sum("cents"), "top": rh.max("amount")}
    )
    emit: Emit = "append"
    more: Callable[[Stream], object] = lambda stream: add(stream, "b", "user")

    @property
    def graph(self) -> Graph:
        stream = loans(source=self.source, slack=self.slack, **self.types)
        if self.aggregates:
            add(stream, "a", self.by, self.windows, self.aggregates, self.emit)
        self.more(stream)
        return stream.graph


JOB = Job()


def recorded(graph: Graph) -> Recorded:
    """The records in the checkpoint of a topology, through JSON as on disk."""
    value: Recorded = json.loads(json.dumps(compatibility.record(graph, plan_physical(graph))))
    return value


def restarted(old: Recorded, graph: Graph, drop: Iterable[str] = ()) -> PhysicalPlan:
    """Plan a topology over a checkpoint and check that it fits."""
    plan = plan_physical(graph, compatibility.pins(old, graph))
    compatibility.check(old, graph, plan, drop=tuple(drop))
    return plan


def b_and(*others: str) -> Callable[[Stream], object]:
    def more(stream: Stream) -> None:
        add(stream, "b", "user")
        for name in others:
            add(stream, name, "area")

    return more


def mapped(stream: Stream) -> None:
    add(stream.map("m", with_column("rate", "double")), "b", "user")


@pytest.mark.parametrize(
    "job",
    [
        JOB,
        replace(JOB, slack="1 hour"),
        replace(JOB, aggregates={"n": rh.count()}),
        replace(JOB, aggregates={"renamed": rh.sum("cents"), "top": rh.max("amount")}),
        replace(JOB, aggregates={"mean": rh.mean("cents")}),
        replace(JOB, more=b_and("c", "d")),
        replace(JOB, more=mapped),
    ],
    ids=["nothing", "slack", "fewer aggregates", "result names", "same partials", "new operators", "maps"],
)
def test_harmless_changes_are_allowed(job: Job) -> None:
    plan = restarted(recorded(JOB.graph), job.graph)
    assert plan.tables["a"].plan == plan_physical(JOB.graph).tables["a"].plan


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (
            replace(JOB, aggregates={}),
            r"operator 'a' is in the checkpoint but not in the topology, .*put it back, or start with drop=\['a'\]",
        ),
        (replace(JOB, source="other"), "operator 'a': the checkpoint was written with source source, the .* has other"),
        (
            replace(JOB, by=("grade",)),
            r"operator 'a': .* with keys \[\['area', 'string'\]\], .* \[\['grade', 'int'\]\]",
        ),
        (replace(JOB, by=("area", "grade")), "operator 'a': the checkpoint was written with keys"),
        (replace(JOB, types={"area": "bigint"}), "operator 'a': the checkpoint was written with keys"),
        (replace(JOB, windows=tumbling("10 minutes")), "operator 'a': the checkpoint was written with windows"),
        (
            replace(JOB, windows=(*JOB.windows, *tumbling("1 minute"))),
            "operator 'a': the checkpoint was written with windows",
        ),
        (
            replace(JOB, emit="update"),
            "operator 'a': emit='update' needs panes that the checkpoint does not have: use emit='append'",
        ),
        (
            replace(JOB, aggregates={**JOB.aggregates, "least": rh.min("amount")}),
            r"operator 'a' now needs p.min\(amount\), which its open windows do not have: add a new operator",
        ),
        (
            replace(JOB, types={"cents": "double"}),
            r"operator 'a': the checkpoint was written with type of p.sum\(cents\) bigint, the topology has double",
        ),
    ],
    ids=["gone", "source", "keys", "more keys", "key type", "windows", "more windows", "emit", "aggregate", "sum type"],
)
def test_harmful_changes_are_refused(job: Job, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        restarted(recorded(JOB.graph), job.graph)


def with_c(minutes: int, by: str = "area") -> Job:
    return replace(JOB, more=lambda stream: add(stream, "c", by, tumbling(f"{minutes} minutes")))


def test_operators_that_share_panes_keep_their_own_windows() -> None:
    old = recorded(with_c(5).graph)
    assert {entry["table"] for entry in old.values()} == {"a+c"}
    plan = restarted(old, with_c(5).graph)
    assert plan.tables == plan_physical(with_c(5).graph).tables
    with pytest.raises(CheckpointError, match="operator 'c': the checkpoint was written with windows"):
        restarted(old, with_c(10).graph)
    alone = restarted(old, replace(JOB, more=lambda _: None).graph, drop=["c"])
    assert [(t.name, t.operators) for t in alone.tables.values()] == [("a+c", ("a",))]


def test_an_operator_may_be_dropped_by_name() -> None:
    old, without = recorded(JOB.graph), replace(JOB, aggregates={}).graph
    assert set(restarted(old, without, drop=["a"]).tables) == {"b"}
    with pytest.raises(CheckpointError, match="operator 'a'"):
        restarted(old, without, drop=["b"])


def test_append_may_follow_update() -> None:
    updating = replace(JOB, emit="update")
    plan = restarted(recorded(updating.graph), JOB.graph)
    assert plan.tables["a"].plan.panes_only


def test_a_shared_table_stays_shared_and_new_operators_get_their_own() -> None:
    both = replace(JOB, more=lambda stream: add(stream, "twin", JOB.by, JOB.windows))
    old = recorded(both.graph)
    assert set(restarted(old, both.graph).tables) == {"a+twin"}

    def third(stream: Stream) -> None:
        add(stream, "twin", JOB.by, JOB.windows)
        add(stream, "third", JOB.by, JOB.windows)

    assert set(restarted(old, replace(JOB, more=third).graph).tables) == {"a+twin", "third"}
    alone = replace(JOB, more=lambda _: None)
    assert set(restarted(old, alone.graph, drop=["twin"]).tables) == {"a+twin"}


def test_shards_keep_their_meaning_when_operators_come_and_go() -> None:
    """Alone, an operator is routed by all its keys; it must stay so when one with fewer keys joins it."""
    alone = Job(by=("area", "grade"), more=lambda _: None)
    old = recorded(alone.graph)
    joined = replace(alone, more=lambda stream: add(stream, "c", "area"))
    assert components(plan_physical(joined.graph)) == {"by area": {"a", "c"}}
    assert components(restarted(old, joined.graph)) == {"by area, grade": {"a"}, "by area": {"c"}}
    finer = replace(alone, more=lambda stream: add(stream, "c", ("user", "grade", "area")))
    assert components(restarted(old, finer.graph)) == {"by area, grade": {"a", "c"}}


def test_the_plan_that_wrote_the_state_is_kept() -> None:
    """A better planner must not read state that an older one laid out differently."""
    graph = JOB.graph
    old = {n: dict(e) for n, e in recorded(graph).items()}
    simple = plan_physical(replace(JOB, emit="update").graph).tables["a"].plan
    old["a"]["plan"] = to_json(simple)
    assert restarted(old, graph).tables["a"].plan == simple


def test_an_operator_that_leaves_a_shared_table_is_the_one_that_is_named() -> None:
    both = replace(JOB, more=lambda stream: add(stream, "twin", JOB.by, JOB.windows))
    parted = replace(JOB, more=lambda stream: add(stream, "twin", JOB.by, tumbling("1 hour")))
    with pytest.raises(CheckpointError, match="operator 'twin': the checkpoint was written with windows"):
        restarted(recorded(both.graph), parted.graph)


def test_a_row_count_may_be_added_because_every_table_has_one() -> None:
    without = replace(JOB, aggregates={"x": rh.sum("cents")})
    restarted(recorded(without.graph), replace(JOB, aggregates={"x": rh.sum("cents"), "n": rh.count()}).graph)
