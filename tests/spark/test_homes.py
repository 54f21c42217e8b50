"""Slots have homes: chosen anew only when routing or hosts change, told to Spark, kept in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import rheostat as rh
from rheostat.planning.tables import Component
from rheostat.spark import topology
from rheostat.spark.homes import Routing, SlotHomes, tasks_away
from rheostat.spark.hosts import Hosts
from rheostat.spark.stage.placed_plan import placed
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport, TableReport, TaskUsage
from rheostat.state.files import Folder
from rheostat.state.manifest import Manifest, decode
from rheostat.state.segments import Segment
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, expected_running, running
from tests.spark.streams import MINUTE, Batches, assert_same, expected, windowed

SHARDS = 8
TWO: Routing = {"by key": (0, 0, 0, 0, 1, 1, 1, 1)}
FOUR: Routing = {"by key": (0, 0, 1, 1, 2, 2, 3, 3)}


@dataclass
class Plan:
    """As much of a plan as homes need: one component with one table, or as given."""

    components: Sequence[Component] = (Component("by key", 0, ("key",), ("t",)),)

    @property
    def levels(self) -> int:
        return 1 + max(c.level for c in self.components)

    def components_at(self, level: int) -> list[Component]:
        return [c for c in self.components if c.level == level]


def segment(file: str, shards: tuple[int, int], size: int = 100) -> Segment:
    return Segment(file=file, epoch=0, rows=1, bytes=size, spans={0: (0, 0)}, shards=shards)


def report(slot: int, host: str, wrote: Segment | None = None, copied: Sequence[str] = ()) -> PartReport:
    return PartReport(
        "by key", slot, tables={"t": TableReport(segment=wrote)}, copied=[*copied], usage=TaskUsage(host=host)
    )


@dataclass
class Query:
    """Homes over hosts that a test changes, and what they said."""

    hosts: Hosts
    said: list[tuple[int, str]] = field(default_factory=list)
    plan: Any = field(default_factory=Plan)

    def __post_init__(self) -> None:
        self.homes = SlotHomes(lambda: dict(self.hosts), lambda epoch, what: self.said.append((epoch, what)))

    def begin(self, routing: Routing, segments: Sequence[Segment] = (), epoch: int = 0) -> tuple[str, ...]:
        return self.homes.begin(epoch, self.plan, routing, {"t": list(segments)}).get("by key", ())


def test_slots_stay_with_the_host_that_wrote_their_segments() -> None:
    query = Query({"a": 1, "b": 1})
    assert query.begin(TWO) == ("a", "b")
    wrote = segment("x", (0, 3)), segment("y", (4, 7))
    query.homes.learn([report(0, "b", wrote[0]), report(1, "a", wrote[1])], {"t": wrote})
    assert query.begin(TWO, wrote) == ("a", "b"), "nothing changed that would be worth a thought"
    assert tasks_away(query.homes.homes, [report(0, "b"), report(1, "b"), report(NO_SLOT, "b")]) == 1
    assert query.begin(FOUR, wrote) == ("b", "b", "a", "a"), "after a rescale, slots go where their segments are"
    assert query.said == [(0, "by key slot 0: a -> b; shards have moved")]


def test_slots_of_a_lost_host_get_new_homes_and_the_log_says_why() -> None:
    query = Query({"a": 1, "b": 1, "c": 1})
    routing = {"by key": (0, 0, 1, 1, 2, 2, 2, 2)}
    assert query.begin(routing) == ("a", "b", "c")
    wrote = segment("x", (0, 1)), segment("y", (2, 3)), segment("z", (4, 7))
    query.homes.learn([report(i, host, s) for i, (host, s) in enumerate(zip("abc", wrote, strict=True))], {"t": wrote})
    query.homes.learn([report(2, "b", None, ["z"])], {"t": wrote})  # it ran away from home once
    del query.hosts["c"]
    assert query.begin(routing, wrote, epoch=5) == ("a", "b", "b")
    assert query.said == [(5, "by key slot 2: c -> b; c is gone")]
    query.hosts["c"] = 2
    assert query.begin(routing, wrote, epoch=6) == ("a", "b", "c"), "its cache is still there"
    assert query.said[-1] == (6, "by key slot 2: b -> c; c is new")


def test_components_of_a_level_share_the_room_of_hosts() -> None:
    plan = Plan([Component("by key", 0, ("key",), ("t",)), Component("by x", 0, ("x",), ("u",))])
    query = Query({"a": 1, "b": 1}, plan=plan)
    homes = query.homes.begin(0, query.plan, {**TWO, "by x": (0,) * 4 + (1,) * 4}, {})
    assert sorted([*homes["by key"], *homes["by x"]]) == ["a", "a", "b", "b"]


def test_without_a_choice_there_are_no_homes() -> None:
    assert SlotHomes().begin(0, Query({}).plan, TWO, {}) == {}
    alone = Query({"a": 4})
    assert alone.begin(TWO) == ()
    assert Query({}).begin(TWO) == ()


def test_homes_survive_a_restart_with_what_they_read() -> None:
    wrote = segment("x", (0, 3)), segment("y", (4, 7))
    manifest = Manifest(
        3, routing={"by key": (0, 0, 0, 0, 1, 1, 1, 1)}, tables={"t": wrote}, homes={"by key": ("b", "a")}
    )
    query = Query({"a": 1, "b": 1})
    query.homes.resume(manifest, query.plan)
    assert query.begin(TWO, wrote) == ("b", "a")
    rescaled = Query({"a": 1, "b": 1})
    rescaled.homes.resume(manifest, rescaled.plan)
    assert rescaled.begin(FOUR, wrote) == ("b", "b", "a", "a")
    assert query.said == []


def routed_plan(spark: SparkSession, hosts: Sequence[str]) -> Any:
    """A plan with an exchange to four partitions, whose tasks prefer hosts."""
    routed = spark.range(20).select(F.col("id").cast("string"), (F.col("id") % 4).cast("int").alias("part"))
    frame = routed.repartitionById(4, "part").select("id")
    return placed(spark.sparkContext, frame._jdf.queryExecution().executedPlan(), hosts)


def preferred(spark: SparkSession, plan: Any) -> list[list[str]]:
    """For every partition, the hosts that Spark's scheduler would ask for."""
    rdd, scheduler = plan.execute(), spark.sparkContext._jsc.sc().dagScheduler()
    found = [scheduler.getPreferredLocs(rdd, i) for i in range(rdd.getNumPartitions())]
    return [[hosts.apply(k).host() for k in range(hosts.size())] for hosts in found]


