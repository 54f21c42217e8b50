"""When a running query is planned anew: only after other components were cheaper several times in a row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rheostat.spark import replanner
from rheostat.spark.replanner import EVERY, TIMES, Replanner


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs of changes, of a query whose ``cheaper`` says in which epochs other components are cheaper."""
    made: list[int] = []

    def plan_again(graph: Any, *_: Any) -> Any:
        return SimpleNamespace(rerouted=("t",) if graph["cheaper"](graph["epoch"]) else ())

    def replanned(job: Any, wanted: Any, epoch: int, spark: Any) -> Any:
        assert wanted.rerouted
        assert spark is not None
        made.append(epoch)
        return job

    monkeypatch.setattr(replanner, "plan_again", plan_again)
    monkeypatch.setattr(replanner, "replanned", replanned)
    monkeypatch.setattr(replanner, "_may_change", lambda job: job.graph["may"])
    monkeypatch.setattr(replanner, "figures_in", lambda *_: {})
    monkeypatch.setattr("rheostat.planning.compatibility.pins", lambda *_: {})
    return made


def follow(cheaper: Any, epochs: int, *, may: bool = True) -> None:
    asked = Replanner()
    graph = {"epoch": 0, "cheaper": cheaper, "may": may}
    job: Any = SimpleNamespace(graph=graph, recorded={}, plan=None, checkpoint=SimpleNamespace(manifest=None))
    for epoch in range(epochs):
        graph["epoch"] = epoch
        assert asked.before_epoch(job, epoch, spark=object()) is job  # type: ignore[arg-type]


def test_a_change_for_good_is_followed_once_it_lasted(changes: list[int]) -> None:
    follow(lambda epoch: 100 <= epoch <= 100 + EVERY * (TIMES - 1), 300)
    assert changes == [100 + EVERY * (TIMES - 1)]


def test_a_surge_is_not(changes: list[int]) -> None:
    follow(lambda epoch: epoch // EVERY % TIMES != 0, 600)
    assert changes == []


def test_to_and_fro_becomes_rare(changes: list[int]) -> None:
    follow(lambda _: True, EVERY * TIMES * 16)
    gaps = [b - a for a, b in zip([-EVERY, *changes], changes, strict=False)]
    assert gaps == [EVERY * TIMES * 2**i for i in range(4)]


def test_not_while_shards_move_or_a_recording_runs(changes: list[int]) -> None:
    follow(lambda _: True, 300, may=False)
    assert changes == []
