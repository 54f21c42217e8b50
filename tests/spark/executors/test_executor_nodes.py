"""The nodes of a query, with a cluster that gives, refuses, is slow and loses: what is asked, released and told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from rheostat.elastic.loop.events import EventKind
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.roster import ClusterNode
from rheostat.errors import ConfigurationError
from rheostat.spark.executors.executor_nodes import PATIENCE, ExecutorNodes
from rheostat.spark.executors.shared_wishes import SharedWishes


@dataclass
class FakeCluster:
    """A cluster whose executors come and go as a test says."""

    names: list[str] = field(default_factory=list)
    fixed: str = ""
    refuses: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    application: str = "app"

    def there(self) -> tuple[ClusterNode, ...]:
        return tuple(ClusterNode(name, f"host-{name}", 1) for name in self.names)

    def why_lost(self, name: str) -> str:
        return f"worker of {name} lost"

    def request(self, total: int) -> str:
        self.calls.append(("request", total))
        return self.refuses

    def release(self, names: Sequence[str]) -> str:
        self.calls.append(("release", list(names)))
        return self.refuses


class Watched:
    """Nodes on a fake cluster, with their events and a clock set by hand."""

    def __init__(self, cluster: FakeCluster, allowed: NodeRange | None, start: int | None = None) -> None:
        self.cluster, self.time, self.epoch = cluster, 0.0, 0
        self.events: list[tuple[str, str]] = []
        self.nodes = ExecutorNodes(cluster, allowed, self.note, start, clock=lambda: self.time, wishes=SharedWishes())

    def note(self, kind: EventKind, epoch: int, **values: Any) -> None:
        assert epoch == self.epoch
        self.events.append((kind.value, values["what"]))

    def begin(self, wanted: int | None = None, worth: dict[str, float] | None = None) -> list[tuple[str, str]]:
        """One epoch begins; returns what was told."""
        self.epoch += 1
        self.events = []
        self.nodes.observe(self.epoch)
        self.nodes.want(self.nodes.wanted if wanted is None else wanted, self.epoch, worth or {})
        return self.events


def test_nodes_are_asked_for_once_and_told_when_they_come() -> None:
    cluster = FakeCluster(["0"])
    watched = Watched(cluster, NodeRange(1, 4))
    assert watched.begin(3) == [("nodes asked for", "3 executors in all; 1 are there")]
    assert watched.begin(3) == []
    assert cluster.calls == [("request", 3)]
    cluster.names.append("1")
    watched.time = 8.0
    assert watched.begin(3) == [
        ("node came", "executor 1 on host-1 with 1 cores is node 1, 8.0 s after it was asked for")
    ]
    assert watched.nodes.roster.names == ("0", "1")
    assert math.isnan(watched.nodes.delay)  # one is still missing
    cluster.names.append("2")
    watched.time = 9.5
    watched.begin(3)
    assert watched.nodes.delay == 9.5


def test_nodes_that_never_come_are_told_as_late_once_and_the_request_stands() -> None:
    cluster = FakeCluster(["0"])
    watched = Watched(cluster, NodeRange(1, 4))
    watched.begin(2)
    watched.time = PATIENCE + 1
    assert watched.begin(2) == [("nodes late", "1 of 2 executors are there, for 61 s now; the request stands")]
    watched.time += PATIENCE
    assert watched.begin(2) == []
    cluster.names.append("5")
    assert [kind for kind, _ in watched.begin(2)] == ["node came"]
    cluster.names.remove("5")
    assert [kind for kind, _ in watched.begin(2)] == ["node lost"]
    watched.time += PATIENCE
    assert [kind for kind, _ in watched.begin(2)] == ["nodes late"]
    assert cluster.calls == [("request", 2)]


def test_a_cluster_that_refuses_is_asked_again_and_told_of_once() -> None:
    cluster = FakeCluster(["0"], refuses="no master")
    watched = Watched(cluster, NodeRange(1, 4))
    assert watched.begin(2)[-1] == ("nodes refused", "2 executors: no master")
    assert watched.begin(2) == []
    cluster.refuses = ""
    watched.begin(2)
    watched.begin(2)
    assert cluster.calls == [("request", 2)] * 3


def test_the_nodes_with_the_least_cached_state_are_released() -> None:
    cluster = FakeCluster(["0", "1", "2"])
    watched = Watched(cluster, NodeRange(1, 4))
    watched.begin()
    told = watched.begin(1, {"0": 10.0, "1": 3000.0, "2": 20.0})
    assert cluster.calls == [("request", 1), ("release", ["0", "2"])]
    assert told[0] == (
        "node released",
        "executor 0 on host-0: 1 wanted, 3 there; it had 10 bytes of cached state in use, the least",
    )
    assert watched.nodes.roster.names == ("1",)
    assert watched.begin(1) == []  # Spark still lists them for a moment: they are neither new nor lost
    cluster.names = ["1"]
    assert watched.begin(1) == []
    assert watched.nodes.roster.names == ("1",)


def test_a_release_that_is_refused_is_tried_again() -> None:
    cluster = FakeCluster(["0", "1"])
    watched = Watched(cluster, NodeRange(1, 4))
    watched.begin()
    cluster.refuses = "no master"
    assert watched.begin(1) == [("nodes refused", "1 executors: no master")]
    assert watched.nodes.roster.names == ("0", "1")
    cluster.refuses = ""
    assert [kind for kind, _ in watched.begin(1)] == ["node released"]


def test_a_lost_node_is_told_with_the_reason_and_its_number_is_kept_free() -> None:
    cluster = FakeCluster(["0", "1"])
    watched = Watched(cluster, NodeRange(1, 4))
    watched.begin()
    cluster.names = ["1"]
    assert watched.begin() == [("node lost", "executor 0 on host-0, node 0: worker of 0 lost")]
    assert watched.nodes.roster.cores.tolist() == [0, 1]
    assert watched.nodes.wanted == 1  # nobody has wanted a number yet: Spark replaces it, and the number follows
    cluster.names = ["1", "2"]
    watched.begin()
    assert (watched.nodes.roster.names, watched.nodes.wanted, cluster.calls) == (("2", "1"), 2, [])


def test_a_range_is_kept_from_the_start() -> None:
    many = FakeCluster(["0", "1", "2"])
    Watched(many, NodeRange(1, 2)).begin()
    assert many.calls == [("request", 2), ("release", ["2"])]
    few = FakeCluster(["0"])
    Watched(few, NodeRange(2, 4)).begin()
    assert few.calls == [("request", 2)]
    resumed = FakeCluster(["0", "1", "2"])
    Watched(resumed, NodeRange(1, 4), start=1).begin()
    assert resumed.calls == [("request", 1), ("release", ["2", "1"])]


def test_without_a_range_nothing_is_asked_and_the_number_follows() -> None:
    cluster = FakeCluster(["0"])
    watched = Watched(cluster, None)
    cluster.names += ["1", "2"]
    assert [kind for kind, _ in watched.begin(1)] == ["node came", "node came"]
    assert (watched.nodes.wanted, cluster.calls) == (3, [])
    assert watched.nodes.fixed == "the query was started without nodes="


def test_a_range_on_a_fixed_set_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"nodes=1 to 8: local\[2\] is one node. Leave nodes= out, or run on"):
        ExecutorNodes(FakeCluster(["driver"], fixed="local[2] is one node"), NodeRange(1, 8))
    assert ExecutorNodes(FakeCluster(["driver"], fixed="local[2] is one node"), NodeRange(1, 1)).wanted == 1


def test_queries_of_one_application_share_nodes() -> None:
    cluster, wishes = FakeCluster(["0", "1"]), SharedWishes()
    first, second = (ExecutorNodes(cluster, NodeRange(1, 4), wishes=wishes) for _ in range(2))
    first.want(3, 1, {})
    second.want(1, 1, {})
    assert cluster.calls == [("request", 3), ("request", 4)]  # the sum of what they want
    first.want(3, 2, {})
    assert cluster.calls[2:] == [("request", 4)]
    first.close()
    second.want(1, 3, {})
    assert cluster.calls[3:] == [("request", 1), ("release", ["1"])]


def test_a_query_that_takes_what_there_is_does_not_double_it() -> None:
    cluster, wishes = FakeCluster(["0", "1", "2"]), SharedWishes()
    first, second = (ExecutorNodes(cluster, NodeRange(1, 8), wishes=wishes) for _ in range(2))
    first.want(3, 1, {})
    second.want(3, 1, {})  # nobody has decided anything yet
    assert cluster.calls == []
    first.want(2, 2, {})
    second.want(3, 2, {})
    assert cluster.calls == [("request", 2), ("release", ["2"])]
    second.observe(3)
    second.want(4, 3, {})
    assert cluster.calls[2:] == [("request", 6)]