def rows_of(plan: Any) -> list[int]:
    rows = plan.executeCollect()
    return [int(rows[i].getString(0)) for i in range(len(rows))]


@pytest.fixture
def plain(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    return session


def test_the_tasks_of_a_placed_plan_prefer_their_hosts(plain: SparkSession) -> None:
    plan = routed_plan(plain, ["h1", "h2", "", "h1"])
    assert preferred(plain, plan) == [["h1"], ["h2"], [], ["h1"]]


def test_a_placed_plan_has_the_same_rows_in_the_same_partitions(plain: SparkSession) -> None:
    rows = rows_of(routed_plan(plain, ["h1", "h2", "h2", "h1"]))
    assert sorted(rows) == list(range(20))
    assert [r % 4 for r in rows] == sorted(r % 4 for r in rows)


def test_a_plan_with_other_partitions_stays_as_it_is(plain: SparkSession) -> None:
    plan = routed_plan(plain, ["h1", "h2"])
    assert preferred(plain, plan) == [[]] * 4
    assert sorted(rows_of(plan)) == list(range(20))


@pytest.fixture
def two_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Path], str]:
    """Let the session seem to be a cluster of two hosts, neither of which runs a task; returns remote checkpoints."""

    class Watch:
        def __init__(self, context: object) -> None:
            del context

        def read(self) -> Hosts:
            return {"h1": 1, "h2": 1}

    monkeypatch.setattr(topology, "has_executors", lambda master: True)
    monkeypatch.setattr(topology, "HostWatch", Watch)
    monkeypatch.setenv("RHEOSTAT_CACHE", str(tmp_path / "cache"))
    return lambda path: f"mounted://{path}"


def test_results_with_homes_are_those_without(
    spark: SparkSession, tmp_path: Path, two_hosts: Callable[[Path], str]
) -> None:
    rows = [[(e * MINUTE + i * 1000, f"k{i % 7}", i) for i in range(40)] for e in range(4)]
    batches = Batches.of(*rows)
    seen: list[rh.Progress] = []
    t = rh.Topology("homes")
    source = t.source(batches.stream(spark, tmp_path / "in"), event_time="ts")
    windows, sums = rh.sinks.memory(), rh.sinks.memory()
    by_key = source.compute("by", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    by_key.consolidate("windows", rh.tumbling("1 minute")).sink(windows)
    source.process("running", running, by="key", schema=RUNNING_SCHEMA, state=RUNNING_STATE).sink(sums)
    query = t.start(two_hosts(tmp_path / "ck"), slots=2, trigger=rh.AVAILABLE_NOW, on_progress=seen.append)
    assert query.await_termination(timeout=120)
    assert_same(windows.frame(), expected(batches, rh.tumbling("1 minute")))
    assert sorted(sums.frame().rows()) == sorted(expected_running(batches).rows())
    assert all(set(p.homes["by key"]) == {"h1", "h2"} for p in seen), seen[0].homes
    assert all(p.away > 0 for p in seen), "no task ran on a host that is not there"
    epochs = Folder.at(tmp_path / "ck" / "epochs")
    manifest = decode(epochs.read(epochs.names()[-1]), "newest")
    assert manifest.homes == {name: tuple(h) for name, h in seen[-1].homes.items()}


def test_in_local_mode_nothing_has_a_home(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches.of([(0, "a", 1)], [(2 * MINUTE, "a", 1)])
    _, query = windowed(spark, tmp_path, batches, rh.tumbling("1 minute"))
    assert [(p.homes, p.away) for p in query.progress] == [({}, 0)] * 2
    assert query._job.homes.hosts is None
